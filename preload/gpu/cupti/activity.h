/* SPDX-License-Identifier: MIT */
/*
 * activity.h - CUPTI's activity buffers, and the packing of the records in them
 *
 * CUPTI asks for buffers and gives them back on threads of its choice, perhaps under its own lock,
 * so those callbacks only move memory. The records are read and packed by activity__pack(), on the
 * shim's own thread or, at exit, on the exiting thread.
 */
#ifndef XPU_PRELOAD_ACTIVITY_H
#define XPU_PRELOAD_ACTIVITY_H

#include <stdbool.h>

#include "gpu/cupti/cupti_lib.h"
#include "gpu/cupti/buffers.h"

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
 * Work that was launched before the end is still recorded. May be called on any thread, also in
 * CUPTI's callbacks. Return: like activity__start().
 */
CUptiResult activity__collect(bool on);

/*
 * Makes CUPTI give back the buffers with finished records. @force: also the buffers with unfinished
 * records, because the process ends or may end, or the shim leaves CUPTI to the program
 */
void activity__flush(bool force);

/* Flushes, unless CUPTI gives back buffers often enough anyway. Called periodically. */
void activity__flush_if_quiet(void);

/* Collects the finished records and stops. Does not wait for unfinished work. */
void activity__stop(void);

/*
 * Makes CUPTI give the program its finished records. Called before activity__start(), when the
 * program no longer uses CUPTI. Return: false if CUPTI still holds a buffer of the program: records
 * of the shim would be lost in that buffer.
 */
bool activity__is_free(const struct cupti *c);

/*
 * Leaves CUPTI to the program. Must be called while the shim does not collect. Return: whether
 * CUPTI was forced to give back buffers; if so, the caller must drain these buffers.
 */
bool activity__yield(void);

/*
 * Functions for struct vendor. They take the returned buffers, pack them, and recycle empty
 * buffers.
 */
void *activity__take(void);
void activity__pack(void *taken);
void activity__drained(bool any, bool last);

/* Return: a number that changes whenever CUPTI gives a buffer back or a buffer is packed. */
unsigned int activity__progress(void);

#endif /* XPU_PRELOAD_ACTIVITY_H */
