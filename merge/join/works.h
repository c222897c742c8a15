/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * works.h - keeps pieces of device work; features divide the samples of a GPU among these pieces
 */
#ifndef MERGE_WORKS_H
#define MERGE_WORKS_H

#include <stdbool.h>
#include <stdint.h>

#include "util.h"

struct kept_work {
	uint64_t start_ns, end_ns;
	uint32_t gpu;
	uint32_t leaf, chain;		/* NO_INDEX: the results leave the work out, but its share
					 * of the samples is still computed */
	uint32_t stream;
	uint32_t kernel;		/* leaf of the kernel, even if it is left out; NO_INDEX: the
					 * work is no kernel */
	uint32_t shape;			/* the kernel's index in shapes, or WORK_NO_SHAPE */
	uint32_t correlation_id;
};

struct works {
	bool wanted;			/* if false, no device work is kept */
	ARRAY(struct kept_work) list;
};

/* Keeps a piece of device work, unless it has no duration. Return: 0 or -ENOMEM. */
static inline int works__add(struct works *s, const struct kept_work *work)
{
	return work->start_ns < work->end_ns ? array_push(&s->list, *work) : 0;
}

#endif /* MERGE_WORKS_H */
