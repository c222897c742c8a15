/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * host_clock.h - the current time, in ns
 *
 * BPF programs, perf events and records use CLOCK_MONOTONIC of the initial time namespace. If the
 * recorder is in another time namespace, its own clock differs.
 */
#ifndef XPU_LOADER_HOST_CLOCK_H
#define XPU_LOADER_HOST_CLOCK_H

#include "now.h"

/*
 * How far CLOCK_MONOTONIC in the recorder's time namespace is ahead of the initial namespace's
 * clock.
 */
extern int64_t clock__ahead_ns;

/* Return: CLOCK_MONOTONIC of the initial time namespace, which all records use. */
static inline uint64_t clock__now(void)
{
	return now_ns(CLOCK_MONOTONIC) - clock__ahead_ns;
}

#endif /* XPU_LOADER_HOST_CLOCK_H */
