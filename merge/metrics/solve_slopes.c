// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "metrics/solve_system.h"

#define LEAST_LEFT 0.01 /* fraction of a slope's square: if less is left, other values hide the
			 * slope */
#define HIDDEN 1.5 /* factor, because the slopes of neighbors hide a part of a slope */
#define STEEPEST 1.4 /* limit on a slope, as a multiple of the slope in the sloping mixtures */

/* what the samples say about the slope of each column: the sums over all rows */
struct slopes {
	uint32_t n;
	double *with_values;		/* n * n: products of slopes and shares */
	double *squares;		/* for each column: sum of its slopes' squares */
	double *rests;			/* n for each right-hand side: products of slopes and
					 * residues */
	double *row;			/* scratch memory: the slopes of one row */
};

static void slopes__add(struct slopes *of, struct system *s, const struct mixture *m,
			const struct mixture *sloping, const struct normal *e, size_t row)
{
	uint32_t nr = system__row(s, sloping, row), i, k;

	for (i = 0; i < nr; i++)
		of->row[s->used[i]] = s->shares[i];
	nr = system__row(s, m, row);
	for (k = 0; k < s->nr_sides; k++)
		s->y[k] = system__samples(s, row)[s->sides[k]] - system__value(s, e, k, nr);
	for (i = 0; i < nr; i++) {
		uint32_t column = s->used[i];
		double slope = of->row[column] - s->shares[i];
		double *products = of->with_values + (size_t)column * of->n;

		of->row[column] = 0;
		if (slope == 0)
			continue;
		of->squares[column] += slope * slope;
		for (k = 0; k < nr; k++)
			products[s->used[k]] += slope * s->shares[k];
		for (k = 0; k < s->nr_sides; k++)
			of->rests[(size_t)k * of->n + column] += slope * s->y[k];
	}
}

/* Sets the largest likely slope for each column and right-hand side. Return: 0 or -ENOMEM. */
static int slopes__take(const struct slopes *of, const struct system *s, const struct normal *e,
			double *slopes)
{
	double *hidden = malloc((of->n + 1) * sizeof(*hidden));	/* part of the squares that other
								 * values explain */
	size_t nr_rows = system__count_used(s);
	uint32_t i, k;
	int err = hidden ? normal__explained(e, of->with_values, hidden) : -ENOMEM;

	for (k = 0; k < s->nr_sides && !err; k++) {
		double usual = normal__usual_rest(e, k, nr_rows);

		for (i = 0; i < of->n; i++) {
			double *slope = &slopes[(size_t)k * of->n + i];
			double left = of->squares[i] - hidden[i], found;

			*slope = fabs(e->x[(size_t)k * of->n + i]);
			if (left <= LEAST_LEFT * of->squares[i])
				continue;
			found = HIDDEN * of->rests[(size_t)k * of->n + i] / left;
			*slope = fmin(STEEPEST * *slope,
				      both_errors(found, usual * sqrt(s->fewer[i] / left)));
		}
	}
	free(hidden);
	return err;
}

int system__find_slopes(struct system *s, const struct mixture *m, const struct mixture *sloping,
			const struct normal *e, double *slopes)
{
	size_t n = e->n, row;
	struct slopes of = { .n = e->n };
	int err;

	of.with_values = calloc(n * n + 1, sizeof(*of.with_values));
	of.squares = calloc(n + 1, sizeof(*of.squares));
	of.rests = calloc(n * s->nr_sides + 1, sizeof(*of.rests));
	of.row = calloc(n + 1, sizeof(*of.row));
	err = of.with_values && of.squares && of.rests && of.row ? 0 : -ENOMEM;
	for (row = 0; row < m->nr_rows && !err; row++)
		if (!s->left_out[row])
			slopes__add(&of, s, m, sloping, e, row);
	err = err ?: slopes__take(&of, s, e, slopes);
	free(of.with_values);
	free(of.squares);
	free(of.rests);
	free(of.row);
	return err;
}
