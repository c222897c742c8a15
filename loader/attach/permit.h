/* SPDX-License-Identifier: GPL-3.0-or-later */
/* permit.h - asks Linux which processes the invoker may record */
#ifndef XPU_LOADER_PERMIT_H
#define XPU_LOADER_PERMIT_H

#include <stddef.h>
#include <sys/types.h>

/**
 * permit__check - whether the invoker may read a process now
 *
 * xpuload checks this before it reads even public files in /proc. The BPF programs check it again
 * at each event: see bpf/permit.bpf.c.
 *
 * Return: 0 if it may; -EACCES if it may not; or another negative errno, such as -ESRCH.
 */
int permit__check(pid_t pid);

/* Writes to @buf why the invoker may not record @pid, and what to do. */
void permit__explain(pid_t pid, char *buf, size_t size);

#endif /* XPU_LOADER_PERMIT_H */
