/* SPDX-License-Identifier: MIT */
/*
 * clocks.h - converts each device's timestamps to CLOCK_MONOTONIC
 *
 * A device's clock differs from CLOCK_MONOTONIC by an offset that is only known within bounds: the
 * device reads its clock between two readings of CLOCK_MONOTONIC. If the driver has
 * clGetDeviceAndHostTimer(), its readings bound the offset. Otherwise two timestamps of the device
 * bound it: the driver takes the first in the call that enqueues work, and the second before the
 * work's callback. The bounds of all readings are intersected. As two clocks may run at different
 * rates, old bounds become wider.
 */
#ifndef XPU_PRELOAD_OPENCL_CLOCKS_H
#define XPU_PRELOAD_OPENCL_CLOCKS_H

#include <stdbool.h>
#include <stdint.h>

/* The timestamps of a piece of work. */
struct clock_times {
	uint64_t begin_ns, end_ns;	/* just before and after the call that enqueues the work */
	uint64_t seen_ns;		/* when the callback ran; 0: it did not run */
	uint64_t queued, start, end;	/* on the device's clock; 0: unknown */
};

/*
 * Reads both clocks of device @ordinal, unless they were read lately or the driver cannot read
 * them. Called on a thread that is about to enqueue work on the device. @now: clock__ns()
 */
void clocks__read(uint16_t ordinal, uint64_t now);

/*
 * Narrows the bounds of the clock offset of device @ordinal, by the times of the device's work.
 * Call this function and the other functions under the lock of sender.h.
 */
void clocks__learn(uint16_t ordinal, const struct clock_times *t);

/* Chooses each offset within its bounds. */
void clocks__settle(void);

/* Return: the number of ns to add to a timestamp of device @ordinal. */
int64_t clocks__shift(uint16_t ordinal);

/*
 * Return: the largest possible error of the converted times of device @ordinal, in ns, if it must
 * be reported; otherwise 0. It is reported after the first work, and each time that it has doubled.
 * @from_timer: set to whether the bound comes from the driver's timer
 */
uint64_t clocks__bound_to_tell(uint16_t ordinal, bool *from_timer);

#endif /* XPU_PRELOAD_OPENCL_CLOCKS_H */
