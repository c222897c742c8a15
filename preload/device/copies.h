/* SPDX-License-Identifier: MIT */
/* copies.h - copies of CUPTI's records for a profiler in the program: see share.c */
#ifndef XPU_PRELOAD_COPIES_H
#define XPU_PRELOAD_COPIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cupti_lib.h"

/* Notes the correlation id of a call that begins. */
void copies__note_id(uint32_t id);

/* Whether the shim knows where records of @kind have their times. */
bool copies__know(CUpti_ActivityKind kind);

/* The program enables or disables @kind; the kinds that it has enabled now, a bit for each. */
void copies__enable(CUpti_ActivityKind kind);
void copies__disable(CUpti_ActivityKind kind);
uint64_t copies__kinds(void);

/* Reads the program's clock beside the shim's, to tell later what time it is by the program's. */
void copies__read_clocks(void);

/* Return: the time by the program's clock. */
uint64_t copies__now(void);

/* Whether the program has ever enabled a kind; whether it has not got all that was kept for it. */
bool copies__are_wanted(void);
bool copies__are_waiting(void);

/* In a forked child: what was kept is the parent's. */
void copies__forked(void);

/*
 * Of the packer, under its lock: keeps a copy if the program is to have it; all are kept. @bytes is 0
 * if the record's size is not known: then it is counted as dropped.
 */
void copies__keep(const CUpti_Activity *record, size_t bytes);
void copies__kept(void);

/* Whether a kind was enabled, and the program was not asked for a buffer yet. */
bool copies__want_buffer(void);

/*
 * Calls the program with what was kept, under no lock. With @flush, waits for other threads that do
 * so, and the program gets the buffer that is not full, too; flush_later() is for where it cannot be
 * called: the next one to deliver flushes.
 */
void copies__deliver(bool flush);
void copies__flush_later(void);

/* Return: how many records the program lacks, since the last call. */
uint64_t copies__take_nr_dropped(void);

#endif /* XPU_PRELOAD_COPIES_H */
