/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * stall_sums.h - shares PC samples out among the call paths that launched their function
 *
 * Samples of a function are exact for the function. Those of one window belong to the call paths whose
 * launches of it ran then, in proportion to their device time in it; where one path alone had launched
 * it, they are exact for that path, too. So are those that know their launch.
 */
#ifndef MERGE_STALL_SUMS_H
#define MERGE_STALL_SUMS_H

#include <stdint.h>

#include "join/metric_sums.h"
#include "model/model.h"
#include "util.h"

/* The samples of a kernel at a place, for a call path. */
struct stall_part {
	uint32_t chain, leaf;		/* of the kernel */
	uint32_t place;			/* index in stalls.places */
	double samples;
};

struct stall_sums {
	ARRAY(struct stall_part) parts;	/* by chain and leaf, then the most samples first */
	uint64_t exact;			/* samples in windows with one call path */
	uint64_t shared;
	uint64_t no_launch;		/* in windows without a launch that is known */
	uint64_t kernels_ns;		/* device time of all kernels ... */
	uint64_t covered_ns;		/* ... and as much of it as has samples; both 0 without spans */
};

void stall_sums__exit(struct stall_sums *s);

/* @works: in order of time, of all GPUs. Return: 0 or -ENOMEM. */
int stall_sums__finish(struct stall_sums *s, const struct model *m, const struct metric_work *works,
		       size_t nr_works);

/* Return: the first part of a chain and leaf; *@nr: how many there are, perhaps 0. */
const struct stall_part *stall_sums__of(const struct stall_sums *s, uint32_t chain, uint32_t leaf,
					size_t *nr);

#endif /* MERGE_STALL_SUMS_H */
