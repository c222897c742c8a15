/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * nvtx.h - the program's NVTX ranges: which ranges were open at a launch, and how long they lasted
 *
 * The ranges that are open on a thread at a time form a path, which struct nvtx_range represents by
 * its last range. A launch has the number of the path that was open on its thread; the process
 * itself recorded it at that moment, and nothing is matched by time. A sample, which the kernel
 * takes, gets the path that was open on its thread at its time, by one clock.
 *
 * Times are on the common clock of all recordings (s->shift_ns is added).
 */
#ifndef MERGE_NVTX_H
#define MERGE_NVTX_H

#include <stdbool.h>
#include <stdint.h>

#include "xpu_record.h"
#include "stats.h"
#include "util.h"

#define NVTX_NO_RANGE	0		/* no range */
#define NVTX_MAX_PATH	(XPU_RANGE_DEPTH + 1)	/* a mark inside the deepest possible range */

struct nvtx_range {
	const struct xpu_record_range *rec; /* NULL: no record defines it */
	uint32_t proc;
	uint32_t parent;		/* NVTX_NO_RANGE: it was the first one opened */
	uint32_t name;			/* index in names */
	uint64_t nr_works;		/* device records of launches whose innermost range it is */
	uint64_t gpu_ns;		/* total time of these device records */
};

/* all ranges with one name */
struct nvtx_name {
	const char *name;		/* interned; with "domain:" before it if it has a domain */
	struct stats ns;		/* times from opening to closing */
	uint64_t nr_unclosed;		/* ranges still open at the end */
	int8_t wanted;			/* whether it passes the filter; -1: not asked yet */
};

/* a range that is open on a thread */
struct open_range {
	uint32_t range;
	uint64_t start_ns;
};

/* the range that a thread is in since a time */
struct range_change {
	uint64_t time_ns;
	uint32_t range;
};

struct nvtx_thread {
	ARRAY(struct open_range) open;
	ARRAY(struct range_change) changes;	/* by time */
};

struct nvtx {
	ARRAY(struct nvtx_range) ranges;	/* [NVTX_NO_RANGE] stands for no range */
	ARRAY(struct nvtx_name) names;
	ARRAY(struct nvtx_thread) threads;	/* by thread, up to the last one with events */
	struct idmap by_id;		/* (proc, id) -> range */
	struct idmap by_name;		/* address of the name -> names */
	size_t first_range;		/* first range of the recording that is being read */
	uint64_t last_ns;		/* time of the latest event */
};

void nvtx__exit(struct nvtx *n);

/*
 * Finds or makes the index of an interned name; a name of NULL means that memory was short. Return:
 * 0 or -ENOMEM.
 */
int nvtx__name_idx(struct nvtx *n, const char *name, uint32_t *idx);

/*
 * Takes a RANGE record, which must stay valid; its name goes into @strings. Return: 0 or -ENOMEM.
 */
int nvtx__define(struct nvtx *n, struct strpool *strings, uint32_t proc,
		 const struct xpu_record_range *rec);

/**
 * nvtx__range - find the range of a process by id
 * @id: 0 for none
 * @idx: set to its index in @n->ranges; an undefined id gets a placeholder
 *
 * Return: the number of undefined ids, or -ENOMEM.
 */
int nvtx__range(struct nvtx *n, struct strpool *strings, uint32_t proc, uint32_t id, uint32_t *idx);

/*
 * Sets the parent of each range, after all ranges of a recording are defined. Return: the number of
 * undefined ids, or -ENOMEM.
 */
int64_t nvtx__resolve_parents(struct nvtx *n, struct strpool *strings);

/* Lists the ranges of a path, from the first to the last. Return: how many. */
uint32_t nvtx__path(const struct nvtx *n, uint32_t range, uint32_t path[NVTX_MAX_PATH]);

/* Return: the payload of a range, or NULL. */
const struct xpu_range_payload *range__payload(const struct xpu_record_range *rec);

static inline const char *nvtx__name(const struct nvtx *n, uint32_t range)
{
	return n->names.v[n->ranges.v[range].name].name;
}

/* Return: the range that was open on a thread at a time. Call it after all events were read. */
uint32_t nvtx__at(const struct nvtx *n, uint32_t thread, uint64_t time_ns);

#endif /* MERGE_NVTX_H */
