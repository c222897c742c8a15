/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * times.h - when the work of each sum was: for the html page, in which a stretch of time can be picked
 *
 *	times__sum(&t, ...);		every piece of work, with its aggregate
 *	times__thread(&t, ...);		every time of a thread: on the CPU, off it, waiting for a device
 *	times__finish(&t, ...);		when all devices were busy; then t.sums and t.rows are complete
 *
 * Unless t.wanted is set, the functions do nothing.
 */
#ifndef MERGE_TIMES_H
#define MERGE_TIMES_H

#include <stdbool.h>
#include <stdint.h>

#include "model/bins.h"
#include "model/busy.h"
#include "model/leaf.h"
#include "model/remap.h"
#include "util.h"

/* The group of times of an aggregate that is too small to have its own: by kind of work, and GPU. */
#define TIMES_GROUP(kind, gpu)	((gpu) == NO_INDEX || ((gpu) + 2) * NR_LEAF_KINDS > BINS_GROUPS ? (kind) : \
				 ((gpu) + 1) * NR_LEAF_KINDS + (kind))

/* A line of the overview: a device that was busy, or a thread in a state. */
struct times_row {
	bool device;
	uint32_t gpu;			/* index; NO_INDEX: a thread's */
	uint32_t thread;		/* NO_INDEX: unknown, or a device's */
	enum leaf_kind kind;		/* of a thread: LEAF_CPU, LEAF_OFF_CPU, LEAF_GPU_WAIT */
	const char *comm;		/* of a thread, the latest one; interned */
};

/* An aggregate that was split off another one, whose times it has. */
struct times_part {
	uint32_t whole, part;		/* indices in sums.aggregates */
};

struct times {
	bool wanted;
	struct bins sums;		/* by index in sums.aggregates; sums of parts are with the whole; the
					 * groups are those of TIMES_GROUP() */
	struct bins rows;		/* by index in row_list; a group has the threads of a kind */
	ARRAY(struct times_row) row_list;
	ARRAY(struct times_part) parts;
	struct idmap by_row;
};

/* @max: most sums; 0: as many as a page can have */
void times__init(struct times *t, const struct bins_keys *aggregates, size_t max);
void times__exit(struct times *t);

/* All return 0 or -ENOMEM. @from_ns may be 0: unknown, and then there is no time to add to. */
int times__sum(struct times *t, uint32_t aggregate, uint64_t from_ns, uint64_t to_ns,
	       const struct bin_value *value);
int times__thread(struct times *t, uint32_t thread, const char *comm, enum leaf_kind kind,
		  uint64_t from_ns, uint64_t to_ns, uint64_t ns);
/* @busy: of @nr GPUs, finished */
int times__finish(struct times *t, const struct busy *busy, size_t nr);

/* Adds all of @from, whose aggregates have come to @first and on. */
int times__absorb(struct times *t, const struct times *from, struct remap *r, uint32_t first);

#endif /* MERGE_TIMES_H */
