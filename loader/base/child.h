/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * child.h - processes of our own that help the recorder
 */
#ifndef XPU_LOADER_CHILD_H
#define XPU_LOADER_CHILD_H

#include <sys/types.h>

#define CHILD_FD	3

/*
 * In a new process: keeps @fd alone, as CHILD_FD, blocks all signals, and ends when @parent does. Held
 * open here, xpuload's pipes would not end for those who read from them.
 * Return: 0 or a negative errno.
 */
int child__settle(int fd, pid_t parent, const char *name);

/* Gives all capabilities up for good. Return: 0 or a negative errno. */
int child__drop_capabilities(void);

#endif /* XPU_LOADER_CHILD_H */
