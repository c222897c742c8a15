/* SPDX-License-Identifier: GPL-3.0-or-later */
/* foreign.h - opens the memory of another process, and its memfds, for writing */
#ifndef XPU_LOADER_INJECT_FOREIGN_H
#define XPU_LOADER_INJECT_FOREIGN_H

#include <sys/types.h>

/*
 * Opens the process's memory. The descriptor stays with this program image: after an exec, reads
 * and writes fail. Linux checks here whether the process may be traced. Return: the descriptor, or
 * a negative errno, with the reason in @why.
 */
int foreign__open_memory(pid_t pid, char *why);

/*
 * Opens an empty memfd by its descriptor number in the process, with the rights of the process's
 * user. Return: a descriptor for writing, or a negative errno.
 */
int foreign__open_file(pid_t pid, int number);

#endif /* XPU_LOADER_INJECT_FOREIGN_H */
