/* SPDX-License-Identifier: MIT */
/*
 * capture.h - the windows of a recording that the program itself opens and closes
 *
 * XPU_CAPTURE_ENV names what opens them: cudaProfilerStart(), an NVTX range, a number of launches. The shim
 * then subscribes to CUPTI when the process first uses CUDA, and enables no more than tells it of that; a
 * window is opened and closed on the thread that does so, before its call goes on. So launches that come
 * after it, on any thread, are in or out by the program's own order.
 */
#ifndef XPU_PRELOAD_CAPTURE_H
#define XPU_PRELOAD_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>

#include <cupti.h>

struct cupti;
struct range;

/*
 * Reads XPU_CAPTURE_ENV. Only the first call does anything. Return: a message for the user that says
 * why it cannot be followed, so that everything is recorded; or NULL.
 */
const char *capture__init(void);

/* Whether there are windows. */
bool capture__is_armed(void);

/*
 * Excludes threads that open and close windows, also while the shim comes and goes. Signals are blocked
 * meanwhile.
 */
void capture__lock(void);
void capture__unlock(void);

/*
 * Enables the callbacks by which windows are noticed, at a new subscription; it has
 * capture__callback(), which calls @inner. Under the lock. Return: whether the window is open now: the
 * caller opens it.
 */
bool capture__watch(const struct cupti *c, CUpti_SubscriberHandle subscriber, CUpti_CallbackFunc inner);

/* Whether the callbacks of launches are needed outside of windows, too. */
bool capture__counts_launches(void);

void CUPTIAPI capture__callback(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
				const void *data);

/*
 * NVTX ranges, of the calling thread and of the process. capture__pushed() and capture__started() come
 * before the range is recorded, the others after.
 */
bool capture__watches_ranges(void);
void capture__pushed(struct range *range);
void capture__popped(const void *domain);
bool capture__starts(struct range *range);	/* capture__started() must follow, if true */
void capture__started(uint64_t id);
void capture__ended(uint64_t id);

/* In a forked child: it may use CUDA, if its parent did not ... */
void capture__has_forked(void);
/* ... and if the parent did, it may not. */
void capture__forked(void);

#endif /* XPU_PRELOAD_CAPTURE_H */
