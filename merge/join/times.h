/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * times.h - keeps when the work of each sum ran, for picking a time range in the html page
 *
 *	times__sum(&t, ...);		every piece of work, with its aggregate
 *	times__thread(&t, ...);		every interval of a thread: on CPU, off CPU, in GPU waits
 *	times__finish(&t, ...);		the busy times of all devices: completes t.sums and t.rows
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

/* the group of aggregates that have this kind and GPU and are too small for times of their own */
#define TIMES_GROUP(kind, gpu)							\
	((gpu) == NO_INDEX || ((gpu) + 2) * NR_LEAF_KINDS > BINS_GROUPS ?	\
	 (kind) : ((gpu) + 1) * NR_LEAF_KINDS + (kind))

/* a row of the overview: a device that was busy, or a thread in a state */
struct times_row {
	bool device;
	uint32_t gpu;			/* index of the GPU; NO_INDEX: the row is for a thread */
	uint32_t thread;		/* NO_INDEX: unknown, or the row is for a device */
	enum leaf_kind kind;		/* state of a thread: LEAF_CPU, LEAF_OFF_CPU,
					 * LEAF_GPU_WAIT */
	const char *comm;		/* latest name of a thread; interned */
};

/* an aggregate that was split off another aggregate, and shares its times */
struct times_part {
	uint32_t whole, part;		/* indices in sums.aggregates */
};

struct times {
	bool wanted;
	struct bins sums;		/* sums by index in sums.aggregates, in groups by
					 * TIMES_GROUP(); the sum of a times_part.whole includes the
					 * sums of all its parts */
	struct bins rows;		/* rows by index in row_list; each state has a group for the
					 * threads without a row of their own */
	ARRAY(struct times_row) row_list;
	ARRAY(struct times_part) parts;
	struct idmap by_row;
};

/* Prepares @t. @max: maximum number of sums; 0: as many as a page can have */
void times__init(struct times *t, const struct bins_keys *aggregates, size_t max);
void times__exit(struct times *t);

/*
 * These functions return 0 or -ENOMEM. If @from_ns is 0, the time is unknown, and they add nothing.
 */
int times__sum(struct times *t, uint32_t aggregate, uint64_t from_ns, uint64_t to_ns,
	       const struct bin_value *value);
int times__thread(struct times *t, uint32_t thread, const char *comm, enum leaf_kind kind,
		  uint64_t from_ns, uint64_t to_ns, uint64_t ns);
/* Completes @t. @busy: the busy times of @nr GPUs, after busy__finish() */
int times__finish(struct times *t, const struct busy *busy, size_t nr);

/* Adds all times of @from. @first: new index of the first aggregate of @from */
int times__absorb(struct times *t, const struct times *from, struct remap *r, uint32_t first);

#endif /* MERGE_TIMES_H */
