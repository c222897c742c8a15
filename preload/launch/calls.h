/* SPDX-License-Identifier: MIT */
/*
 * calls.h - calls of CUDA's API, and how long each takes
 *
 * CUPTI calls back at both ends of a call, on its thread, which logs the call in its own memory.
 * Most calls of a program such as PyTorch ask for a thread's state and return at once; a callback
 * takes several times as long. So CUPTI calls back for them only if all calls are wanted. (CUPTI's
 * activity records of calls cost more: even a record that it is told to leave out costs half as
 * much as one that it makes.) A driver call inside a runtime call is part of that call, and is not
 * recorded separately.
 *
 * A log is sent as an XPU_RECORD_CALLS when it is full, and with the thread's log of launches.
 * Calls in progress when the recording begins, or when it ends before the program, are not
 * recorded; calls that the end of a thread or of the process cuts off are counted.
 */
#ifndef XPU_PRELOAD_CALLS_H
#define XPU_PRELOAD_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cupti_lib.h"

enum calls_wanted {
	CALLS_NONE,
	CALLS_TIMED,			/* all but trifles: see calls__weigh() */
	CALLS_ALL,
};

enum call_weight {
	CALL_UNKNOWN,			/* neither by the rules: taken for CALL_TAKES_TIME */
	CALL_TRIFLE,
	CALL_TAKES_TIME,
};

/*
 * Weighs a function by its name. A trifle only asks for a known value or sets a thread's state: it
 * puts no work on a device, does not wait, and makes, frees or loads nothing.
 */
enum call_weight calls__weigh(const char *name);

/**
 * calls__want - start or stop recording calls
 * @used: whether another part of the shim has enabled the callback of the driver's function
 *
 * Callbacks stay enabled when calls are no longer wanted. If one is disabled while a thread is
 * inside its call, CUPTI 13.0 gives all later calls of that thread the same correlation id, so that
 * its launches cannot be told apart. Disabling a whole domain does no harm: see calls__disabled().
 *
 * Called by the shim's thread, or under capture__lock(). Return: whether CUPTI knows any wanted
 * call.
 */
bool calls__want(const struct cupti *c, CUpti_SubscriberHandle subscriber, enum calls_wanted wanted,
		 bool (*used)(uint32_t cbid, const char *name));

/* Both of CUPTI's domains of API calls have been disabled. */
void calls__disabled(void);

/* Marks the calling thread as one of the shim, whose calls are not recorded. */
void calls__leave_me_out(void);

/* How many calls were cut off, or could not be logged. */
uint64_t calls__nr_bad(void);
void calls__count_bad(void);

/* Sends the names of all functions called so far again. May be called on any thread. */
void calls__repeat_definitions(void);

/* In a forked child. */
void calls__forked(void);

/* ---- the log of one thread ---- */

struct call_log;

/* Return: the bytes of a log, for which the caller maps zeroed pages. */
size_t call_log__bytes(void);

/* Sets @l up; called by the thread itself. */
void call_log__start(struct call_log *l);

/**
 * call_log__begin, call_log__end - a call begins and ends
 * @l: the calling thread's log
 * @cbid: as in struct xpu_call
 * @frame: an address in the stack frame of CUPTI's callback
 *
 * May be called in signal handlers, too.
 */
void call_log__begin(struct call_log *l, uint16_t cbid, const CUpti_CallbackData *d,
		     const void *frame);
void call_log__end(struct call_log *l, uint16_t cbid, const CUpti_CallbackData *d);

/* Whether call_log__begin() would log a call. */
bool calls__are_wanted(void);

/* Return: how many calls were logged so far. */
uint64_t call_log__nr(const struct call_log *l);

/* Sends the logged calls, unless another thread is about to. May be called on any thread. */
void call_log__send(struct call_log *l);

/* Empties the log without sending it, because nobody listened. May be called on any thread. */
void call_log__discard(struct call_log *l);

/* Whether the thread is in a call that is being recorded. */
bool call_log__is_open(const struct call_log *l);

#endif /* XPU_PRELOAD_CALLS_H */
