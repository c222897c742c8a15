/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * metric_sums.h - the values of GPU counters while kernels and call paths had work on the GPU
 *
 * A mean, such as a share of time, is averaged over the time in which the work ran, weighted by
 * overlap. An amount, such as energy, is divided: at each moment, all work that runs on the GPU
 * gets an equal part of it, so parts and rest add up to the whole.
 */
#ifndef MERGE_METRIC_SUMS_H
#define MERGE_METRIC_SUMS_H

#include <stdbool.h>
#include <stdint.h>

#include "join/works.h"
#include "metrics/metrics.h"
#include "util.h"

struct metric_use {
	double ns;			/* time of overlap with rows that have a value */
	double sum;			/* sum of values * ns; for an amount: the part of the amount
					 * that goes to this use */
};

struct metric_sums {
	struct idmap by_leaf, by_chain;	/* maps (index of leaf or chain, set) to the set's first
					 * metric in uses */
	ARRAY(struct metric_use) uses;
	ARRAY(struct metric_use) idle;	/* sums while nothing ran, XPU_MAX_METRICS for each set */
};

void metric_sums__exit(struct metric_sums *s);

/* Completes @s; puts the works in order. Return: 0 or -ENOMEM. */
int metric_sums__finish(struct metric_sums *s, const struct metrics *metrics, struct works *works);

/*
 * Adds the uses of a leaf, or of a chain, to uses[], which is indexed as metrics->names. Return:
 * whether any exist.
 */
bool metric_sums__of_leaf(const struct metric_sums *s, const struct metrics *metrics, uint32_t leaf,
			  struct metric_use *uses);
bool metric_sums__of_chain(const struct metric_sums *s, const struct metrics *metrics,
			   uint32_t chain, struct metric_use *uses);

/* Return: the average, or the amount; NaN if unknown. */
double metric_use__value(const struct metric_use *use, enum xpu_metric_kind kind);

#endif /* MERGE_METRIC_SUMS_H */
