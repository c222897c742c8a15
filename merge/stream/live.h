/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * live.h - memory that is live when the next file of a recording begins
 *
 * Events of memory are passed on in the order of their numbers, so that each file has a sequence of
 * them without gaps, which the next file continues. A file begins with all memory that is live at
 * that time, as CARRIED events, whose numbers precede the file's own events. So each file shows who
 * holds memory, as if it had recorded the processes from their beginning.
 */
#ifndef MERGE_LIVE_H
#define MERGE_LIVE_H

#include <stdint.h>

#include "stream/outfile.h"
#include "xpu_record.h"

#define LIVE_MAX	(8u << 20)	/* most pieces of memory, in all processes together */

struct carry;
struct live;

/* Makes the struct. @c: has the processes and their counts. Return: NULL if memory is short. */
struct live *live__new(struct carry *c);
void live__free(struct live *l);

/* Takes events, and writes those whose turn it is. Return: 0 or -ENOMEM. */
int live__allocs(struct live *l, struct outfile *p, const struct xpu_record_allocs *rec);

/* Notes the number that a process uses for a GPU. Return: 0 or -ENOMEM. */
int live__device(struct live *l, uint32_t proc_id, const struct xpu_record_device *rec);

/* Writes the events that wait for a full record. */
void live__flush(struct live *l, struct outfile *p);

/* Calls carry__keep_thread() for the threads that made the live memory. Return: 0 or -ENOMEM. */
int live__keep_threads(struct live *l);

/* Writes the live memory to a file that was just begun. Return: 0 or -ENOMEM. */
int live__next(struct live *l, struct outfile *p, uint64_t time_ns);

/*
 * Writes the events that live__next() would write, and the waiting events, but changes nothing.
 * Return: 0 or -ENOMEM.
 */
int live__save(struct live *l, struct outfile *p, uint64_t time_ns);

/* Takes events that an earlier program saved or passed on. Return: 0 or -ENOMEM. */
int live__recall(struct live *l, const struct xpu_record_allocs *rec);

/* Called at the end: writes all waiting events. Return: 0 or -ENOMEM. */
int live__finish(struct live *l, struct outfile *p);

/* Return: how many pieces of memory were dropped, because of LIVE_MAX. */
uint64_t live__nr_beyond(const struct live *l);

#endif /* MERGE_LIVE_H */
