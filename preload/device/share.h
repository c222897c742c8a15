/* SPDX-License-Identifier: MIT */
/* share.h - serves a profiler in the program beside the shim: see share.c and doc/beside.md */
#ifndef XPU_PRELOAD_SHARE_H
#define XPU_PRELOAD_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cupti_lib.h"

/* Whether the user asks for it, by XPU_CUPTI_ENV; and nothing stands against it. */
bool share__is_asked_for(void);
bool share__is_wanted(void);

/* The shim has subscribed share__callback() and records: from here on the program is served. */
void share__start(const struct cupti *c, CUpti_SubscriberHandle subscriber);

/*
 * Return: whether the shim may let go of CUPTI, as the program's profiler has nothing left there; the
 * program's calls then wait for share__stop(), which comes behind the last record.
 */
bool share__may_stop(void);
void share__stop(void);

/* CUDA is unusable from here on, as the process ends, or is a forked child. */
void share__end(void);
void share__forked(void);

/* Notes that the shim has enabled a callback. */
void share__own_callback(uint32_t domain, uint32_t cbid);

void CUPTIAPI share__callback(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
			      const void *data);

/* Whether the program's records come through the shim. */
bool share__serves(void);

/*
 * A call of the program begins, and ends. Waits while the shim gives CUPTI back. Return: whether the
 * program is served, until share__ends(). False at once if nobody has asked for it.
 */
bool share__begins(void);
void share__ends(void);

CUptiResult share__subscribe(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback,
			     void *userdata);

/* Gives the program the copies that it has not got, on a thread that records nothing. */
void share__deliver(void);

/* Waits a little until the program was asked for a buffer, if a kind was enabled. */
void share__await_buffer(void);

/*
 * Makes the shim let go of CUPTI for a call that it cannot serve, and the program's subscription and
 * kinds real. Return: false if the program is not served.
 */
bool share__give_back(const char *function);

/* Gives CUPTI back for a wrapper that knows no types: see share_others.c. */
void share__cannot_serve(const char *function);

#endif /* XPU_PRELOAD_SHARE_H */
