/* SPDX-License-Identifier: MIT */
/*
 * calls.h - calls of CUDA's API, out of CUPTI's records of them
 *
 * CUPTI measures them where it is told to, which costs the program some 0.3 us a call; so it is not
 * unless somebody wants them. A run of one thread's calls becomes one record: 16 bytes a call.
 */
#ifndef XPU_PRELOAD_CALLS_H
#define XPU_PRELOAD_CALLS_H

#include <stdbool.h>

#include "base/cupti_lib.h"

/**
 * calls__enable - let CUPTI measure them, or no longer
 * @what: on failure, the name of the CUPTI function that failed
 *
 * Return: CUPTI_SUCCESS, or what that function returned; nothing is left enabled then.
 */
CUptiResult calls__enable(const struct cupti *c, bool on, const char **what);

/* The calling thread is the shim's: what it calls is none of the program's business. */
void calls__leave_me_out(void);

/* Packs one. Under the activity lock, as the next. */
void calls__pack(const struct cupti *c, const CUpti_ActivityAPI *call);

/* Hands what was packed to wire.c. */
void calls__flush(void);

#endif /* XPU_PRELOAD_CALLS_H */
