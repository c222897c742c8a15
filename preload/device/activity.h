/* SPDX-License-Identifier: MIT */
/*
 * activity.h - CUPTI's activity buffers, and what becomes of the records in them
 *
 * CUPTI asks for buffers and gives them back on threads of its choice, perhaps under its own lock,
 * so those callbacks only move memory. The records are read and packed by activity__drain(), on
 * the shim's own thread or, at exit, on the exiting one.
 */
#ifndef XPU_PRELOAD_ACTIVITY_H
#define XPU_PRELOAD_ACTIVITY_H

#include <stdbool.h>

#include "base/cupti_lib.h"
#include "device/buffers.h"

/* Before anything else here. */
void activity__init(void);

/**
 * activity__start - let CUPTI collect
 * @c: the opened CUPTI
 * @what: on failure, the name of the CUPTI function that failed
 *
 * Return: CUPTI_SUCCESS, or what that function returned; nothing is left enabled then.
 */
CUptiResult activity__start(const struct cupti *c, const char **what);

/*
 * Collects the calls of CUDA's API, too, or no longer; until activity__stop(). Says if it cannot.
 */
void activity__want_calls(bool want);

/* Makes CUPTI give back what is finished; @force: and what is not, for nothing comes after. */
void activity__flush(bool force);

/* From time to time: the same, unless CUPTI gives buffers back often enough without. */
void activity__flush_if_quiet(void);

/* Collects what is finished and stops. Work that is not finished is not waited for. */
void activity__stop(void);

/*
 * Before activity__start(), when the program has let go: makes CUPTI give the program what is
 * finished. Return: whether CUPTI has no buffer of the program's any more, where records of the
 * shim's would get lost.
 */
bool activity__is_free(const struct cupti *c);

/* The program uses CUPTI itself from here on: while the shim does not collect. */
void activity__yield(void);

/**
 * activity__drain - pack and send every buffer that came back
 * @last: nothing comes after this for now: no launch is told of from here on; repeat every
 *	  definition, say so, free the buffers
 */
void activity__drain(bool last);

/* Device records that the program collected itself: what is sent next says how many. */
void activity__count_taken(uint64_t nr);

/* Sends a line for the user; @level is XPU_MESSAGE_*. */
void activity__message(int level, const char *text);

/* Names a callback id in the records. */
void activity__name_api(uint32_t domain, uint32_t cbid, const char *name);

/* Sends every definition again: somebody new is listening. */
void activity__repeat_definitions(void);

/* Return: a number that changes with each buffer that CUPTI gives back or that is packed. */
unsigned int activity__progress(void);

/* Waits until a buffer came back or @timeout_ns have passed; woken by activity__wake() (notes.h), too. */
void activity__wait(long timeout_ns);

#endif /* XPU_PRELOAD_ACTIVITY_H */
