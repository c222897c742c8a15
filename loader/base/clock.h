/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * clock.h - the time, in ns
 *
 * The clock of BPF programs and of perf events is the machine's, and records have that. In a time namespace
 * the recorder's own clock is ahead of it.
 */
#ifndef XPU_LOADER_CLOCK_H
#define XPU_LOADER_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t clock__read(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

/* How far the recorder's CLOCK_MONOTONIC is ahead of the machine's. */
extern int64_t clock__ahead_ns;

/* Return: the machine's CLOCK_MONOTONIC, which all records use. */
static inline uint64_t clock__now(void)
{
	return clock__read(CLOCK_MONOTONIC) - clock__ahead_ns;
}

#endif /* XPU_LOADER_CLOCK_H */
