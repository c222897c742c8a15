/* SPDX-License-Identifier: GPL-3.0-or-later */
/* clock.h - the time, in ns */
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

/* Return: CLOCK_MONOTONIC, which all records use. */
static inline uint64_t clock__now(void)
{
	return clock__read(CLOCK_MONOTONIC);
}

#endif /* XPU_LOADER_CLOCK_H */
