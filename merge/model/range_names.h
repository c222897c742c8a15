/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * range_names.h - the ranges that programs open with NVTX, as parts of call paths
 *
 * The ranges that are open on a thread at one time form a path. The last range of a path stands for
 * the whole path. chain.range is the path of ranges that was open at the launches of a call path.
 * The feature "nvtx" makes the ranges, and knows when they were open.
 */
#ifndef MERGE_RANGE_NAMES_H
#define MERGE_RANGE_NAMES_H

#include <stdint.h>

#include "util.h"
#include "xpu_record.h"

#define NO_RANGE	0
#define MAX_RANGES	(XPU_RANGE_DEPTH + 1)	/* maximum number of ranges in a path: the deepest
						 * nesting, and a mark inside it */

struct range {
	const struct xpu_record_range *rec; /* NULL: no record defines the range */
	uint32_t proc;
	uint32_t parent;		/* NO_RANGE: this range is the outermost */
	uint32_t name;			/* index in names */
};

/* all ranges with one name */
struct range_name {
	const char *name;		/* interned; with "domain:" before it if it has a domain */
	int8_t wanted;			/* whether the name passes the filter; -1: not checked
					 * yet */
};

struct ranges {
	ARRAY(struct range) list;	/* [NO_RANGE] stands for no range */
	ARRAY(struct range_name) names;
	struct idmap by_name;		/* maps the address of a name to an index in names */
	size_t first;			/* first range of the recording that is being read */
};

void ranges__exit(struct ranges *r);

/*
 * Finds or makes the index of the interned name @name. NULL means that memory was short. Return: 0
 * or -ENOMEM.
 */
int ranges__name_idx(struct ranges *r, const char *name, uint32_t *idx);

/* Makes the entry that stands for no range, unless it exists. Return: 0 or -ENOMEM. */
int ranges__begin(struct ranges *r);

/* Lists the ranges of a path, from the first to the last. Return: the number of ranges. */
uint32_t ranges__path(const struct ranges *r, uint32_t range, uint32_t path[MAX_RANGES]);

/* Return: the payload of a range, or NULL. */
const struct xpu_range_payload *range__payload(const struct xpu_record_range *rec);

static inline const char *ranges__name(const struct ranges *r, uint32_t range)
{
	return r->names.v[r->list.v[range].name].name;
}

#endif /* MERGE_RANGE_NAMES_H */
