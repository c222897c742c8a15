/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * inject.h - puts the shim into a process that runs without it
 *
 * A thread of the process is borrowed for one system call, which makes a bare thread. That starts a
 * thread, which calls dlopen(). doc/architecture.md has the reasons, and says what is refused.
 */
#ifndef XPU_LOADER_INJECT_H
#define XPU_LOADER_INJECT_H

#include <sys/types.h>

#include "inject/result.h"

/**
 * inject__check - say whether the shim could be put into a process, without touching the process
 * @why: INJECT_WHY bytes: the reason, after an error
 *
 * Does not look for a thread that may be borrowed. Return: 0, -ESRCH if the process has ended,
 * -ENOENT if it does not use CUDA, or another negative errno.
 */
int inject__check(pid_t pid, char *why);

/**
 * inject__into - put the shim into a process
 * @shim: the path of the shim, as xpuload sees it; NULL: as inject__check()
 *
 * Looks for a thread to borrow for three seconds at most; a process that does not start a thread,
 * or does not load the shim, takes up to two minutes. After an error the process is as before,
 * except after -EIO and -EFAULT: something has begun in it, and failed.
 *
 * Return: 0 with the shim loaded and told that CUDA is in use, or as inject__check().
 */
int inject__into(pid_t pid, const char *shim, struct inject_result *result);

#endif /* XPU_LOADER_INJECT_H */
