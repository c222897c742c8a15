// SPDX-License-Identifier: GPL-3.0-or-later
#include "metrics/solve.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define MAX_COLUMNS 2000 /* kinds with the most time; all others are one */
#define NR_BLOCKS 32 /* blocks of time, whose differences are the error */
#define SLOPE 0.3 /* work may have so much more at its beginning than on average */
#define NR_DRAWS 8 /* of which kinds of work have more at their beginning */
#define BETTER 0.98 /* of the residue: then amounts explain the samples better */

/* ---- errors ---------------------------------------------------------------------------------- */

/*
 * Finds how far each block of time moves one metric's values: NR_BLOCKS times a value for each
 * column. Return: 0 or -ENOMEM.
 */
static int block_errors(struct system *s, const struct mixture *m, const struct normal *e,
			uint32_t side, double *moved)
{
	size_t nr_used = system__count_used(s), row, seen = 0;
	double *sum = calloc((size_t)e->n + 1, sizeof(*sum));
	uint32_t i, nr, block = 0;

	if (!sum)
		return -ENOMEM;
	for (row = 0; row < m->nr_rows; row++) {
		double rest;

		if (s->left_out[row])
			continue;
		nr = system__row(s, m, row);
		rest = system__samples(s, row)[s->sides[side]] - system__value(s, e, side, nr);
		for (i = 0; i < nr; i++)
			sum[s->used[i]] += s->shares[i] * rest;
		if (++seen * NR_BLOCKS >= (block + 1) * nr_used) {
			normal__times_inverse(e, sum, moved + (size_t)block++ * e->n);
			memset(sum, 0, e->n * sizeof(*sum));
		}
	}
	free(sum);
	return 0;
}

/* Return: 1 or -1. */
static int way(uint32_t column, uint32_t draw)
{
	return draw && ((column + 1) * 0x9e3779b97f4a7c15ull >> (40 + draw) & 1) ? -1 : 1;
}

/*
 * Finds how far one metric's values move if the mixtures are @other instead of @m, where the
 * columns have the values @x. @draw: with 0, all columns move the same way; otherwise it says which
 * half of the columns moves the other way. Return: 0 or -ENOMEM.
 */
