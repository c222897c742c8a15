/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * remap.h - maps the indices and names of a model to the model that absorbs it
 *
 * A recording that is read separately has its own model, whose processes, threads, call paths and
 * so on are counted from 0. In the model of all recordings they come after the processes, threads
 * and so on of earlier recordings. So all indices of one kind are increased by the same number.
 * GPUs, leaves, shapes and names may already exist in that model.
 */
#ifndef MERGE_REMAP_H
#define MERGE_REMAP_H

#include <stdint.h>

#include "model/range_names.h"
#include "util.h"

struct remap {
	uint32_t proc, thread, path, chain, stream;	/* number to add to an index */
	uint32_t range;			/* number to add to an index of a range, except
					 * NO_RANGE */
	uint32_t aggregate;		/* number to add to an index of an aggregate; sums__absorb()
					 * sets it */
	uint32_t *gpus, *shapes, *leaves, *range_names;	/* the new index of each old index */
	const struct strpool *from;
	struct strpool *to;
	struct idmap by_text;		/* maps the address of a text to an index in texts */
	ARRAY(const char *) texts;
	bool no_memory;			/* memory was short for a text */
};

void remap__exit(struct remap *r);

/*
 * Return: the other model's copy of an interned text, or the text itself if it is a constant of the
 * program. If @text is NULL: NULL. If memory is short: NULL, with @r->no_memory set.
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
	return range == NO_RANGE ? NO_RANGE : range + r->range;
}

struct model;

/**
 * remap__start - begin to add a recording that was read separately
 * @r: zeroed; the caller calls remap__exit(), even after a failure
 * @m: the model of all recordings, which already has the earlier recordings
 * @from: the model of the recording to add
 *
 * Finds the recording's GPUs in @m. Until model__absorb(), only texts may be added to @m.
 *
 * Return: 0, 1 or -ENOMEM. 1: the recording must be read again, with @m, because of its GPUs;
 * see gpus__absorb(). Only GPUs were added.
 */
int remap__start(struct remap *r, struct model *m, const struct model *from);

/**
 * model__absorb - add a recording that was read separately
 * @from: its contents may be moved to @m
 * @split: kernels that differ only in shape are different leaves
 * @r: from remap__start(); gets the new indices of things in @from
 *
 * The result is as if the recording had been read with @m, except for data that only reading needs.
 *
 * Return: 0 or -ENOMEM.
 */
int model__absorb(struct model *m, struct model *from, bool split, struct remap *r);

#endif /* MERGE_REMAP_H */
