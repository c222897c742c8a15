/* SPDX-License-Identifier: MIT */
/*
 * clock.h - the CPU's tick counter in the place of CLOCK_MONOTONIC
 *
 * Asking the clock takes as long as all else that is done to log a launch, and the counter is read
 * anyway (see wait.h). So launches are logged with ticks, and both are read together, as a struct
 * xpu_clock, whenever a log is sent and ten times a second: ticks become ns by the line through the
 * readings before and after them. Nothing is assumed of the counter's rate for longer than that,
 * and no reading is taken on trust: where the line that went through the last ones misses the next
 * one, the clock itself is asked, until they agree again.
 */
#ifndef XPU_PRELOAD_CLOCK_H
#define XPU_PRELOAD_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include <x86intrin.h>

#include "xpu_slot.h"

static inline uint64_t clock__ticks(void)
{
	return __rdtsc();
}

/* CLOCK_MONOTONIC. */
static inline uint64_t clock__ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

/* Looks whether the counter is one to go by, once. Before the others. */
void clock__init(void);

/* Measures its rate and judges it; some ten times a second, on the shim's own thread. */
void clock__watch(void);

/**
 * clock__next - read both again
 * @last: the reading before, or all 0
 * @next: what ticks up to now, and some from now on, become ns by
 * @good: what the last call returned for @last
 *
 * Any thread. Return: whether the counter is to be gone by from now on.
 */
bool clock__next(const struct xpu_clock *last, struct xpu_clock *next, bool good);

#endif /* XPU_PRELOAD_CLOCK_H */
