/* SPDX-License-Identifier: MIT */
/*
 * activity.h - CUPTI's activity buffers, and the packing of the records in them
 *
 * CUPTI asks for buffers and gives them back on threads of its choice, perhaps under its own lock,
 * so those callbacks only move memory. The records are read and packed by activity__drain(), on the
 * shim's own thread or, at exit, on the exiting thread.
 */
#ifndef XPU_PRELOAD_ACTIVITY_H
#define XPU_PRELOAD_ACTIVITY_H

#include <stdbool.h>

#include "base/cupti_lib.h"
#include "gpu/cupti/buffers.h"

/* To be called before the other functions here. */
void activity__init(void);

/**
 * activity__start - let CUPTI collect
 * @c: the opened CUPTI
 * @collect: whether to collect at once; otherwise activity__collect(true) begins
 * @what: on failure, the name of the CUPTI function that failed
 *
 * Return: CUPTI_SUCCESS, or the error of that function, with nothing left enabled.
 */
CUptiResult activity__start(const struct cupti *c, bool collect, const char **what);

/*
 * Makes CUPTI begin or end recording device work, between activity__start() and activity__stop().
 * Work that was launched before the end is still recorded. May be called on any thread, in CUPTI's
 * callbacks, too. Return: as activity__start().
 */
CUptiResult activity__collect(bool on);

/*
 * Makes CUPTI give back the buffers with finished records; with @force, at the end, unfinished
 * records, too.
 */
void activity__flush(bool force);

/* Called periodically: flushes, unless CUPTI gives back buffers often enough by itself. */
void activity__flush_if_quiet(void);

/* Collects the finished records and stops. Does not wait for unfinished work. */
void activity__stop(void);

/*
 * Called before activity__start(), when the program has let go of CUPTI: makes CUPTI give the
 * program its finished records. Return: whether CUPTI holds no buffer of the program any more; the
 * shim's records would be lost in one.
 */
bool activity__is_free(const struct cupti *c);

/* Whether the shim collects as one subscriber of several. */
bool activity__is_among(void);

/* Leaves CUPTI to the program. To be called while the shim does not collect. */
void activity__yield(void);

/*
 * Adds @nr device records that the program collected itself to the counters, which go out with the
 * next batch.
 */
void activity__count_taken(uint64_t nr);

/* Calls @pack, which may use wire.h. */
void activity__pack(void (*pack)(void *ctx), void *ctx);

/* Sends a line for the user; @level is XPU_MESSAGE_*. */
void activity__message(int level, const char *text);

/* Names a callback id in the records. */
void activity__name_api(uint32_t domain, uint32_t cbid, const char *name);

/* Sends every definition again, for a new listener. */
void activity__repeat_definitions(void);

/* Return: a number that changes with each buffer that CUPTI gives back or that is packed. */
unsigned int activity__progress(void);

/*
 * Waits until a buffer came back or @timeout_ns have passed; woken by activity__wake() (notes.h),
 * too.
 */
void activity__wait(long timeout_ns);

#endif /* XPU_PRELOAD_ACTIVITY_H */
