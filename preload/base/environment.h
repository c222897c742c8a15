/* SPDX-License-Identifier: MIT */
/*
 * environment.h - the environment variables that the shim reads
 *
 * The program owns its environment and may change it at any time. The C library's getenv() is not
 * safe while another thread changes the environment. So the environment is read once, when the
 * program first calls CUDA, and never by the shim's own thread.
 */
#ifndef XPU_PRELOAD_ENVIRONMENT_H
#define XPU_PRELOAD_ENVIRONMENT_H

struct launcher_labels;

/* Remembers the variables as they are now. */
void environment__read(void);

/*
 * Return: the labels that environment__read() found in launchers' variables; empty before that
 * call.
 */
const struct launcher_labels *environment__labels(void);

/*
 * Return: the value that @name, one of the variables in environment.c, had at environment__read();
 * before that call, its current value. NULL: the variable is not set.
 */
const char *environment__get(const char *name);

#endif /* XPU_PRELOAD_ENVIRONMENT_H */
