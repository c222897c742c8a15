/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * metric_sums.h - the values of GPU counters for kernels and call paths
 *
 * A counter of work is, for example, the share of time in which the tensor pipe is active. solve.h
 * finds its value for each kernel and shape, from the samples of all recordings together, which
 * metric_pool.h collects. A state of the GPU, such as its clock, is averaged over the time in which
 * the work ran. An amount, such as energy, is divided: at each moment, all work that runs on the
 * GPU gets an equal part of it, so the parts and the idle rest add up to the whole.
 */
#ifndef MERGE_METRIC_SUMS_H
#define MERGE_METRIC_SUMS_H

#include <stdbool.h>
#include <stdint.h>

#include "join/works.h"
#include "metrics/metrics.h"
#include "metrics/roof.h"
#include "model/model.h"
#include "util.h"

struct metric_use {
	double ns;			/* if the metric is solved, the time of work with a solved
					 * value; otherwise the overlap of the work with rows that
					 * have a value */
	double sum;			/* sum of values * ns; for an amount: this use's part of
					 * the amount */
	double error;			/* sum of standard errors * ns; 0 unless solved */
	double unknown_ns;		/* the time of work whose value is unknown */
	uint32_t together;		/* 0, or a number from 1: all work with this number shares
					 * one common value */
};

/*
 * how well a metric of a set is solved: the mean of the samples, the mean of the solution, and the
 * root mean square of their differences
 */
struct metric_check {
	double measured, solved, residue;	/* NaN unless the metric is solved */
};

struct metric_sums {
	struct idmap by_leaf, by_chain;	/* maps (index of leaf or chain, set) to the set's first
					 * metric in uses */
	ARRAY(struct metric_use) uses;
	ARRAY(struct metric_use) idle;	/* sums while nothing ran, XPU_MAX_METRICS for each set */
	ARRAY(struct metric_check) checks;	/* XPU_MAX_METRICS for each set */
	uint32_t nr_together;
	struct roofs roofs;
};

void metric_sums__exit(struct metric_sums *s);

/* Completes @s; sorts @works. Return: 0 or -ENOMEM. */
int metric_sums__finish(struct metric_sums *s, const struct metrics *metrics,
			const struct model *model, struct works *works);

/*
 * Adds the uses of a leaf, or of a chain, to uses[], which is indexed like metrics->names. Return:
 * whether any use exists.
 */
bool metric_sums__of_leaf(const struct metric_sums *s, const struct metrics *metrics, uint32_t leaf,
			  struct metric_use *uses);
bool metric_sums__of_chain(const struct metric_sums *s, const struct metrics *metrics,
			   uint32_t chain, struct metric_use *uses);

/* Return: whether a metric is solved. */
bool metric__is_solved(const struct metric_name *name);

/* Return: the average, or the amount; NaN if unknown. */
double metric_use__value(const struct metric_use *use, enum xpu_metric_kind kind);

/* Return: the standard error of a solved value; NaN if unknown. */
double metric_use__error(const struct metric_use *use);

#endif /* MERGE_METRIC_SUMS_H */
