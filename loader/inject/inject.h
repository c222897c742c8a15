/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * inject.h - puts the shim into a process that runs without it
 *
 * A thread of the process is borrowed for one system call, which makes a bare thread. The bare
 * thread starts a thread that calls dlopen(). doc/architecture.md explains why, and lists what is
 * refused.
 */
#ifndef XPU_LOADER_INJECT_H
#define XPU_LOADER_INJECT_H

#include <sys/types.h>

#include "inject/result.h"

/**
 * inject__check - say whether the shim could be put into a process, without touching the process
 * @why: INJECT_WHY bytes: the reason, after an error
 *
 * Does not check whether a thread can be borrowed. Return: 0, -ESRCH if the process has ended,
 * -ENOENT if it does not use CUDA, or another negative errno.
 */
int inject__check(pid_t pid, char *why);

/**
 * inject__into - put the shim into a process
 * @shim: the path of the shim, as xpuload sees it; NULL: only check, as inject__check() does
 *
 * Searches for a thread to borrow for three seconds at most. If the process does not start a
 * thread, or does not load the shim, this takes up to two minutes. After an error the process is as
 * before, except after -EIO and -EFAULT, which mean that a step in the process began and failed.
 *
 * Return: 0 if the shim is loaded and knows that CUDA is in use, or an error as from
 * inject__check().
 */
int inject__into(pid_t pid, const char *shim, struct inject_result *result);

#endif /* XPU_LOADER_INJECT_H */
