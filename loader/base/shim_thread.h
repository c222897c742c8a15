/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * shim_thread.h - whether the shim's thread in a process has run
 *
 * The thread sends the last launches and device records of a process. It cannot do so while Linux
 * does not run it: the process is stopped, frozen, or waits for a CPU.
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
	uint64_t ran_ns;		/* when it was first seen to have run since then; 0: not
					 * yet */
};

/*
 * Return: whether the shim's thread in @pid needs more time: since it was first seen to run, less
 * than a second or too few rounds of its loop have passed. If /proc does not show the thread, only
 * the second counts.
 */
bool shim_thread__is_late(struct shim_thread *t, pid_t pid, uint64_t now_ns);

#endif /* XPU_LOADER_SHIM_THREAD_H */