static int other_errors(struct system *s, const struct mixture *m, const struct mixture *other,
			const struct normal *e, const double *x, uint32_t draw, double *moved)
{
	double *sum = calloc((size_t)e->n + 1, sizeof(*sum));
	size_t row;
	uint32_t i, nr;

	if (!sum)
		return -ENOMEM;
	for (row = 0; row < m->nr_rows; row++) {
		double by = 0;

		if (s->left_out[row])
			continue;
		nr = system__row(s, other, row);
		for (i = 0; i < nr; i++)
			by += way(s->used[i], draw) * s->shares[i] * x[s->used[i]];
		nr = system__row(s, m, row);
		for (i = 0; i < nr; i++)
			by -= way(s->used[i], draw) * s->shares[i] * x[s->used[i]];
		for (i = 0; i < nr; i++)
			sum[s->used[i]] += s->shares[i] * by;
	}
	normal__times_inverse(e, sum, moved);
	free(sum);
	return 0;
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* the mixtures, as they are and as they may be instead */
enum {
	MIXTURE,
	LATER, /* by the error of the shift */
	SLOPING,
	NR_MIXTURES,
};

/* what moves values */
enum {
	BY_BLOCKS,
	BY_SHIFT = NR_BLOCKS,
	BY_SLOPES,
	NR_MOVES = BY_SLOPES + NR_DRAWS,
};

/* one metric's values of groups, summed over their columns with their weights */
struct group_sum {
	double weight, value, unit;
	double moves[NR_MOVES];
};

static void sum_groups(const struct system *s, const struct normal *e, uint32_t side,
		       const double *moved, struct group_sum *sums)
{
	uint32_t i, k, n = e->n;

	for (i = 0; i < n; i++) {
		struct group_sum *sum = &sums[s->groups[i]];

		sum->weight += s->weights[i];
		sum->value += s->weights[i] * e->x[(size_t)side * n + i];
		for (k = 0; k < NR_MOVES; k++)
			sum->moves[k] += s->weights[i] * moved[(size_t)k * n + i];
		for (k = 0; k < n; k++)
			if (s->groups[k] == s->groups[i])
				sum->unit += s->weights[i] * s->weights[k] *
					     e->inverse[(size_t)i * n + k];
	}
}

static double squares(const double *v, uint32_t nr)
{
	double sum = 0;

	while (nr--)
		sum += v[nr] * v[nr];
	return sum;
}

/* Return: the standard error of a group's mean. */
static double group_sum__error(const struct group_sum *sum, double usual, double fewer)
{
	double noise = fmax(squares(sum->moves + BY_BLOCKS, NR_BLOCKS),
			    usual * usual * fabs(sum->unit) * fewer);

	return sqrt(noise + squares(sum->moves + BY_SHIFT, 1) +
		    squares(sum->moves + BY_SLOPES, NR_DRAWS) / NR_DRAWS) /
	       sum->weight;
}

/* Finds what moves one metric's values: NR_MOVES times a value for each column. */
static int find_moves(struct system *s, const struct mixture *mixtures, const struct normal *e,
		      uint32_t side, const double *slopes, double *moved)
{
	size_t n = e->n;
	uint32_t i;
	int err = block_errors(s, &mixtures[MIXTURE], e, side, moved + BY_BLOCKS * n) ?:
			  other_errors(s, &mixtures[MIXTURE], &mixtures[LATER], e,
				       e->x + side * n, 0, moved + BY_SHIFT * n);

	for (i = 0; i < NR_DRAWS && !err; i++)
		err = other_errors(s, &mixtures[MIXTURE], &mixtures[SLOPING], e,
				   slopes + side * n, i, moved + (BY_SLOPES + i) * n);
	return err;
}

/* Sets the values of one metric for all kinds. Return: 0 or -ENOMEM. */
static int take_side(struct system *s, const struct mixture *mixtures, const struct normal *e,
		     const double *slopes, uint32_t side, struct solved *to)
{
	uint32_t metric = s->sides[side], n = e->n, i;
	double *moved = calloc(NR_MOVES * (size_t)n + 1, sizeof(*moved));
	struct group_sum *sums = calloc(n + 1, sizeof(*sums));
	size_t nr_rows = system__count_used(s), row;
	double usual = normal__usual_rest(e, side, nr_rows), explained = 0, measured = 0;
	int err = moved && sums ? find_moves(s, mixtures, e, side, slopes, moved) : -ENOMEM;

	if (!err)
		sum_groups(s, e, side, moved, sums);
	for (i = 0; i <= s->of->of.nr_kinds && !err; i++) {
		uint32_t group = s->groups[s->columns[i]];
		const struct group_sum *sum = &sums[group];
		struct solved_value *v = &to->values[(size_t)i * s->of->nr_metrics + metric];
		double error =
			sum->weight > 0 ? group_sum__error(sum, usual, s->fewer[group]) : INFINITY;

		*v = (struct solved_value){ NAN, NAN };
		if (error <= s->limits[side])
			*v = (struct solved_value){ sum->value / sum->weight, error };
	}
	for (row = 0; row < mixtures[MIXTURE].nr_rows && !err; row++) {
		if (s->left_out[row])
			continue;
		explained += system__value(s, e, side, system__row(s, &mixtures[MIXTURE], row));
		measured += system__samples(s, row)[metric];
	}
	to->explained[metric] = nr_rows ? explained / nr_rows : NAN;
	to->measured[metric] = nr_rows ? measured / nr_rows : NAN;
	to->residue[metric] = usual;
	free(sums);
	free(moved);
	return err;
}

/*
 * Solves the equations with rates or with amounts, and takes the metrics that are not known yet or
 * that this explains better. Return: 0 or -ENOMEM.
 */
static int solve_as(struct system *s, bool amounts, struct solved *to)
{
	struct mixture_as as = { .shift_ns = s->shift_ns, .amounts = amounts };
	struct mixture mixtures[NR_MIXTURES] = { 0 };
	struct normal e = { 0 };
	double *slopes = calloc((size_t)s->nr_columns * s->nr_sides + 1, sizeof(*slopes));
	uint32_t k;
	int err = slopes ? mixture__make(&mixtures[MIXTURE], &s->of->of, &as) : -ENOMEM, i;

	as.shift_ns += s->shift_error_ns;
	err = err ?: mixture__make(&mixtures[LATER], &s->of->of, &as);
	as.shift_ns = s->shift_ns;
	as.slope = SLOPE;
	err = err ?: mixture__make(&mixtures[SLOPING], &s->of->of, &as);
	err = err ?: system__solve(s, &mixtures[MIXTURE], &e) ?: normal__bound(&e, s->most);
	for (k = 0; k < s->nr_sides && !err; k++) {
		if (amounts && normal__usual_rest(&e, k, system__count_used(s)) >=
				       BETTER * to->residue[s->sides[k]])
			continue;
		if (!e.inverse) {
			err = normal__invert(&e);
			if (!err && !amounts) {
				system__count_samples(s, &mixtures[MIXTURE]);
				err = system__group(s, &e);
			}
			err = err ?: system__find_slopes(s, &mixtures[MIXTURE], &mixtures[SLOPING],
							 &e, slopes);
		}
		err = err ?: take_side(s, mixtures, &e, slopes, k, to);
	}
	normal__exit(&e);
	free(slopes);
	for (i = 0; i < NR_MIXTURES; i++)
		mixture__exit(&mixtures[i]);
	return err;
}

/* Numbers the groups of kinds that have one column. Return: 0 or -ENOMEM. */
static int number_groups(const struct system *s, struct solved *to)
{
	uint32_t *nr = calloc(s->nr_columns + 1, sizeof(*nr)), i, groups = 0;
	uint32_t *number = calloc(s->nr_columns + 1, sizeof(*number));
	int err = nr && number ? 0 : -ENOMEM;

	for (i = 0; i < s->of->of.nr_kinds && !err; i++)
		nr[s->groups[s->columns[i]]]++;
	for (i = 0; i < s->of->of.nr_kinds && !err; i++) {
		uint32_t c = s->groups[s->columns[i]];

		if (nr[c] > 1 && !number[c])
			number[c] = ++groups;
		to->together[i] = number[c];
	}
	free(nr);
	free(number);
	return err;
}

static int solved__init(struct solved *s, const struct solve_of *of)
{
	size_t nr = ((size_t)of->of.nr_kinds + 1) * of->nr_metrics, i;

	*s = (struct solved){ 0 };
	s->values = malloc((nr + 1) * sizeof(*s->values));
	s->together = calloc(of->of.nr_kinds + 1, sizeof(*s->together));
	s->measured = malloc(3 * (of->nr_metrics + 1) * sizeof(*s->measured));
	if (!s->values || !s->together || !s->measured)
		return -ENOMEM;
	s->explained = s->measured + of->nr_metrics;
	s->residue = s->explained + of->nr_metrics;
	for (i = 0; i < nr; i++)
		s->values[i] = (struct solved_value){ NAN, NAN };
	for (i = 0; i < 3 * (size_t)of->nr_metrics; i++)
		s->measured[i] = NAN;
	return 0;
}

void solved__exit(struct solved *s)
{
	free(s->values);
	free(s->together);
	free(s->measured);
	*s = (struct solved){ 0 };
}

int solve(struct solved *to, const struct solve_of *of)
{
	struct system s = { 0 };
	int err = solved__init(to, of) ?: system__init(&s, of);

	if (err || !s.nr_sides || !of->of.nr_kinds)
		goto out;
	err = system__find_shift(&s)				   ?:
		      system__choose_columns(&s, MAX_COLUMNS)	   ?:
		      system__leave_out_spoilt(&s, &to->nr_spoilt) ?:
		      solve_as(&s, false, to)			   ?:
		      solve_as(&s, true, to)			   ?:
								     number_groups(&s, to);
	to->nr_used = system__count_used(&s);
	to->shift_ns = s.shift_ns;
	to->shift_error_ns = s.shift_error_ns;
out:
	system__exit(&s);
	return err;
}
