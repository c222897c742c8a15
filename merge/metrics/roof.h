/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * roof.h - how near kernels come to the limits of the GPU
 *
 * The roof of a kernel is the unit of the GPU that it uses most: the tensor cores, the memory, or
 * the issue of instructions. A perfect kernel would do the same work with that unit always busy.
 * The time that it would save is the kernel's time multiplied by the unused share of the unit.
 */
#ifndef MERGE_ROOF_H
#define MERGE_ROOF_H

#include "metrics/metrics.h"
#include "metrics/solve.h"
#include "util.h"

/* what bounds a kernel */
enum roof_bound {
	ROOF_TENSOR,
	ROOF_DRAM,
	ROOF_ISSUE,
	NR_ROOF_UNITS,
	ROOF_LATENCY = NR_ROOF_UNITS,	/* no unit is near its roof, though all SMs have work */
	ROOF_IDLE_SMS,			/* many SMs have no work */
	ROOF_UNCLEAR,			/* latency or idle SMs: how many SMs had work is unknown */
	NR_ROOF_BOUNDS,
};

/* what a roof plot needs: percentages of the units, then amounts for each ns */
enum roof_rate {
	RATE_TENSOR = ROOF_TENSOR,
	RATE_DRAM = ROOF_DRAM,
	RATE_ISSUE = ROOF_ISSUE,
	RATE_BYTES = NR_ROOF_UNITS,	/* bytes that DRAM reads and writes */
	RATE_OPERATIONS,		/* operations of the recorded types, or instructions, see
					 * below */
	NR_ROOF_RATES,
};

struct roof {
	double percent, error;		/* use of the most used unit; NaN: unknown */
	enum roof_bound bound;
	struct solved_value rates[NR_ROOF_RATES];
};

/* a sum over work */
struct roof_use {
	double ns;			/* the time of work whose roof is known */
	double save_ns, error_ns;	/* the part of @ns that perfect kernels would save, and its
					 * error */
	double unknown_ns;		/* the time of work whose roof is unknown */
	double bound_ns[NR_ROOF_BOUNDS];
	struct roof_sum {		/* over the time of work whose rate is known */
		double ns, sum, error;
	} rates[NR_ROOF_RATES];
	bool together;			/* has values that several kernels have in common */
};

struct roofs {
	struct idmap by_leaf, by_chain;	/* maps a leaf, or a chain, to an index in uses */
	ARRAY(struct roof_use) uses;
};

/*
 * Return: whether RATE_OPERATIONS is the rate of instructions of warps, because the recordings have
 * no metric of operations: NVIDIA's H100 and H200 do not sample such metrics.
 */
bool roof__counts_instructions(const struct metrics *metrics);

/* Return: the rate. @values: a value for each metric of the set. NaN: the rate is unknown. */
struct solved_value roof__rate(const struct metrics *metrics, const struct metric_set *set,
			       const struct solved_value *values, enum roof_rate rate);

/* Return: the roof of a kernel whose values are @values, one for each metric of the set. */
struct roof roof__of(const struct metrics *metrics, const struct metric_set *set,
		     const struct solved_value *values);

/*
 * Adds @ns of a kernel to its leaf and its chain. @together: several kernels have its
 * values in common. Return: 0 or -ENOMEM.
 */
int roofs__add(struct roofs *r, uint32_t leaf, uint32_t chain, double ns, const struct roof *roof,
	       bool together);
void roofs__exit(struct roofs *r);

/* Return: the sums of a leaf, or of a chain; NULL: there are no sums. */
const struct roof_use *roofs__of_leaf(const struct roofs *r, uint32_t leaf);
const struct roof_use *roofs__of_chain(const struct roofs *r, uint32_t chain);

void roof_use__add(struct roof_use *to, const struct roof_use *from);

/* Return: whether the roof is known for most of the work. */
bool roof_use__is_known(const struct roof_use *use);

/*
 * Call these functions only if the roof is known. Return: the time that perfect kernels would save,
 * its standard error, and the used share of the roof. Half of the time of unknown work counts as
 * saved; the error allows for any share from none to all of this time.
 */
double roof_use__save_ns(const struct roof_use *use);
double roof_use__error_ns(const struct roof_use *use);
double roof_use__percent(const struct roof_use *use);

/* Return: the mean rate; NaN if the rate is unknown for more than a small part of the work. */
struct solved_value roof_use__rate(const struct roof_use *use, enum roof_rate rate);

/* Return: operations or instructions for each byte of DRAM; NaN: unknown. */
struct solved_value roof_use__intensity(const struct roof_use *use);

/* Return: the name of the bound with the most time; "unknown" if the roof is unknown. */
const char *roof_use__bound(const struct roof_use *use);

#endif /* MERGE_ROOF_H */
