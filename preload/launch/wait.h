/* SPDX-License-Identifier: MIT */
/*
 * wait.h - calls that wait for the device, and how long each waits
 *
 * The time between a call's entry and its exit is measured in ticks of the CPU's counter, which
 * takes a few ns. Only if the call took long does the shim convert its start and end to clock time,
 * and ask the vendor for the context or stream that the call waited for.
 */
#ifndef XPU_PRELOAD_WAIT_H
#define XPU_PRELOAD_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

/* Calls shorter than about 10 us are not recorded. Recording a call costs about 1 us. */
#define WAIT_MIN_TICKS	arch__ticks_at_3ghz(30000)

/* A call that has waited. */
struct gpu_wait {
	uint64_t start_ns, ns;		/* set by wait__measure() */
	uint32_t context, stream;	/* the vendor's ids; 0: unknown */
	uint32_t flags;			/* XPU_WAIT_* */
	uint32_t correlation_id;	/* id of the launch that the call has made; 0: none */
};

/* Begins to measure calls. */
void wait__start(void);

/* Return: whether a call that began at @ticks has taken long enough to be recorded. */
static inline bool wait__is_long(uint64_t ticks)
{
	return clock__ticks() - ticks > WAIT_MIN_TICKS;
}

/*
 * Measures a call that began at @ticks and has just ended. Sets start_ns and ns in @w, and clears
 * all other members of @w. Return: false if the call began before wait__start(), or took no time.
 */
bool wait__measure(struct gpu_wait *w, uint64_t ticks);

#endif /* XPU_PRELOAD_WAIT_H */
