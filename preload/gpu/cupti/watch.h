/* SPDX-License-Identifier: MIT */
/* watch.h - selects the driver and runtime functions for which CUPTI calls the shim */
#ifndef XPU_PRELOAD_CUPTI_WATCH_H
#define XPU_PRELOAD_CUPTI_WATCH_H

#include <stdbool.h>

#include "gpu/cupti/cupti_lib.h"
#include "launch/calls.h"

/* Sets the subscription for the functions below. */
void watch__start(const struct cupti *c, CUpti_SubscriberHandle subscriber);

/*
 * Enables the callbacks of every call that launches or waits, and of graphs, modules and contexts.
 * Return: false if CUPTI knows no launch.
 */
bool watch__launches(void);

/*
 * Switches on or off the callbacks of launches and graph nodes, which are needed only while
 * launches are recorded. @all: also the callbacks of calls that wait
 */
void watch__switch(bool on, bool all);

/* Enable the callbacks of calls that make or free memory, and of modules and contexts. */
void watch__memory(void);
void watch__modules(void);

/*
 * Starts or stops recording calls of the API, see calls.h.
 *
 * Callbacks stay enabled when calls are no longer wanted. If one is disabled while a thread is
 * inside its call, CUPTI 13.0 gives all later calls of that thread the same correlation id, so that
 * its launches cannot be told apart. Disabling a whole domain does no harm: see watch__nothing().
 * (Callbacks are used because CUPTI's activity records of calls cost more: even a suppressed record
 * costs half as much as one that is made.)
 *
 * Return: whether CUPTI knows any wanted call.
 */
bool watch__calls(enum calls_wanted wanted);

/*
 * Prepares callback__count_windows(), which passes calls on to @inner. If calls open and close
 * windows, enables the callbacks of these calls.
 */
void watch__profiler(CUpti_CallbackFunc inner);

/*
 * Disables the callbacks, well before cuptiUnsubscribe(): CUPTI frees a subscriber at once, and a
 * thread that was preempted just before its callback would use the freed memory (seen with 13.0: it
 * jumped to an invalid address). activity__stop() waits for such threads. Disables whole domains,
 * not single callbacks: watch__calls() explains why.
 */
void watch__nothing(void);

#endif /* XPU_PRELOAD_CUPTI_WATCH_H */
