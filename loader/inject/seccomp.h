/* SPDX-License-Identifier: GPL-3.0-or-later */
/* seccomp.h - whether a thread's system call filters allow the calls that load the shim */
#ifndef XPU_LOADER_INJECT_SECCOMP_H
#define XPU_LOADER_INJECT_SECCOMP_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Runs a filter for a system call. Return: its action, or SECCOMP_RET_KILL_PROCESS if Linux would
 * not accept the filter.
 */
uint32_t seccomp__run(const struct sock_filter *filter, size_t nr, const struct seccomp_data *d);

/*
 * Checks the filters of a stopped thread. A filter may let a call fail, but it may not raise a
 * signal or pass the call to another process. Linux shows filters only to root. Return: 0, or a
 * negative errno and @why.
 */
int seccomp__check(pid_t tid, char *why);

#endif /* XPU_LOADER_INJECT_SECCOMP_H */
