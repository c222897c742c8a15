/* SPDX-License-Identifier: MIT */
/*
 * maps.h - hands the process's executable mappings and the names of its threads over
 *
 * Where xpuload has shared memory and no perf events, it reads both in /proc, which has nothing any
 * more about a process that has ended. So the shim reads them in time, and writes them into the
 * shared memory. It does so on its own thread, in cuInit, and at the process's end, never during a
 * launch.
 */
#ifndef XPU_PRELOAD_MAPS_H
#define XPU_PRELOAD_MAPS_H

#include <stdbool.h>

/*
 * Hands new mappings over, if xpuload wants them. @ends: the process ends, so that names of new
 * threads are handed over, too. To be called by one thread at a time. Keeps errno.
 */
void maps__hand_over(bool ends);

/* In a forked child, whose parent has the shared memory. */
void maps__forked(void);

#endif /* XPU_PRELOAD_MAPS_H */
