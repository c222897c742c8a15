/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * solve.h - the values of a GPU's counters for each kind of work, from samples of the whole GPU
 *
 * Each sample is a known mixture of kinds of work and of idle time, so many samples are an
 * overdetermined system of linear equations. It is solved by least squares, with no value below 0.
 *
 * The error of a value has three parts. The first is noise. It is estimated from the differences
 * between blocks of time, and also from the residues; the larger estimate is used. The estimate
 * from the residues takes at most some hundred samples of a kind as independent. The second part is
 * the offset between the clocks of samples and work. The third is that the rate of work may be
 * higher at its beginning than at its end, as far as the residues allow it. Kinds of work that
 * always occur together have one common value. A value is NaN if the samples do not determine it.
 *
 * Samples may have several sources, such as recordings of one program. A kind of work has the same
 * value in all sources. Each source has an offset of its own between its clocks, and each GPU has
 * its own idle time.
 */
#ifndef MERGE_SOLVE_H
#define MERGE_SOLVE_H

#include "metrics/solve_system.h"

struct solved_value {
	float value, error;		/* NaN: unknown; error: one standard error */
};

struct solved {
	struct solved_value *values;	/* nr_metrics for each kind, then for each kind of idle
					 * time */
	uint32_t *together;		/* for each kind: 0, or a number from 1: all kinds with this
					 * number share one common value */
	double *measured, *explained;	/* nr_metrics for each source: the mean of all used
					 * samples, and the mean of the solution's values for these
					 * samples */
	double *residue;		/* for each metric: root mean square of samples minus
					 * solution */
	size_t nr_used, nr_spoilt;	/* number of used samples; number of samples that no values
					 * explain */
	struct mixture_shift shift;	/* of the first source */
};

/* Return: 0 or -ENOMEM; call solved__exit() in either case. */
int solve(struct solved *s, const struct solve_of *of);
void solved__exit(struct solved *s);

#endif /* MERGE_SOLVE_H */
