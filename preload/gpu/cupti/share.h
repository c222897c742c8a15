/* SPDX-License-Identifier: MIT */
/* share.h - serves a profiler in the program next to the shim: see share.c and doc/beside.md */
#ifndef XPU_PRELOAD_SHARE_H
#define XPU_PRELOAD_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu/cupti/cupti_lib.h"

/* Whether the user asks for sharing, with XPU_CUPTI_ENV; and whether sharing is also possible. */
bool share__is_asked_for(void);
bool share__is_wanted(void);

/* Begins to serve the program. The shim has subscribed share__callback(), and is recording. */
void share__start(const struct cupti *c, CUpti_SubscriberHandle subscriber);

/*
 * Return: whether the shim may let go of CUPTI, because the program's profiler has nothing left in
 * CUPTI. If so, the program's calls wait until share__stop(), which is called after the last
 * record.
 */
bool share__may_stop(void);
void share__stop(void);

/* End sharing, because CUDA becomes unusable: the process ends, or is a forked child. */
void share__end(void);
void share__forked(void);

/* Notes that the shim has enabled a callback. */
void share__own_callback(uint32_t domain, uint32_t cbid);

void CUPTIAPI share__callback(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
			      const void *data);

/* Whether the program gets its records through the shim. */
bool share__serves(void);

/*
 * These functions are called when a call of the program begins and ends. share__begins() waits
 * while the shim gives CUPTI back. Return: whether the shim serves the program until share__ends().
 * If sharing is off, returns false at once.
 */
bool share__begins(void);
void share__ends(void);

CUptiResult share__subscribe(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback,
			     void *userdata);

/* Lets a thread that records nothing give the program the copies that wait for delivery. */
void share__deliver(void);

/* If a kind was enabled, waits a little until the program has been asked for a buffer. */
void share__await_buffer(void);

/*
 * Makes the shim let go of CUPTI, because it cannot serve a call of the program, and registers the
 * program's subscription and kinds of activity records with CUPTI. Return: false if the program is
 * not served.
 */
bool share__give_back(const char *function);

/* Does the work of share__give_back() for share_others.c, whose functions have no types. */
void share__cannot_serve(const char *function);

#endif /* XPU_PRELOAD_SHARE_H */
