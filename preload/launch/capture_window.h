/* SPDX-License-Identifier: MIT */
/*
 * capture_window.h - tells which launches and which device work are in a window of the recording
 *
 * With --capture, launches are recorded only in windows. A launch is in a window if its callback
 * finds the gate open (launcher__enable()). CUPTI records device work a little longer on both
 * sides, so launches in a window are marked here by their correlation ids, and other device work is
 * dropped.
 */
#ifndef XPU_PRELOAD_CAPTURE_WINDOW_H
#define XPU_PRELOAD_CAPTURE_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hot.h"
#include "xpu_record.h"

/*
 * Number of bytes for the marks of an API. Ids that are equal modulo this number share a byte; 255
 * such ids in a row have different marks.
 */
#define CAPTURE_MARKS	(1u << 22)

/* Whether windows are used; if not, everything is recorded. */
extern bool capture_window__are_used HIDDEN;
/*
 * The marks of each API; NULL before capture_window__start(), which returns false if memory is
 * short.
 */
extern uint8_t *capture_window__marks[XPU_APIS] HIDDEN;
bool capture_window__start(unsigned int api);

static inline uint8_t capture_window__mark_of(uint32_t id)
{
	return 1 + id / CAPTURE_MARKS % 255;
}

/* Marks a recorded launch of @api. Safe in signal handlers. */
static inline void capture_window__mark(unsigned int api, uint32_t id)
{
	__atomic_store_n(&capture_window__marks[api][id % CAPTURE_MARKS],
			 capture_window__mark_of(id), __ATOMIC_RELAXED);
}

/* Return: whether device work of launch @id of @api is recorded. */
static inline bool capture_window__has(unsigned int api, uint32_t id)
{
	return !capture_window__are_used || !id ||
	       __atomic_load_n(&capture_window__marks[api][id % CAPTURE_MARKS], __ATOMIC_RELAXED) ==
		       capture_window__mark_of(id);
}

#endif /* XPU_PRELOAD_CAPTURE_WINDOW_H */
