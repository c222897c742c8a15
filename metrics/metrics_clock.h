/* SPDX-License-Identifier: MIT */
/*
 * metrics_clock.h - CLOCK_MONOTONIC of the machine, which all records use, see
 * loader/base/host_clock.h
 */
#ifndef XPU_METRICS_CLOCK_H
#define XPU_METRICS_CLOCK_H

#include "now.h"
#include "timens.h"

static inline uint64_t clock__now(void)
{
	static bool known;
	static int64_t ahead_ns;

	if (!known)
		ahead_ns = timens__offset_ns();
	known = true;
	return now_ns(CLOCK_MONOTONIC) - ahead_ns;
}

#endif /* XPU_METRICS_CLOCK_H */
