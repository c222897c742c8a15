/* SPDX-License-Identifier: MIT */
/*
 * clock.h - the CPU's tick counter in place of CLOCK_MONOTONIC
 *
 * To read the clock takes as long as everything else that logs a launch, and the counter is read
 * anyway (see wait.h). So launches are logged with ticks. Counter and clock are read together, as a
 * struct xpu_clock, whenever a log is sent and ten times a second; ticks become ns by the line
 * through the readings before and after them. The counter's rate is assumed for no longer than
 * that, and every reading is checked: if the line through the last readings misses the next one,
 * launches are logged with the clock's time until counter and clock agree again.
 */
#ifndef XPU_PRELOAD_CLOCK_H
#define XPU_PRELOAD_CLOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "arch/machine.h"
#include "xpu_slot.h"

static inline uint64_t clock__ticks(void)
{
	return machine__ticks();
}

/* How far the process's CLOCK_MONOTONIC is ahead of the machine's: 0 outside of time namespaces. */
extern _Atomic int64_t clock__ahead_ns;

/*
 * Return: the machine's CLOCK_MONOTONIC in ns, which BPF programs and the recorder have, too. All times that
 * the shim sends are of this clock; deadlines for the C library are of the process's own.
 */
static inline uint64_t clock__ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec -
	       atomic_load_explicit(&clock__ahead_ns, memory_order_relaxed);
}

/* Finds out how far the process's clock is ahead: at its begin, and after a fork. */
void clock__find_namespace(void);

/* Checks once whether the counter can be used. To be called before the other functions. */
void clock__init(void);

/*
 * Measures and checks the counter's rate; called some ten times a second by the shim's own thread.
 */
void clock__watch(void);

/**
 * clock__next - read counter and clock again
 * @last: the reading before, or all 0
 * @next: the new reading, which converts the ticks up to now and some from now on
 * @good: what the last call returned for @last
 *
 * Any thread may call it. Return: whether the counter can be used from now on.
 */
bool clock__next(const struct xpu_clock *last, struct xpu_clock *next, bool good);

#endif /* XPU_PRELOAD_CLOCK_H */
