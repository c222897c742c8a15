/* SPDX-License-Identifier: MIT */
/*
 * kinds.h - the kinds of the driver's calls: launch, copy, wait, make memory. The kinds of activity
 * records are in activity.c
 *
 * Calls whose purpose is to wait are watched only to record the wait. Launches and copies are
 * watched anyway, and wait if their queue is full or if they block.
 */
#ifndef XPU_PRELOAD_CUPTI_KINDS_H
#define XPU_PRELOAD_CUPTI_KINDS_H

#include <stdbool.h>
#include <stdint.h>

#include <cupti.h>

#include "base/hot.h"
#include "launch/wait.h"
#include "xpu_record.h"

struct cupti;

#define KIND_MAX_CBID	4096

/* The kinds of calls in kinds__calls[]. */
enum {
	KIND_PER_THREAD	= 1,		/* ORed with the kinds below: a NULL stream means the
					 * per-thread stream */
	KIND_LAUNCH	= 2,		/* waits when the queue is full */
	KIND_COPY	= 4,		/* copy or set: waits for the NULL stream, or when the queue
					 * is full */
	KIND_STREAM	= 6,		/* this and the kinds below: watched only for waits */
	KIND_CONTEXT	= 8,
	KIND_EVENT	= 10,
	KIND_FREE	= 12,		/* waits for the context, among other things */
	KIND_RECORD	= 14,		/* does not wait: records an event */
	KIND_ALLOC	= 16,		/* alone or ORed with the kinds above: cumem.h watches the
					 * call */
	KIND_TIMED	= 32,		/* ORed with the other kinds: calls.h logs the call */
	KIND_NO_LAUNCH	= 64,		/* ORed with KIND_TIMED: the call is watched only for
					 * calls.h */
};

/* The kind of each call, by callback id of the driver domain; all 0 if waits are not recorded. */
extern uint8_t kinds__calls[KIND_MAX_CBID] HIDDEN;

/*
 * For each copy or memset call, even if waits are not recorded: the indices of the call's 8-byte
 * parameters whose product is the size. Each index has 4 bits; 0: none.
 */
extern uint8_t kinds__sizes[KIND_MAX_CBID] HIDDEN;

/* Return: the kind of call @cbid, with the bit KIND_TIMED if calls.h logs the call. */
static inline uint8_t kind__flags(uint32_t cbid)
{
	return __atomic_load_n(&kinds__calls[cbid], __ATOMIC_RELAXED);
}

/*
 * Return: the kind of call @cbid, without KIND_TIMED. A kind less than KIND_STREAM is a launch,
 * copy or set.
 */
static inline uint8_t kind__call(uint32_t cbid)
{
	return kind__flags(cbid) & ~KIND_TIMED;
}

/*
 * Notes the kind of the driver call @name, unless XPU_WAITS_ENV is "off". Return: whether the call
 * must be watched for waits.
 */
bool kinds__watch(uint32_t cbid, const char *name);

/* Marks the call @cbid, so that cumem__call() is called for it. */
void kinds__watch_alloc(uint32_t cbid);

/*
 * Sets whether calls.h logs the call @cbid. @no_launch: the call neither launches nor waits, and
 * its callback is enabled only for calls.h. @no_launch is never taken back, since callbacks may be
 * in progress.
 */
void kinds__time(uint32_t cbid, bool on, bool no_launch);

/* Whether the driver API call @name puts work on a device and CUPTI makes a record of this work. */
bool kinds__is_launch(const char *name);

/* Return: the class of the driver API call @name. */
enum xpu_call_class kinds__class(const char *name);

/* Prepares the kinds of calls. @c: gives the ids of contexts and streams */
void kinds__start(const struct cupti *c);

/*
 * Describes the wait of the call @cbid, at the exit of the call. Sets all members of @w that
 * wait__measure() does not set.
 */
void kinds__describe(struct gpu_wait *w, uint32_t cbid, const CUpti_CallbackData *d);

/* Return: whether the call @cbid copies or sets 0 bytes, and thus puts nothing on a device. */
static inline bool kind__has_no_bytes(uint32_t cbid, const CUpti_CallbackData *d)
{
	uint8_t sizes = __atomic_load_n(&kinds__sizes[cbid], __ATOMIC_RELAXED);
	const uint64_t *params = sizes ? d->functionParams : NULL;

	return params &&
	       ((sizes & 15 && !params[sizes & 15]) || (sizes >> 4 && !params[sizes >> 4]));
}

/* Notes the stream of an event, at the entry of a call that records it. */
void kinds__event_recorded(uint32_t cbid, const CUpti_CallbackData *d);

#endif /* XPU_PRELOAD_CUPTI_KINDS_H */
