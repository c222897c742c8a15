/* SPDX-License-Identifier: MIT */
/*
 * environment.h - what the environment tells the shim
 *
 * The environment is the program's, which may change it at any time, and the C library's getenv()
 * does not care for other threads that do. So it is read once, where the program calls CUDA for
 * the first time, and never by the shim's own thread.
 */
#ifndef XPU_PRELOAD_ENVIRONMENT_H
#define XPU_PRELOAD_ENVIRONMENT_H

/* Remembers what there is now. */
void environment__read(void);

/*
 * Return: what @name, one of those in options.c, was then; before, what it is. NULL: it is not
 * there.
 */
const char *environment__get(const char *name);

#endif /* XPU_PRELOAD_ENVIRONMENT_H */
