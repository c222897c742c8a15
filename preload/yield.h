/* SPDX-License-Identifier: MIT */
/* yield.h - CUPTI belongs to the program, if it wants it: see yield.c */
#ifndef XPU_PRELOAD_YIELD_H
#define XPU_PRELOAD_YIELD_H

#include <stdbool.h>

#include <cupti.h>

/* Whether the program collects activity records, or is in a call that says what it wants. */
bool yield__is_taken(void);

/* Gives the program the callbacks back that it had registered; ours are no longer needed. */
void yield__restore(void);

/* The clock that the program has registered, or NULL. */
CUpti_TimestampCallbackFunc yield__clock(void);

#endif /* XPU_PRELOAD_YIELD_H */
