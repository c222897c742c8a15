/* SPDX-License-Identifier: MIT */
/* in_range.h - functions of ranges.c, for open NVTX ranges, that launch.c calls */
#ifndef XPU_PRELOAD_IN_RANGE_H
#define XPU_PRELOAD_IN_RANGE_H

#include <stdbool.h>

/* This thread has got a log: moves the waiting range events into it. */
void ranges__have_log(void);

/*
 * Makes this thread's log agree with its slot: another thread has ended a range, or events wait for
 * room in the log. Return: whether all events are in the log now.
 */
bool ranges__sync(void);

/* Sends the definition of every path of ranges again. On any thread. */
void ranges__repeat(void);

#endif /* XPU_PRELOAD_IN_RANGE_H */
