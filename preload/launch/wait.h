/* SPDX-License-Identifier: MIT */
/*
 * wait.h - finds out which calls wait for the device, how long, and for which stream or context
 *
 * The time between a call's entry and its exit is measured in ticks of the CPU's counter, a few ns
 * each time; only for a call that took long it is found out when the call began and ended by the
 * clock, and on which context or stream it waited. Calls whose purpose is to wait are watched for
 * this alone; launches and copies are watched anyway, and they wait if their queue is full or if
 * they block.
 */
#ifndef XPU_PRELOAD_WAIT_H
#define XPU_PRELOAD_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include <cupti.h>

#include "base/clock.h"
#include "xpu_slot.h"

struct cupti;

/* Shorter calls are not recorded: some 10 us, ten times the cost of recording one. */
#define WAIT_MIN_TICKS	machine__ticks_at_3ghz(30000)

#define WAIT_MAX_CBID	4096

/* The kinds of calls in wait__calls[]. */
enum {
	WAIT_PER_THREAD	= 1,		/* a NULL stream is the thread's own; ORed with the kinds
					 * below */
	WAIT_LAUNCH	= 2,		/* waits when the queue is full */
	WAIT_COPY	= 4,		/* a copy or set: waits for the NULL stream, or as a launch does */
	WAIT_STREAM	= 6,		/* this and the kinds below: watched for waits alone */
	WAIT_CONTEXT	= 8,
	WAIT_EVENT	= 10,
	WAIT_FREE	= 12,		/* waits for the context, and does other things */
	WAIT_RECORD	= 14,		/* does not wait: records an event */
	WAIT_ALLOC	= 16,		/* ORed with the above, or alone: allocs.h watches the call */
	WAIT_TIMED	= 32,		/* ORed with the above and below: calls.h logs the call */
	WAIT_NO_LAUNCH	= 64,		/* ORed with the above: no launch, watched for that alone */
};

/* By callback id of the driver domain; all 0 if waits are not recorded. */
extern uint8_t wait__calls[WAIT_MAX_CBID];

/*
 * Of copies and sets, whether waits are recorded or not: which of the call's parameters, of 8 bytes each, say
 * how much; 4 bits each, 0 for none.
 */
extern uint8_t wait__sizes[WAIT_MAX_CBID];

/* Return: what call it is, WAIT_TIMED included. */
static inline uint8_t wait__flags(uint32_t cbid)
{
	return __atomic_load_n(&wait__calls[cbid], __ATOMIC_RELAXED);
}

/* Return: what call it is, whether it is logged or not. Less than WAIT_STREAM: a launch, copy or set. */
static inline uint8_t wait__call(uint32_t cbid)
{
	return wait__flags(cbid) & ~WAIT_TIMED;
}

/*
 * Notes the kind of the driver call @name, unless XPU_WAITS_ENV is "off". Return: whether the call
 * must be watched for waits.
 */
bool wait__watch(uint32_t cbid, const char *name);

/* Makes allocs__call() be called for the call @cbid, from now on. */
void wait__watch_alloc(uint32_t cbid);

/*
 * Says whether calls.h logs the call @cbid. @no_launch: it is neither a launch nor a wait, and its callback
 * is enabled for that alone; so it stays, since callbacks may be in progress.
 */
void wait__time(uint32_t cbid, bool on, bool no_launch);

/* From now on calls are measured. @c: to ask for ids. */
void wait__start(const struct cupti *c);

/* Return: whether a call that began at @ticks has taken long. */
static inline bool wait__is_long(uint64_t ticks)
{
	return clock__ticks() - ticks > WAIT_MIN_TICKS;
}

/**
 * wait__describe - describe a wait, at the exit of a call that took long
 * @slot: its wait_* are set
 * @ticks: when it began
 *
 * Return: false if this was no wait: the call began before the measuring did.
 */
bool wait__describe(struct xpu_slot *slot, uint32_t cbid, const CUpti_CallbackData *d,
		    uint64_t ticks);

/* Return: whether the call @cbid copies or sets no bytes: then it puts nothing on a device. */
static inline bool wait__has_no_bytes(uint32_t cbid, const CUpti_CallbackData *d)
{
	uint8_t sizes = __atomic_load_n(&wait__sizes[cbid], __ATOMIC_RELAXED);
	const uint64_t *params = sizes ? d->functionParams : NULL;

	return params && ((sizes & 15 && !params[sizes & 15]) || (sizes >> 4 && !params[sizes >> 4]));
}

/* Notes the stream of an event, at the entry of a call that records it. */
void wait__event_recorded(uint32_t cbid, const CUpti_CallbackData *d);

#endif /* XPU_PRELOAD_WAIT_H */
