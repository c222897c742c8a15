/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * solve.h - the values of a GPU's counters for each kind of work, from samples of the whole GPU
 *
 * Each sample is a known mixture of kinds of work and of idle time, so many samples are an
 * overdetermined system of linear equations. It is solved by least squares, with no value below 0.
 *
 * The error of a value has four parts: how much blocks of time differ, with no more than some
 * hundred samples of a kind as independent; the offset between the clocks of samples and work; and
 * work that has more at its beginning than at its end, as far as the residues allow it. Kinds of
 * work that always come together have one common value. A value is NaN if the samples do not
 * determine it.
 */
#ifndef MERGE_SOLVE_H
#define MERGE_SOLVE_H

#include "metrics/solve_system.h"

struct solved_value {
	float value, error;		/* NaN: unknown; error: one standard error */
};

struct solved {
	struct solved_value *values;	/* nr_metrics for each kind, then for idle time */
	uint32_t *together;		/* for each kind: 0, or a number from 1, which all kinds
					 * have that share one common value */
	double *measured, *explained;	/* for each metric: the mean of all samples that were used,
					 * and the mean that the values give them */
	double *residue;		/* for each metric: the difference, root mean square */
	size_t nr_used, nr_spoilt;	/* samples that were used, or that no values explain */
	double shift_ns, shift_error_ns; /* the samples' clock ahead of the work's clock */
};

/* Return: 0 or -ENOMEM; solved__exit() in either case. */
int solve(struct solved *s, const struct solve_of *of);
void solved__exit(struct solved *s);

#endif /* MERGE_SOLVE_H */
