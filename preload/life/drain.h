/* SPDX-License-Identifier: MIT */
/* drain.h - sends what threads, Python and vendors have left for the shim's thread */
#ifndef XPU_PRELOAD_DRAIN_H
#define XPU_PRELOAD_DRAIN_H

#include <stdbool.h>

struct vendor;

/* Adds a vendor; @vendor must stay valid. Return: whether there was room for the vendor. */
bool drain__add(const struct vendor *vendor);

/*
 * Return: the vendors that were added so far. A vendor's place in the array never changes. @nr: set
 * to the number of vendors. May be called on any thread.
 */
#define MAX_VENDORS	8
const struct vendor *const *drain__vendors(unsigned int *nr);

/**
 * life__drain - send everything recorded so far, device work after its launches
 * @last: recording stops for now. The records say so, and every definition is sent again
 *
 * May be called on any thread, except inside a launch.
 */
void life__drain(bool last);

/* Does the work of life__drain(false), while other threads may be inside a vendor's library. */
void life__send(void);

/* Sends every definition again, for a new listener. */
void life__repeat_definitions(void);

/* Return: a number that changes as device work arrives and is packed. */
unsigned int drain__progress(void);

#endif /* XPU_PRELOAD_DRAIN_H */
