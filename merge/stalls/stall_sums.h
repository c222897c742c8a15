/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * stall_sums.h - divides PC samples among the call paths that launched their function
 *
 * The function of a sample is exact. A reading's samples are divided among the call paths that
 * launched the function, in proportion to the device time of their launches during the reading. If
 * only one path launched the function, or if samples have their launch, the path is exact, too.
 */
#ifndef MERGE_STALL_SUMS_H
#define MERGE_STALL_SUMS_H

#include <stdint.h>

#include "join/works.h"
#include "model/model.h"
#include "stalls/stalls.h"
#include "util.h"

/* a kernel's samples at a place, for a call path */
struct stall_part {
	uint32_t chain, leaf;		/* chain of the call path, and leaf of the kernel */
	uint32_t place;			/* index of the place in stalls.places */
	double samples;
};

struct stall_sums {
	ARRAY(struct stall_part) parts;	/* in order of chain and leaf, then by samples, largest
					 * first */
	uint64_t exact;			/* samples in readings with one call path */
	uint64_t shared;
	uint64_t no_launch;		/* samples in readings without a known launch */
	uint64_t kernels_ns;		/* device time of all kernels */
	uint64_t covered_ns;		/* the part of kernels_ns that has samples; both are 0
					 * without spans */
};

void stall_sums__exit(struct stall_sums *s);

/*
 * Completes @s, and cuts the samples of @stalls at the times of the filter. @works: the work of all
 * GPUs, in order of time. Return: 0 or -ENOMEM.
 */
int stall_sums__finish(struct stall_sums *s, struct stalls *stalls, const struct model *m,
		       const struct filter *filter, const struct works *works);

/* Return: the first part of a chain and leaf. Sets *@nr to the number of parts, perhaps 0. */
const struct stall_part *stall_sums__of(const struct stall_sums *s, uint32_t chain, uint32_t leaf,
					size_t *nr);

#endif /* MERGE_STALL_SUMS_H */
