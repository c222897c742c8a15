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

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "inject/result.h"

#define INJECT_MS	30000		/* maximum time for one process */

/**
 * inject__check - say whether the shim could be put into a process, without touching the process
 * @why: INJECT_WHY bytes: the reason, after an error
 *
 * Does not check whether a thread can be borrowed. Return: 0, -ESRCH if the process has ended,
 * -ENOENT if it does not use CUDA, or another negative errno.
 */
int inject__check(pid_t pid, char *why);

/* One injection in progress. */
struct injection {
	pid_t pid, child;		/* @child puts the shim into @pid */
	int fd;				/* readable when @child has the result, or -1 */
	uint64_t end_ns;		/* when @child is killed */
};

/**
 * inject__begin - begin to put the shim into a process
 * @shim: the path of the shim, as xpuload sees it; NULL: only check, as inject__check() does
 *
 * A child does the work. inject__end() must be called later.
 */
void inject__begin(struct injection *i, pid_t pid, const char *shim);

/* Waits for @timeout_ms at most. Return: whether the child has a result, or its time is up. */
bool inject__is_over(const struct injection *i, int timeout_ms);

/**
 * inject__end - take the result, or kill the child if it has none
 *
 * A killed child leaves the process running. After an error the process is as before, except after
 * -EIO and -EFAULT, which mean that a step in the process began and failed.
 *
 * Return: 0 if the shim is loaded and knows that CUDA is in use, or an error as from
 * inject__check().
 */
int inject__end(struct injection *i, struct inject_result *result);

/* Begins and ends one injection, in INJECT_MS at most. */
int inject__into(pid_t pid, const char *shim, struct inject_result *result);

#endif /* XPU_LOADER_INJECT_H */
