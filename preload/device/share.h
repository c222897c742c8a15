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

/*
 * The shim has subscribed share__callback() and records; it lets go of that, with the program not
 * served any more; CUDA is unusable from here on: the process ends, or is a child.
 */
void share__start(const struct cupti *c, CUpti_SubscriberHandle subscriber);
void share__stop(void);
void share__end(void);

/* Notes that the shim has enabled a callback. */
void share__own_callback(uint32_t domain, uint32_t cbid);

void CUPTIAPI share__callback(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
			      const void *data);

/* Whether calls of the program are served; whether the program's profiler needs that. */
bool share__serves(void);
bool share__is_used(void);

CUptiResult share__subscribe(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback,
			     void *userdata);

/*
 * Makes the shim let go of CUPTI for a call that it cannot serve, and the program's subscription and
 * kinds real. Return: false if the program is not served.
 */
bool share__give_back(const char *function);

/* Gives CUPTI back for a wrapper that knows no types: see share_others.c. */
void share__cannot_serve(const char *function);

#endif /* XPU_PRELOAD_SHARE_H */
