/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * remap.h - what the indices and names of a model become in another one, which has absorbed it
 *
 * A recording that is read apart has a model of its own, whose processes, threads, call paths and so on
 * are counted from 0. In the model of all recordings they come behind those of the recordings before it,
 * so their indices move by one number. GPUs, leaves, shapes and names may be there already.
 */
#ifndef MERGE_REMAP_H
#define MERGE_REMAP_H

#include <stdint.h>

#include "model/nvtx.h"
#include "util.h"

struct remap {
	uint32_t proc, thread, path, chain, stream;	/* to be added to an index */
	uint32_t range;			/* to that of a range, but not to NVTX_NO_RANGE */
	uint32_t nccl_kernel;		/* to that of a kernel of NCCL */
	uint32_t *gpus, *shapes, *leaves, *range_names;	/* by index: the new one */
	const struct strpool *from;
	struct strpool *to;
	struct idmap by_text;		/* address of a text to index in texts */
	ARRAY(const char *) texts;
	bool no_memory;			/* for some text */
};

void remap__exit(struct remap *r);

/*
 * Return: the other model's copy of an interned text, the same text if it is a constant of the program, or
 * NULL for NULL; NULL with @r->no_memory set for want of memory.
 */
const char *remap__text(struct remap *r, const char *text);

/* Return: @idx moved by @by, unless it is NO_INDEX. */
static inline uint32_t remap__move(uint32_t idx, uint32_t by)
{
	return idx == NO_INDEX ? NO_INDEX : idx + by;
}

/* Return: the new index of a GPU, leaf or name. */
static inline uint32_t remap__find(const uint32_t *map, uint32_t idx)
{
	return idx == NO_INDEX ? NO_INDEX : map[idx];
}

static inline uint32_t remap__range(const struct remap *r, uint32_t range)
{
	return range == NVTX_NO_RANGE ? NVTX_NO_RANGE : range + r->range;
}

struct model;

/**
 * remap__start - begin to add what a recording has that was read apart
 * @r: zeroed; for remap__exit() in any case
 * @m: the model of all recordings, which has those before it
 * @from: its model
 *
 * Finds its GPUs in @m. Until model__absorb(), only texts may be added to @m.
 *
 * Return: 0; 1 if it has to be read again, with @m, because of its GPUs (see gpus__absorb()): then no more
 * was added than that adds; or -ENOMEM.
 */
int remap__start(struct remap *r, struct model *m, const struct model *from);

/**
 * model__absorb - add what a recording has that was read apart
 * @from: what it owns may be moved to @m
 * @split: kernels that differ in their shape alone are different leaves
 * @r: from remap__start(); gets what the indices of @from have become
 *
 * The result is as if the recording had been read with @m, but for things that only reading needs.
 *
 * Return: 0 or -ENOMEM.
 */
int model__absorb(struct model *m, struct model *from, bool split, struct remap *r);

#endif /* MERGE_REMAP_H */
