/* SPDX-License-Identifier: MIT */
/* callback.h - the functions that CUPTI calls inside the program's calls */
#ifndef XPU_PRELOAD_CUPTI_CALLBACK_H
#define XPU_PRELOAD_CUPTI_CALLBACK_H

#include <cupti.h>

struct cupti;

/* Set before the callbacks are enabled. */
extern const struct cupti *callback__cupti;

/*
 * Handles CUPTI's callbacks inside the application's launch calls (driver domain), and for graph
 * nodes and contexts (resource domain).
 */
void CUPTIAPI callback__call(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
			     const void *data);

/* Like callback__call(), for launches that are recorded only in windows: see capture_window.h. */
void CUPTIAPI callback__call_in_windows(void *userdata, CUpti_CallbackDomain domain,
					CUpti_CallbackId cbid, const void *data);

/* Does the same as callback__call() if kernels run one at a time: see stalls.h. */
void CUPTIAPI callback__call_in_turn(void *userdata, CUpti_CallbackDomain domain,
				     CUpti_CallbackId cbid, const void *data);

/*
 * Prepares callback__count_windows(), which opens and closes windows and passes other calls on to
 * @inner (see capture.h). @start and @stop: the numbers of the calls that open and close windows,
 * or 0 if unknown
 */
void callback__watch_windows(CUpti_CallbackFunc inner, CUpti_CallbackId start,
			     CUpti_CallbackId stop);
void CUPTIAPI callback__count_windows(void *userdata, CUpti_CallbackDomain domain,
				      CUpti_CallbackId cbid, const void *data);

#endif /* XPU_PRELOAD_CUPTI_CALLBACK_H */
