/* SPDX-License-Identifier: MIT */
/* share.h - serves a profiler in the program beside the shim: see share.c and doc/beside.md */
#ifndef XPU_PRELOAD_SHARE_H
#define XPU_PRELOAD_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cupti_lib.h"

/* Whether the user asks for it: XPUSHIM_CUPTI_SHARE=on. */
bool share__is_wanted(void);

/* The shim has subscribed share__callback(), or lets go of it. */
void share__start(const struct cupti *c, CUpti_SubscriberHandle subscriber);
void share__stop(void);

/* Notes that the shim has enabled a callback. */
void share__own_callback(uint32_t domain, uint32_t cbid);

void CUPTIAPI share__callback(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
			      const void *data);

/* Whether calls of the program are served by the functions below; whether it has made any. */
bool share__serves(void);
bool share__is_used(void);

CUptiResult share__subscribe(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback,
			     void *userdata);
void share__register(CUpti_BuffersCallbackRequestFunc request,
		     CUpti_BuffersCallbackCompleteFunc complete);
void share__register_clock(CUpti_TimestampCallbackFunc clock);
CUptiResult share__enable(CUpti_ActivityKind kind);
CUptiResult share__disable(CUpti_ActivityKind kind);

/* Of the packer, under its lock: before its records, for each record, and behind them. */
void share__begin_records(void);
void share__record(const CUpti_Activity *record, size_t bytes);
void share__end_records(void);

#endif /* XPU_PRELOAD_SHARE_H */
