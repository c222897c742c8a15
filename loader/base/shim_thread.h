/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * shim_thread.h - whether the shim's thread in a process has run
 *
 * The thread sends the last launches and device records of a process. The thread cannot send them
 * while the process is stopped or frozen, or waits for a CPU.
 */
#ifndef XPU_LOADER_SHIM_THREAD_H
#define XPU_LOADER_SHIM_THREAD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct shim_thread {			/* zeroed: not looked for yet */
	pid_t tid;			/* -1: not found */
	bool had_turns;
	uint64_t nr_waits;		/* how often the thread had waited when it was found */
	uint64_t ran_ns;		/* when the thread was first seen to have run since it was
					 * found; 0: it has not run since */
};

/*
 * Return: whether the shim's thread in @pid needs more time. After it was first seen to run, it
 * needs a second and some rounds of its loop, or only the second if /proc does not show the thread.
 */
bool shim_thread__is_late(struct shim_thread *t, pid_t pid, uint64_t now_ns);

#endif /* XPU_LOADER_SHIM_THREAD_H */
