/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * stalls.h - where in kernels warps stalled, and why: PC samples recorded with --stalls
 *
 * A sample has a function, a place in the function, and a reason. Samples have their launches only
 * with --stalls=exact.
 */
#ifndef MERGE_STALLS_H
#define MERGE_STALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "model/leaf.h"
#include "util.h"
#include "xpu_record.h"

#define STALL_LABEL	"[stall]"	/* shown before a reason */

struct stall_count {
	uint32_t place;			/* index in places */
	uint64_t samples;
	uint64_t not_issued;		/* samples in which no instruction was issued */
};

/* The samples of a function that were read at one time, or the samples of one launch. */
struct stall_reading {
	uint64_t begin_ns, end_ns;	/* when the samples were taken, unless they were read
					 * late */
	uint32_t function;		/* index in functions */
	uint32_t correlation_id;	/* correlation id of the launch; 0: unknown */
	size_t first, nr;		/* the reading's range in stalls.counts */
	uint64_t samples;
};

/* a kernel in one context of a process */
struct stall_function {
	uint32_t proc, context;
	const char *name;		/* interned; the same name as in the kernel's leaf */
};

/* a time for which samples of all kernels of a context exist */
struct stall_span {
	uint32_t proc, context;
	uint64_t begin_ns, end_ns;
};

struct stalls {
	ARRAY(struct leaf_place) places;
	ARRAY(struct stall_count) counts;
	ARRAY(struct stall_reading) readings;
	ARRAY(struct stall_function) functions;
	struct hashes by_place, by_function;
	ARRAY(struct stall_span) spans;	/* in any order; may overlap */
	bool knows_spans;		/* false for recordings of earlier formats, which have no
					 * spans */
	uint64_t secret;
	/* sums of CUPTI's counts over all contexts */
	uint64_t total, others, dropped, nr_full, recorded;
};

void stalls__init(struct stalls *s);
void stalls__exit(struct stalls *s);

/* Finds or adds a function. Return: 0 or -ENOMEM. */
int stalls__function(struct stalls *s, uint32_t proc, uint32_t context, const char *name,
		     uint32_t *idx);
int stalls__place(struct stalls *s, const char *place, const char *reason, uint32_t *idx);

#endif /* MERGE_STALLS_H */
