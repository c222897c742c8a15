/* SPDX-License-Identifier: MIT */
/*
 * calls.h - calls of the GPU's API, and how long each takes
 *
 * The vendor's callbacks run at the entry and exit of a call, on the calling thread, which logs the
 * call in its own memory. Most calls of a program such as PyTorch query a thread's state and return
 * at once; a callback takes several times as long as such a call. So these calls have callbacks
 * only if all calls are wanted. A driver call inside a runtime call is part of that call, and is
 * not recorded separately.
 *
 * A log is sent as an XPU_RECORD_CALLS when it is full, and with the thread's log of launches.
 * Calls in progress when the recording begins are not recorded, and neither are calls in progress
 * when the recording ends before the program. Calls that are cut off by the end of a thread or of
 * the process are counted.
 */
#ifndef XPU_PRELOAD_CALLS_H
#define XPU_PRELOAD_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum calls_wanted {
	CALLS_NONE,
	CALLS_TIMED,			/* all except trivial calls: see calls__weigh() */
	CALLS_ALL,
};

enum call_weight {
	CALL_UNKNOWN,			/* no rule matches; treated like CALL_TAKES_TIME */
	CALL_TRIFLE,
	CALL_TAKES_TIME,
};

/*
 * Judges a function by its name. A trivial call only reads a known value or sets a thread's state:
 * it puts no work on a device, does not wait, and makes, frees or loads nothing.
 */
enum call_weight calls__weigh(const char *name);

/* Whether the calls of the function @name are wanted. */
bool calls__is_wanted(enum calls_wanted wanted, const char *name);

/*
 * Return: the name of the function @call, numbered as in struct xpu_call, or NULL. Sets @domain to
 * the function's domain, and @number to its number in that domain. Called on any thread.
 */
typedef const char *(*calls_name_fn)(uint16_t call, uint32_t *domain, uint32_t *number);

/*
 * Start and stop recording calls of @api. Called by the shim's thread, or by another thread under
 * capture__lock(); also in a forked child.
 */
void calls__open(unsigned int api, calls_name_fn name);
void calls__close(unsigned int api);

/* Marks the calling thread as a thread of the shim: its calls are not recorded. */
void calls__leave_me_out(void);

/* Return: how many calls were cut off, or could not be logged. */
uint64_t calls__nr_bad(void);
void calls__count_bad(void);

/* Sends again the names of all functions that were called so far. May be called on any thread. */
void calls__repeat_definitions(void);

/* ---- the log of one thread ---- */

struct call_log;

/* Return: the size of a log in bytes. The caller maps zeroed pages for the log. */
size_t call_log__bytes(void);

/* Initializes @l; called by the thread itself. */
void call_log__start(struct call_log *l);

/**
 * call_log__begin, call_log__end - note that a call begins and ends
 * @l: the calling thread's log
 * @cbid: as in struct xpu_call
 * @id: the call's correlation id
 * @frame: an address in the stack frame of the vendor's callback
 *
 * May be called in signal handlers, too.
 */
void call_log__begin(struct call_log *l, uint16_t cbid, uint32_t id, const void *frame);
void call_log__end(struct call_log *l, uint16_t cbid, uint32_t id);

/* Whether call_log__begin() would log a call. */
bool calls__are_wanted(void);

/* Return: how many calls were logged so far. */
uint64_t call_log__nr(const struct call_log *l);

/*
 * Sends the logged calls, unless another thread is about to send them. May be called on any thread.
 */
void call_log__send(struct call_log *l);

/* Empties the log without sending it, because nobody listened. May be called on any thread. */
void call_log__discard(struct call_log *l);

/* Whether the thread is in a call that is being recorded. */
bool call_log__is_open(const struct call_log *l);

#endif /* XPU_PRELOAD_CALLS_H */
