/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * metric_pool.h - the sets of samples that are solved together
 *
 * Recordings of one GPU are solved together. Recordings that were made one after the other on GPUs
 * of one kind are solved together, too: a kernel of one shape has one value in all of them.
 * Different GPUs that were sampled at the same time are solved separately, because ranks of a job
 * may differ.
 *
 * A sample of a GPU is explained by all work that ran at that time, from all recordings. A piece of
 * work that several sets sampled is counted once.
 */
#ifndef MERGE_METRIC_POOL_H
#define MERGE_METRIC_POOL_H

#include "join/works.h"
#include "metrics/mixture.h"
#include "model/model.h"

struct metric_pool {
	ARRAY(uint32_t) sets;		/* indices in metrics.sets; the sets have equal metrics */

	/* metric_pool__fill() sets all of the following members */
	struct mixture_of of;		/* each source is a set */
	ARRAY(float) values;		/* of the rows */
	ARRAY(uint32_t) works;		/* for each piece: index in works.list */
	/* the arrays that @of points to */
	ARRAY(struct metric_row) rows;
	ARRAY(struct piece) pieces;
	ARRAY(struct mixture_source) sources;
	/* for each kind of work; a kind is a kernel of one shape, or copies between two places */
	ARRAY(double) total_ns;
	ARRAY(double) mean_ns;
};

typedef ARRAY(struct metric_pool) metric_pools_t;

/* Puts each set into one pool. Return: 0 or -ENOMEM; call metric_pools__exit() in either case. */
int metric_pools__find(metric_pools_t *pools, const struct metrics *metrics,
		       const struct model *model);
void metric_pools__exit(metric_pools_t *pools);

/*
 * Fills a pool. @works: sorted by GPU, then by start. Return: 0 or -ENOMEM; call
 * metric_pool__empty() in either case.
 */
int metric_pool__fill(struct metric_pool *p, const struct metrics *metrics,
		      const struct model *model, const struct works *works);

/* Frees all arrays of the pool except sets. */
void metric_pool__empty(struct metric_pool *p);

#endif /* MERGE_METRIC_POOL_H */
