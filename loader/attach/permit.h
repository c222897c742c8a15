/* SPDX-License-Identifier: GPL-3.0-or-later */
/* permit.h - whom the invoker may record, as the kernel says it */
#ifndef XPU_LOADER_PERMIT_H
#define XPU_LOADER_PERMIT_H

#include <stddef.h>
#include <sys/types.h>

/**
 * permit__check - whether a process is ours to look into, now
 *
 * It is asked before what is public in /proc is read, too. The programs in the kernel ask the same
 * again with each event; see bpf/permit.bpf.c.
 *
 * Return: 0; -EACCES if it is not; or another negative errno, -ESRCH say.
 */
int permit__check(pid_t pid);

/* To @buf: why it is not, and what to do. */
void permit__explain(pid_t pid, char *buf, size_t size);

#endif /* XPU_LOADER_PERMIT_H */
