/* SPDX-License-Identifier: MIT */
/*
 * calls.h - calls of CUDA's API, from CUPTI's records
 *
 * If CUPTI measures calls, that costs the program some 0.3 us a call; so it does only if a listener
 * asks for them. Most calls of a program such as PyTorch ask for a thread's state and return at once: unless
 * all are wanted, CUPTI is told not to measure those. A run of one thread's calls becomes one record: 16
 * bytes a call.
 */
#ifndef XPU_PRELOAD_CALLS_H
#define XPU_PRELOAD_CALLS_H

#include <stdbool.h>

#include "base/cupti_lib.h"

enum calls_wanted {
	CALLS_NONE,
	CALLS_TIMED,			/* all but trifles: see calls__is_trifle() */
	CALLS_ALL,
};

/*
 * Whether a function, by its name, neither puts work on a device, nor waits, nor makes, frees or loads
 * anything: it asks for something that is known, or sets a thread's state. See calls.c for the rule.
 */
bool calls__is_trifle(const char *name);

/**
 * calls__enable - start or stop CUPTI's measurement of calls
 * @what: on failure, the name of the CUPTI function that failed
 *
 * Return: CUPTI_SUCCESS, or what that function returned; nothing is left enabled then.
 */
CUptiResult calls__enable(const struct cupti *c, enum calls_wanted wanted, const char **what);

/* Excludes the calling thread, which is the shim's: its calls are not the program's. */
void calls__leave_me_out(void);

/* Packs a call. To be called under the activity lock, as the next. */
void calls__pack(const struct cupti *c, const CUpti_ActivityAPI *call);

/* Hands the packed calls to wire.c. */
void calls__flush(void);

#endif /* XPU_PRELOAD_CALLS_H */
