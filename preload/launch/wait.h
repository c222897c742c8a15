/* SPDX-License-Identifier: MIT */
/*
 * wait.h - finds out which calls wait for the device, how long, and for which stream or context
 *
 * The time between a call's entry and its exit is measured in ticks of the CPU's counter, which
 * takes a few ns. Only for a call that took long does the shim find out its begin and end in clock
 * time, and the context or stream that it waited on. Calls whose purpose is to wait are watched
 * only for this; launches and copies are watched anyway, and wait if their queue is full or if they
 * block.
 */
#ifndef XPU_PRELOAD_WAIT_H
#define XPU_PRELOAD_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include <cupti.h>

#include "base/clock.h"
#include "xpu_slot.h"

struct cupti;

/* Calls shorter than about 10 us are not recorded. That is ten times the cost of recording one. */
#define WAIT_MIN_TICKS	machine__ticks_at_3ghz(30000)

#define WAIT_MAX_CBID	4096

/* The kinds of calls in wait__calls[]. */
enum {
	WAIT_PER_THREAD	= 1,		/* a NULL stream means the per-thread stream; ORed with the
					 * kinds below */
	WAIT_LAUNCH	= 2,		/* waits when the queue is full */
	WAIT_COPY	= 4,		/* copy or set: waits for the NULL stream or a full queue */
	WAIT_STREAM	= 6,		/* this and the kinds below: watched only for waits */
	WAIT_CONTEXT	= 8,
	WAIT_EVENT	= 10,
	WAIT_FREE	= 12,		/* waits for the context, among other things */
	WAIT_RECORD	= 14,		/* does not wait: records an event */
	WAIT_ALLOC	= 16,		/* ORed with the above, or alone: watched by allocs.h */
	WAIT_TIMED	= 32,		/* ORed with the above and below: calls.h logs the call */
	WAIT_NO_LAUNCH	= 64,		/* ORed with WAIT_TIMED: watched only for calls.h */
};

/* By callback id of the driver domain; all 0 if waits are not recorded. */
extern uint8_t wait__calls[WAIT_MAX_CBID];

/*
 * For copies and sets, even if waits are not recorded: the indices of the call's 8-byte parameters
 * whose product is the size; 4 bits each, 0 for none.
 */
extern uint8_t wait__sizes[WAIT_MAX_CBID];

/* Return: the kind of call @cbid, WAIT_TIMED included. */
static inline uint8_t wait__flags(uint32_t cbid)
{
	return __atomic_load_n(&wait__calls[cbid], __ATOMIC_RELAXED);
}

/*
 * Return: the kind of call @cbid, without WAIT_TIMED. Less than WAIT_STREAM: a launch, copy or set.
 */
static inline uint8_t wait__call(uint32_t cbid)
{
	return wait__flags(cbid) & ~WAIT_TIMED;
}

/*
 * Notes the kind of the driver call @name, unless XPU_WAITS_ENV is "off". Return: whether the call
 * must be watched for waits.
 */
bool wait__watch(uint32_t cbid, const char *name);

/* Marks the call @cbid as one that allocs__call() is called for. */
void wait__watch_alloc(uint32_t cbid);

/*
 * Sets whether calls.h logs the call @cbid. @no_launch: the call neither launches nor waits, and
 * its callback is enabled only for calls.h. That mark stays, since callbacks may be in progress.
 */
void wait__time(uint32_t cbid, bool on, bool no_launch);

/* Begins to measure calls. @c: asked for the ids of contexts and streams. */
void wait__start(const struct cupti *c);

/* Return: whether a call that began at @ticks has taken long enough to be recorded. */
static inline bool wait__is_long(uint64_t ticks)
{
	return clock__ticks() - ticks > WAIT_MIN_TICKS;
}

/**
 * wait__describe - describe a wait, at the exit of a call that took long
 * @slot: its wait_* are set
 * @ticks: when it began
 *
 * Return: false if the call cannot be described: it began before wait__start().
 */
bool wait__describe(struct xpu_slot *slot, uint32_t cbid, const CUpti_CallbackData *d,
		    uint64_t ticks);

/* Return: whether the call @cbid copies or sets no bytes: then it puts nothing on a device. */
static inline bool wait__has_no_bytes(uint32_t cbid, const CUpti_CallbackData *d)
{
	uint8_t sizes = __atomic_load_n(&wait__sizes[cbid], __ATOMIC_RELAXED);
	const uint64_t *params = sizes ? d->functionParams : NULL;

	return params &&
	       ((sizes & 15 && !params[sizes & 15]) || (sizes >> 4 && !params[sizes >> 4]));
}

/* Notes the stream of an event, at the entry of a call that records it. */
void wait__event_recorded(uint32_t cbid, const CUpti_CallbackData *d);

#endif /* XPU_PRELOAD_WAIT_H */
