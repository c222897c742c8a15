/* SPDX-License-Identifier: MIT */
/*
 * clock.h - the CPU's tick counter instead of CLOCK_MONOTONIC
 *
 * Launches are logged with ticks: reading the clock would double the time that logging takes, and
 * the counter is read anyway (see wait.h). Counter and clock are read together, as a struct
 * xpu_clock, whenever a log is sent, and also ten times a second. The line through two readings
 * converts the ticks between them to ns. The slope of a line is used only until the next reading,
 * and every reading is checked: if the line through the last readings misses the new reading,
 * launches are logged with the clock's time until counter and clock agree again.
 */
#ifndef XPU_PRELOAD_CLOCK_H
#define XPU_PRELOAD_CLOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "arch/this_arch.h"
#include "now.h"
#include "xpu_slot.h"

static inline uint64_t clock__ticks(void)
{
	return arch__ticks();
}

/* How far CLOCK_MONOTONIC is ahead in this process's time namespace; 0 without a time namespace. */
extern _Atomic int64_t clock__ahead_ns;

/*
 * Return: CLOCK_MONOTONIC in ns, without the time namespace's offset, as BPF programs and the
 * recorder read it. The shim sends only timestamps of this clock; deadlines for the C library use
 * the process's CLOCK_MONOTONIC.
 */
static inline uint64_t clock__ns(void)
{
	return now_ns(CLOCK_MONOTONIC) -
	       atomic_load_explicit(&clock__ahead_ns, memory_order_relaxed);
}

/*
 * Finds out how far the process's clock is ahead of the machine's clock. Called when the process
 * starts and after a fork.
 */
void clock__find_namespace(void);

/* Checks once whether the counter can be used. Must be called before the other functions. */
void clock__init(void);

/*
 * Measures and checks the counter's rate; called about ten times a second by the shim's own thread.
 */
void clock__watch(void);

/**
 * clock__next - read counter and clock again
 * @last: the previous reading, or all 0
 * @next: the new reading, which converts past ticks and, for a while, future ticks
 * @good: the return value of the call that read @last
 *
 * Any thread may call it. Return: whether the counter can be used after @next.
 */
bool clock__next(const struct xpu_clock *last, struct xpu_clock *next, bool good);

#endif /* XPU_PRELOAD_CLOCK_H */
