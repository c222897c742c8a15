/* SPDX-License-Identifier: MIT */
/* copies.h - copies of CUPTI's records for a profiler in the program: see share.c */
#ifndef XPU_PRELOAD_COPIES_H
#define XPU_PRELOAD_COPIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu/cupti/cupti_lib.h"

/* Notes the correlation id of a call that begins. */
void copies__note_id(uint32_t id);

/* Whether the shim knows the layout of records of @kind. */
bool copies__know(CUpti_ActivityKind kind);

/*
 * Record that the program enables or disables @kind. copies__kinds() returns a mask of the enabled
 * kinds.
 */
void copies__enable(CUpti_ActivityKind kind);
void copies__disable(CUpti_ActivityKind kind);
uint64_t copies__kinds(void);

/*
 * Reads the program's clock and the shim's clock at one instant, so that timestamps can be
 * converted to the program's clock later.
 */
void copies__read_clocks(void);

/* Return: the current time of the program's clock. */
uint64_t copies__now(void);

/* Whether the program has ever enabled a kind; and whether kept copies still wait for delivery. */
bool copies__are_wanted(void);
bool copies__are_waiting(void);

/* Drops the copies in a forked child: they were kept for the parent. */
void copies__forked(void);

/*
 * The packer calls these under its lock: copies__keep() copies a record if the program wants it,
 * and copies__kept() makes the copies ready for delivery. @bytes: 0 if the record's size is
 * unknown; the record then counts as dropped.
 */
void copies__keep(const CUpti_Activity *record, size_t bytes);
void copies__kept(void);

/* Whether a kind was enabled, but the program has not been asked for a buffer yet. */
bool copies__want_buffer(void);

/*
 * Delivers the kept copies to the program's callbacks, under no lock. With @flush, also waits for
 * other threads that deliver, and then delivers the buffer that is not full yet.
 * copies__flush_later() makes the next delivery flush, for callers that must not call the program.
 */
void copies__deliver(bool flush);
void copies__flush_later(void);

/* Return: how many records were dropped since the last call. */
uint64_t copies__take_nr_dropped(void);

#endif /* XPU_PRELOAD_COPIES_H */
