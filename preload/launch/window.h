/* SPDX-License-Identifier: MIT */
/*
 * window.h - which launches are in a window of the recording, and whose device work is
 *
 * With --capture launches are recorded in windows alone. A launch is in one if its callback finds the
 * gate open (launch__enable()). CUPTI learns of a window's beginning and end a little earlier and later
 * than the gate, so it may make records of device work whose launch was not recorded. Such a launch is
 * known by its correlation id: it is lower than that of the window's first launch, or its callback, which
 * found the gate closed, has noted it here. That relies on CUPTI giving ids in the order in which calls
 * begin.
 */
#ifndef XPU_PRELOAD_WINDOW_H
#define XPU_PRELOAD_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

/* Whether there are windows at all; without, everything is recorded. */
extern bool window__are_used;

/* A window begins: the next launch that is recorded is its first. The gate is closed. */
void window__begin(void);

/* The first launch of a thread in the present window. Safe in signal handlers, as the next. */
void window__first(uint32_t correlation_id);

/* A launch that is not recorded. */
void window__leave_out(uint32_t correlation_id);

/* The present window has ended with the launch @last; the gate is closed. *@first: 0 if there was none. */
void window__end(uint32_t last, uint32_t *first);

/* CUPTI has given back all device work: forgets the windows that have ended. The gate is closed. */
void window__forget(void);

/* Return: whether the launch that caused some device work is in a window. */
bool window__has(uint32_t correlation_id);

#endif /* XPU_PRELOAD_WINDOW_H */
