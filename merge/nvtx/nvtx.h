/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * nvtx.h - the state of the feature nvtx: which ranges were open at a launch, and how long they
 * lasted
 *
 * A launch has the number of the path of ranges that was open on its thread. The process itself
 * records this number at the launch, so no timestamps are compared. A sample, which Linux takes,
 * gets the path that was open on its thread at the sample's timestamp; both use one clock.
 *
 * Times are on the common clock of all recordings (s->shift_ns is added).
 */
#ifndef MERGE_NVTX_H
#define MERGE_NVTX_H

#include <stdbool.h>
#include <stdint.h>

#include "model/model.h"
#include "model/range_names.h"
#include "stats.h"
#include "util.h"
#include "xpu_record.h"

/* the work launched while a range was the innermost range */
struct nvtx_work {
	uint64_t nr;			/* device records */
	uint64_t ns;			/* their time */
};

/* all ranges with one name */
struct nvtx_name {
	struct stats ns;		/* durations, from opening to closing */
	uint64_t nr_unclosed;		/* number of ranges still open at the end */
	uint64_t nr_before, nr_after;	/* number of ranges that began before the files that are
					 * read, or go on after these files; ns counts a range only
					 * in the file where it ends */
};

/* a range that is open on a thread */
struct open_range {
	uint32_t range;
	uint64_t start_ns;
	bool carried;			/* the range was opened in an earlier file */
};

/* a change of a thread's innermost range to another range */
struct range_change {
	uint64_t time_ns;
	uint32_t range;
};

struct nvtx_thread {
	ARRAY(struct open_range) open;
	ARRAY(struct range_change) changes;	/* sorted by time */
};

struct nvtx {
	ARRAY(struct nvtx_work) works;	/* indexed by range, up to the last range with work */
	ARRAY(struct nvtx_name) names;	/* indexed by name, up to the last name whose range was
					 * opened */
	ARRAY(struct nvtx_thread) threads;	/* indexed by thread, up to the last thread with
						 * events */
	struct idmap by_id;		/* maps (proc, id) to a range */
	/* records of the recording that is being read */
	ARRAY(const struct xpu_record_ranges *) records;
	uint64_t last_ns;		/* time of the latest event */
};

/* Return: the state of the model; if it has no ranges, an empty state. */
const struct nvtx *nvtx__of(const struct model *m);

void nvtx__exit(struct nvtx *n);

/*
 * Takes a RANGE record, which must stay valid, and adds its range to the model. Return: 0 or
 * -ENOMEM.
 */
int nvtx__define(struct nvtx *n, struct model *m, uint32_t proc,
		 const struct xpu_record_range *rec);

/**
 * nvtx__range - find the range of a process by id
 * @id: 0 for none
 * @idx: set to its index in @m->ranges; an undefined id gets a placeholder
 *
 * Return: the number of undefined ids, or -ENOMEM.
 */
int nvtx__range(struct nvtx *n, struct model *m, uint32_t proc, uint32_t id, uint32_t *idx);

/*
 * Sets the parent of each range, after all ranges of a recording are defined. Return: the number of
 * undefined ids, or -ENOMEM.
 */
int64_t nvtx__resolve_parents(struct nvtx *n, struct model *m);

/* Return: the range that was open on a thread at @time_ns. Call it after all events were read. */
uint32_t nvtx__at(const struct nvtx *n, uint32_t thread, uint64_t time_ns);

/* These find or make the sums of a name or range. Return: NULL if memory is short. */
struct nvtx_name *nvtx__name(struct nvtx *n, uint32_t name);
struct nvtx_work *nvtx__work(struct nvtx *n, uint32_t range);

struct section;

extern const struct section section_nvtx_ranges;	/* text_nvtx.c */

#endif /* MERGE_NVTX_H */
