/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * clock.h - the current time, in ns
 *
 * BPF programs and perf events use CLOCK_MONOTONIC without time namespaces, and so do records. In a
 * time namespace the recorder's own clock is ahead of that.
 */
#ifndef XPU_LOADER_CLOCK_H
#define XPU_LOADER_CLOCK_H

#include "now.h"

/* How far CLOCK_MONOTONIC is ahead in the recorder's time namespace. */
extern int64_t clock__ahead_ns;

/* Return: CLOCK_MONOTONIC without time namespaces, which all records use. */
static inline uint64_t clock__now(void)
{
	return now_ns(CLOCK_MONOTONIC) - clock__ahead_ns;
}

#endif /* XPU_LOADER_CLOCK_H */
