/* SPDX-License-Identifier: MIT */
/* now.h - the time of a clock, in ns */
#ifndef XPU_NOW_H
#define XPU_NOW_H

#include <stdint.h>
#include <time.h>

static inline uint64_t now_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

#endif /* XPU_NOW_H */
