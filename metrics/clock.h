/* SPDX-License-Identifier: MIT */
/* clock.h - the machine's CLOCK_MONOTONIC, which all records use: see loader/base/clock.h */
#ifndef XPU_METRICS_CLOCK_H
#define XPU_METRICS_CLOCK_H

#include <time.h>

#include "timens.h"

static inline uint64_t clock__now(void)
{
	static bool known;
	static int64_t ahead_ns;
	struct timespec ts;

	if (!known)
		ahead_ns = timens__offset_ns();
	known = true;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec - ahead_ns;
}

#endif /* XPU_METRICS_CLOCK_H */
