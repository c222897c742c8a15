/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * live.h - memory that is there when the next file of a recording begins
 *
 * Events of memory are passed on in the order of their numbers, so that each file has a row of them without
 * gaps, and the next file the row behind it. A file begins with all that is live then, as CARRIED events that
 * have the numbers before: it shows who holds memory as if it had been recorded from the beginning.
 */
#ifndef MERGE_LIVE_H
#define MERGE_LIVE_H

#include <stdint.h>

#include "stream/part.h"
#include "xpu_record.h"

#define LIVE_MAX	(8u << 20)	/* pieces of memory, of all processes */

struct carry;
struct live;

/* @c: counts events, and knows the processes. Return: NULL without memory. */
struct live *live__new(struct carry *c);
void live__free(struct live *l);

/* Takes events, and writes those whose turn it is. Return: 0 or -ENOMEM. */
int live__allocs(struct live *l, struct part *p, const struct xpu_record_allocs *rec);

/* A process calls a GPU by that number. Return: 0 or -ENOMEM. */
int live__device(struct live *l, uint32_t proc_id, const struct xpu_record_device *rec);

/* Writes what waits for its record to become longer. */
void live__flush(struct live *l, struct part *p);

/* Tells of the threads that have made what is live: see carry__keep_thread(). Return: 0 or -ENOMEM. */
int live__keep_threads(struct live *l);

/* A file was begun: writes what is live to it. Return: 0 or -ENOMEM. */
int live__next(struct live *l, struct part *p, uint64_t time_ns);

/* Writes what live__next() would, and the events that wait, and changes nothing. Return: 0 or -ENOMEM. */
int live__save(struct live *l, struct part *p, uint64_t time_ns);

/* Takes events that another program has saved, or has passed on. Return: 0 or -ENOMEM. */
int live__recall(struct live *l, const struct xpu_record_allocs *rec);

/* Lets go of all, at the end. Return: 0 or -ENOMEM. */
int live__finish(struct live *l, struct part *p);

/* Return: how many pieces were not kept, because of LIVE_MAX. */
uint64_t live__nr_beyond(const struct live *l);

#endif /* MERGE_LIVE_H */
