/* SPDX-License-Identifier: MIT */
/*
 * wait.h - which calls wait for the device, how long, and for what
 *
 * The time between a call's entry and its exit is measured in ticks of the CPU's counter, a few ns
 * each time; only a call that took long is looked at: when it began and ended on the clock, and on
 * which context or stream it waited. Calls that exist to wait are watched for this alone; launches
 * and copies are watched anyway, and they wait when their queue is full or when they block.
 */
#ifndef XPU_PRELOAD_WAIT_H
#define XPU_PRELOAD_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include <cupti.h>

#include "base/clock.h"
#include "xpu_slot.h"

struct cupti;

/* Shorter calls are not told of: some 10 us at 3 GHz, ten times what telling costs. */
#define WAIT_MIN_TICKS	30000

#define WAIT_MAX_CBID	4096

/* What a call is, in wait__calls[]. */
enum {
	WAIT_PER_THREAD	= 1,		/* a NULL stream is the thread's own; added to the others */
	WAIT_LAUNCH	= 2,		/* waits when the queue is full */
	WAIT_COPY	= 4,		/* waits for the NULL stream, if at all */
	WAIT_STREAM	= 6,		/* from here on: watched for this alone */
	WAIT_CONTEXT	= 8,
	WAIT_EVENT	= 10,
	WAIT_FREE	= 12,		/* waits for the context, and does other things */
	WAIT_RECORD	= 14,		/* no waiting: says what an event stands for */
};

/* By callback id of the driver domain; all 0 where nobody wants to know of waits. */
extern uint8_t wait__calls[WAIT_MAX_CBID];

static inline uint8_t wait__call(uint32_t cbid)
{
	return __atomic_load_n(&wait__calls[cbid], __ATOMIC_RELAXED);
}

/*
 * Notes what the driver call @name means here, unless XPU_WAITS_ENV is "off". Return: whether it is
 * one to watch for that.
 */
bool wait__watch(uint32_t cbid, const char *name);

/* From now on calls are measured. @c: to ask for ids. */
void wait__start(const struct cupti *c);

/* Return: whether a call that began at @ticks has taken long. */
static inline bool wait__is_long(uint64_t ticks)
{
	return clock__ticks() - ticks > WAIT_MIN_TICKS;
}

/**
 * wait__describe - at the exit of a call that took long
 * @slot: its wait_* are set
 * @ticks: when it began
 *
 * Return: false if that was no wait: the call began before anybody measured.
 */
bool wait__describe(struct xpu_slot *slot, uint32_t cbid, const CUpti_CallbackData *d,
		    uint64_t ticks);

/* At the entry of a call that records an event. */
void wait__event_recorded(uint32_t cbid, const CUpti_CallbackData *d);

#endif /* XPU_PRELOAD_WAIT_H */
