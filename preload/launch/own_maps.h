/* SPDX-License-Identifier: MIT */
/*
 * own_maps.h - sends xpuload the process's executable mappings and the names of its threads
 *
 * If xpuload has shared memory and no perf events, it could read both only in /proc, which no
 * longer shows a process that has ended. So the shim reads both in time, and writes them into the
 * shared memory. It reads mappings on its own thread, in cuInit, and when the process ends. It
 * reads a thread's name on that thread before the thread's first launch.
 */
#ifndef XPU_PRELOAD_OWN_MAPS_H
#define XPU_PRELOAD_OWN_MAPS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Sends new mappings to xpuload, if it wants them. @ends: the process ends, so nothing may be left
 * for the next call. Must be called by one thread at a time. Keeps errno. Allocates nothing, since
 * a signal handler that interrupted malloc() may have ended the process.
 */
void own_maps__hand_over(bool ends);

/*
 * Sends the calling thread's name to xpuload, if xpuload wants it. Makes one system call. @tid:
 * gettid(). Safe in signal handlers.
 */
void own_maps__name_thread(uint32_t tid);

/* Makes the next call send all mappings again, because another recording has begun. */
void own_maps__forget(void);

/* Leaves the shared memory alone in a forked child: it belongs to the parent. */
void own_maps__forked(void);

#endif /* XPU_PRELOAD_OWN_MAPS_H */
