/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * check.h - xpuload --check: prints what can be recorded on this machine, and how to get what is
 * missing
 */
#ifndef XPU_LOADER_CHECK_H
#define XPU_LOADER_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Return: 0 if launches can be recorded here, 1 if a requirement is missing. */
int check__run(const char *shim);

/*
 * Prints what -p would do with each process, without touching the process. @inject: -p may put the
 * shim into processes. @children: prints this for their descendants, too. Return: 0 if at least one
 * process can be recorded, and no process that the user named is refused; otherwise 1.
 */
int check__pids(const pid_t *pids, size_t nr, const char *shim, bool inject, bool children);

#endif /* XPU_LOADER_CHECK_H */
