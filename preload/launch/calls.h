/* SPDX-License-Identifier: MIT */
/*
 * calls.h - calls of CUDA's API, and how long each takes
 *
 * CUPTI calls back at both ends of a call, on its thread, which logs the call in memory of its own. Most
 * calls of a program such as PyTorch ask for a thread's state and return at once, and a callback takes
 * several times as long as they do: so CUPTI is not asked to call back for those, unless all calls are
 * wanted. (CUPTI's activity records of calls are dearer, and those that it is told to leave out cost half as
 * much as those that it makes.) Driver calls inside a call of the runtime are part of that, and are not
 * recorded apart.
 *
 * A log goes out when it is full, and with the thread's log of launches, as an XPU_RECORD_CALLS. Calls in
 * progress when the recording begins, or when it ends and the program goes on, are not in it; those that
 * their thread's or their process's end cuts off are counted.
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
	CALL_UNKNOWN,			/* by the rules neither of both: taken for one that can take time */
	CALL_TRIFLE,
	CALL_TAKES_TIME,
};

/*
 * Weighs a function by its name. A trifle neither puts work on a device, nor waits, nor makes, frees or loads
 * anything: it asks for something that is known, or sets a thread's state.
 */
enum call_weight calls__weigh(const char *name);

/**
 * calls__want - start or stop recording calls
 * @used: whether others need the callback of the driver's function, and have enabled it
 *
 * Callbacks stay enabled when calls are no longer wanted. As one is disabled, a thread may be inside of
 * its call, and CUPTI 13.0 gives all later calls of that thread the correlation id of this one, so that
 * its launches cannot be told apart. To disable a whole domain does no harm: see calls__disabled().
 *
 * By the shim's thread, or under capture__lock(). Return: whether CUPTI knows any call that is wanted.
 */
bool calls__want(const struct cupti *c, CUpti_SubscriberHandle subscriber, enum calls_wanted wanted,
		 bool (*used)(uint32_t cbid, const char *name));

/* CUPTI's domains of calls are disabled, as a whole. */
void calls__disabled(void);

/* Calls that the calling thread makes from here on are not the program's: it is the shim's. */
void calls__leave_me_out(void);

/* How many calls were cut off, or could not be logged. */
uint64_t calls__nr_bad(void);
void calls__count_bad(void);

/* Defines the names of all functions that were called so far again. On any thread. */
void calls__repeat_definitions(void);

/* In a forked child. */
void calls__forked(void);

/* ---- the log of one thread ---- */

struct call_log;

/* Return: its bytes, for which the caller maps zero pages. */
size_t call_log__bytes(void);

/* Sets @l up; called by the thread itself. */
void call_log__start(struct call_log *l);

/**
 * call_log__begin, call_log__end - a call begins and ends
 * @l: the calling thread's
 * @cbid: as in struct xpu_call
 * @frame: an address in the stack frame of CUPTI's callback
 *
 * In signal handlers, too.
 */
void call_log__begin(struct call_log *l, uint16_t cbid, const CUpti_CallbackData *d, const void *frame);
void call_log__end(struct call_log *l, uint16_t cbid, const CUpti_CallbackData *d);

/* Whether a call is to be logged: else call_log__begin() need not be called. */
bool calls__are_wanted(void);

/* Return: how many calls were logged so far. */
uint64_t call_log__nr(const struct call_log *l);

/* Sends the calls that are logged, unless another thread is about to. On any thread. */
void call_log__send(struct call_log *l);

/* Empties the log without sending it, because nobody listened. On any thread. */
void call_log__discard(struct call_log *l);

/* Whether the thread is in a call that is being recorded. */
bool call_log__is_open(const struct call_log *l);

#endif /* XPU_PRELOAD_CALLS_H */
