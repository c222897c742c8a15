/* SPDX-License-Identifier: MIT */
/*
 * shm.h - records for xpuload through shared memory, where BPF may not be used; see xpu_shm.h
 *
 * All functions but shm__start() are safe in signal handlers. They take no lock, and none waits
 * but shm__tell(), as long as its caller allows. If there is no room, records are dropped and
 * counted.
 */
#ifndef XPU_PRELOAD_SHM_H
#define XPU_PRELOAD_SHM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xpu_slot.h"

/*
 * Reads where xpuload waits from the value of XPU_SHM_ENV; nothing is done yet. Return: whether
 * that is possible.
 */
bool shm__start(const char *where);

/* Whether xpuload wants NVTX ranges; holds from shm__start() on. */
bool shm__wants_ranges(void);

enum shm_state {
	SHM_NONE,			/* there is no shared memory */
	SHM_OPEN,
	SHM_LEAVING,			/* xpuload wants no more launches */
	SHM_GONE,			/* it wants nothing more, or has been killed */
};

/*
 * Called some ten times a second by the shim's own thread, and first in cuInit: that call makes the
 * memory, and hands it over to xpuload without waiting for it.
 */
enum shm_state shm__state(void);

/*
 * Hands the memory over if that could not be done yet, trying for @wait_ns. While it cannot be done,
 * @nr_launches, those that the process has made so far, are where xpuload finds them as lost.
 */
void shm__tell(uint64_t nr_launches, uint64_t wait_ns);

/* Whether shm__tell() has nothing to do any more. */
bool shm__is_told(void);

/*
 * Sees to it that the part of the memory that comes next has pages, so that no launch has to wait for
 * one; called by the shim's own thread.
 */
void shm__populate(void);

/* In a forked child, which has nothing to tell: the memory is its parent's. */
void shm__forked(void);

/*
 * Puts pages of the shared memory in the place of the zeroed XPU_SHM_THREAD_BYTES at @pages, so that
 * xpuload can read the log there when the process has ended. @log_at: where the log is in them, equal
 * for all threads. *@taken: their number, for shm__give_pages() once nothing more is logged there; 0
 * if there is no shared memory or none left: then @pages stay the process's own. The caller
 * serializes all calls.
 *
 * Return: whether there is memory at @pages still.
 */
bool shm__take_pages(void *pages, size_t log_at, unsigned int *taken);

/*
 * Puts zeroed memory of the process's own at @pages, in place of shared pages. Return: whether it
 * could; if not, there may be no memory at @pages.
 */
bool shm__leave_pages(void *pages);

void shm__give_pages(unsigned int number);

/* They take the place of the probe sites of these names: see xpu_slot.h. */
void shm__launch(const struct xpu_slot *slot);
void shm__batch(const void *records, size_t bytes);
void shm__log(const struct xpu_log *log, uint64_t end);

#endif /* XPU_PRELOAD_SHM_H */
