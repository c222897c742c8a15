/* SPDX-License-Identifier: MIT */
/*
 * in_range.h - what launch.c asks of the NVTX ranges that are open, which are those of ranges.c
 */
#ifndef XPU_PRELOAD_IN_RANGE_H
#define XPU_PRELOAD_IN_RANGE_H

#include <stdbool.h>

/* This thread has got a log: what waited for it goes there. */
void ranges__have_log(void);

/*
 * This thread's log does not agree with its slot: another thread has ended a range, or events wait
 * for room. Return: whether all events are in the log now.
 */
bool ranges__sync(void);

/* Tells of every path of ranges again. On any thread. */
void ranges__repeat(void);

#endif /* XPU_PRELOAD_IN_RANGE_H */
