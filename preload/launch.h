/* SPDX-License-Identifier: MIT */
/* launch.h - what happens on the launching thread */
#ifndef XPU_PRELOAD_LAUNCH_H
#define XPU_PRELOAD_LAUNCH_H

#include <stdbool.h>
#include <stdint.h>

#include <cupti.h>

struct cupti;

/* Set before the callbacks are enabled. */
extern const struct cupti *launch__cupti;

/*
 * CUPTI's callback: for the launch ids of the driver domain, inside the application's API call, and
 * for graph nodes and contexts of the resource domain.
 */
void launch__callback(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
		      const void *data);

/* Whether the driver API call @name puts work on a device that CUPTI makes a record of. */
bool launch__is_launch(const char *name);

/* Starts and stops tagging, at once for every thread. */
void launch__enable(bool on);

/* Sends what threads have logged. Return: how many launches were tagged so far, none of which is
 * still in a log, and by how many threads. */
uint64_t launch__send(uint64_t *nr_threads);

/* Tells of every call path again: somebody new is listening. */
void launch__repeat_definitions(void);

/* Forgets what threads have logged while nobody listened; before launch__enable(true). */
void launch__discard(void);

/* In a forked child: none of the parent's threads exist, and CUPTI must not be called. */
void launch__forked(void);

#endif /* XPU_PRELOAD_LAUNCH_H */
