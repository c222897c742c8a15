// SPDX-License-Identifier: GPL-3.0-or-later
#include "metrics/solve.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_COLUMNS 2000 /* maximum number of kinds that have a column of their own; the other kinds
			  * share one column */
#define NR_BLOCKS 32 /* number of blocks of time; their differences give the error */
#define SLOPE 0.3 /* the rate at the beginning of work may exceed the average by this fraction */
#define NR_DRAWS 8 /* number of random draws; each chooses the kinds of work that begin at a
		    * higher rate */
#define BETTER 0.98 /* amounts explain the samples better than rates if the residue of amounts is
		     * below this fraction of the residue of rates */

/* ---- errors ---------------------------------------------------------------------------------- */

/* the mixtures, unchanged and with deviations */
enum {
	MIXTURE,
	LATER, /* shifted by the error of the shift */
	SLOPING,
	NR_MIXTURES,
};

/* reasons why values may move */
enum {
	BY_BLOCKS,
	BY_SHIFT = NR_BLOCKS,
	BY_SLOPES,
	NR_MOVES = BY_SLOPES + NR_DRAWS,
};

/* how far each of the NR_MOVES reasons moves the values of the metrics that are taken */
struct moves {
	const struct normal *e;
	const double *slopes;		/* see system__find_slopes() */
	const bool *taken;		/* for each right-hand side: whether it is taken */
	double *sums;			/* for each right-hand side and reason: a value for each
					 * column */
	double *explained;		/* for each source and right-hand side: the solution's
					 * values, summed over all rows */
	uint8_t *ways;			/* for each column: a bit for each draw, which says whether
					 * the slope goes down */
};

/* Return: 1 or -1. In draw 0, all columns have the same sign. */
static int way(const struct moves *m, uint32_t column, uint32_t draw)
{
	return m->ways[column] >> draw & 1 ? -1 : 1;
}

static void moves__draw(struct moves *m)
{
	uint32_t i, draw;

	for (i = 0; i < m->e->n; i++)
		for (draw = 1; draw < NR_DRAWS; draw++)
			if ((i + 1) * 0x9e3779b97f4a7c15ull >> (40 + draw) & 1)
				m->ways[i] |= 1 << draw;
}

/* Adds to by[] how the moves change the values of a row. @sign: 1 or -1 */
static void moves__differ(const struct moves *m, const struct system *s, uint32_t nr, int sign,
			  bool shift, double *by)
{
	uint32_t side, i, draw;

	for (side = 0; side < s->nr_sides; side++, by += 1 + NR_DRAWS) {
		const double *x = m->e->x + (size_t)side * m->e->n;
		const double *slopes = m->slopes + (size_t)side * m->e->n;

		for (i = 0; i < nr && m->taken[side]; i++) {
			double share = sign * s->shares[i];

			if (shift) {
				by[0] += share * x[s->used[i]];
				continue;
			}
			for (draw = 0; draw < NR_DRAWS; draw++)
				by[1 + draw] += way(m, s->used[i], draw) * share *
						slopes[s->used[i]];
		}
	}
}

/*
 * Adds one row. @explained: the sums of its source; @by: scratch memory, with the shift and the
 * slopes of each right-hand side
 */
static void moves__add(struct moves *m, struct system *s, const struct mixture *mixtures,
		       size_t row, uint32_t block, double *explained, double *by)
{
	size_t n = m->e->n;
	uint32_t side, i, k, nr;

	memset(by, 0, s->nr_sides * (1 + NR_DRAWS) * sizeof(*by));
	moves__differ(m, s, system__row(s, &mixtures[LATER], row), 1, true, by);
	moves__differ(m, s, system__row(s, &mixtures[SLOPING], row), 1, false, by);
	nr = system__row(s, &mixtures[MIXTURE], row);
	moves__differ(m, s, nr, -1, true, by);
	moves__differ(m, s, nr, -1, false, by);
	for (side = 0; side < s->nr_sides; side++, by += 1 + NR_DRAWS) {
		double *sums = m->sums + side * NR_MOVES * n, value;

		if (!m->taken[side])
			continue;
		value = system__value(s, m->e, side, nr);
		explained[side] += value;
		for (i = 0; i < nr; i++) {
			double share = s->shares[i];
			double *sum = sums + s->used[i];

			sum[block * n] += share * (system__samples(s, row)[s->sides[side]] - value);
			for (k = 0; k < 1 + NR_DRAWS; k++)
				sum[(BY_SHIFT + k) * n] += share * by[k];
		}
	}
}

/* Sums the moves of the values over all rows. Return: 0 or -ENOMEM. */
static int moves__sum(struct moves *m, struct system *s, const struct mixture *mixtures)
{
	double *by = calloc(s->nr_sides * (1 + NR_DRAWS) + 1, sizeof(*by));
	size_t nr_used = system__count_used(s), row = 0, seen = 0;
	uint32_t i;

	if (!by)
		return -ENOMEM;
	moves__draw(m);
	for (i = 0; i < mixture_of__nr_sources(&s->of->of); i++) {
		struct mixture_source source = mixture_of__source(&s->of->of, i);

		for (; row < source.row + source.nr_rows; row++)
			if (!s->left_out[row])
				moves__add(m, s, mixtures, row, seen++ * NR_BLOCKS / nr_used,
					   m->explained + (size_t)i * s->nr_sides, by);
	}
	free(by);
	return 0;
}

static void moves__exit(struct moves *m)
{
	free(m->sums);
	free(m->explained);
	free(m->ways);
}

/* Return: 0 or -ENOMEM; call moves__exit() in either case. */
static int moves__find(struct moves *m, struct system *s, const struct mixture *mixtures)
{
	m->sums = calloc((size_t)s->nr_sides * NR_MOVES * m->e->n + 1, sizeof(*m->sums));
	m->explained = calloc((size_t)s->nr_sides * mixture_of__nr_sources(&s->of->of) + 1,
			      sizeof(*m->explained));
	m->ways = calloc(m->e->n + 1, sizeof(*m->ways));
	if (!m->sums || !m->explained || !m->ways)
		return -ENOMEM;
	return moves__sum(m, s, mixtures);
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* one metric's values in a group: weighted sums over the group's columns */
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

/* Sets the means of one metric for all sources. */
static void check_side(const struct system *s, const struct moves *m, uint32_t side,
		       struct solved *to)
{
	uint32_t metric = s->sides[side], i;

	for (i = 0; i < mixture_of__nr_sources(&s->of->of); i++) {
		struct mixture_source source = mixture_of__source(&s->of->of, i);
		size_t row, nr = 0, at = (size_t)i * s->of->nr_metrics + metric;
		double measured = 0;

		for (row = source.row; row < source.row + source.nr_rows; row++) {
			nr += !s->left_out[row];
			measured += s->left_out[row] ? 0 : system__samples(s, row)[metric];
		}
		to->explained[at] = nr ? m->explained[(size_t)i * s->nr_sides + side] / nr : NAN;
		to->measured[at] = nr ? measured / nr : NAN;
	}
}

/* Sets the values of one metric for all kinds. Return: 0 or -ENOMEM. */
static int take_side(struct system *s, const struct moves *m, uint32_t side, struct solved *to)
{
	const struct normal *e = m->e;
	uint32_t metric = s->sides[side], n = e->n, i;
	double *moved = calloc(NR_MOVES * (size_t)n + 1, sizeof(*moved));
	struct group_sum *sums = calloc(n + 1, sizeof(*sums));
	double usual = normal__usual_rest(e, side, system__count_used(s));
	int err = moved && sums ? 0 : -ENOMEM;

	if (!err) {
		normal__times_inverse(e, m->sums + (size_t)side * NR_MOVES * n, NR_MOVES, moved);
		sum_groups(s, e, side, moved, sums);
	}
	for (i = 0; i < mixture_of__nr_all(&s->of->of) && !err; i++) {
		uint32_t group = s->groups[s->columns[i]];
		const struct group_sum *sum = &sums[group];
		struct solved_value *v = &to->values[(size_t)i * s->of->nr_metrics + metric];
		double error =
			sum->weight > 0 ? group_sum__error(sum, usual, s->fewer[group]) : INFINITY;

		*v = (struct solved_value){ NAN, NAN };
		if (error <= s->limits[side])
			*v = (struct solved_value){ sum->value / sum->weight, error };
	}
	check_side(s, m, side, to);
	to->residue[metric] = usual;
	free(sums);
	free(moved);
	return err;
}

/*
 * Takes the metrics that are not solved yet or that these equations explain better. Return: 0 or
 * -ENOMEM.
 */
static int take_better(struct system *s, const struct mixture *mixtures, struct normal *e,
		       bool amounts, struct solved *to)
{
	double *slopes = calloc((size_t)e->n * s->nr_sides + 1, sizeof(*slopes));
	bool *taken = calloc(s->nr_sides + 1, sizeof(*taken)), any = false;
	struct moves moves = { .e = e, .slopes = slopes, .taken = taken };
	uint32_t k;
	int err = slopes && taken ? 0 : -ENOMEM;

	for (k = 0; k < s->nr_sides && !err; k++) {
		taken[k] = !amounts || normal__usual_rest(e, k, system__count_used(s)) <
					       BETTER * to->residue[s->sides[k]];
		any |= taken[k];
	}
	if (err || !any)
		goto out;
	err = normal__invert(e);
	if (!err && !amounts) {
		system__count_samples(s, &mixtures[MIXTURE]);
		err = system__group(s, e);
	}
	err = err ?: system__find_slopes(s, &mixtures[MIXTURE], &mixtures[SLOPING], e, slopes) ?:
	      moves__find(&moves, s, mixtures);
	for (k = 0; k < s->nr_sides && !err; k++)
		if (taken[k])
			err = take_side(s, &moves, k, to);
out:
	moves__exit(&moves);
	free(slopes);
	free(taken);
	return err;
}

/*
 * Solves the metrics. @amounts: all pieces of a kind have the same amount, not the same rate.
 * Return: 0 or -ENOMEM.
 */
static int solve_as(struct system *s, bool amounts, struct solved *to)
{
	struct mixture_as as = { .shifts = s->shifts, .amounts = amounts };
	struct mixture mixtures[NR_MIXTURES] = { 0 };
	struct normal e = { 0 };
	int err = mixture__make(&mixtures[MIXTURE], &s->of->of, &as), i;

	as.errors = 1;
	err = err ?: mixture__make(&mixtures[LATER], &s->of->of, &as);
	as.errors = 0;
	as.slope = SLOPE;
	err = err ?: mixture__make(&mixtures[SLOPING], &s->of->of, &as);
	err = err ?: system__solve(s, &mixtures[MIXTURE], &e) ?: normal__bound(&e, s->most) ?:
	      take_better(s, mixtures, &e, amounts, to);
	normal__exit(&e);
	for (i = 0; i < NR_MIXTURES; i++)
		mixture__exit(&mixtures[i]);
	return err;
}

/* Numbers the groups of kinds that share one value. Return: 0 or -ENOMEM. */
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
	size_t nr = (size_t)mixture_of__nr_all(&of->of) * of->nr_metrics, i;
	size_t nr_checks = (size_t)mixture_of__nr_sources(&of->of) * of->nr_metrics;

	*s = (struct solved){ 0 };
	s->values = malloc((nr + 1) * sizeof(*s->values));
	s->together = calloc(of->of.nr_kinds + 1, sizeof(*s->together));
	s->measured = malloc((2 * nr_checks + of->nr_metrics + 1) * sizeof(*s->measured));
	if (!s->values || !s->together || !s->measured)
		return -ENOMEM;
	s->explained = s->measured + nr_checks;
	s->residue = s->explained + nr_checks;
	for (i = 0; i < nr; i++)
		s->values[i] = (struct solved_value){ NAN, NAN };
	for (i = 0; i < 2 * nr_checks + of->nr_metrics; i++)
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
	err = system__find_shifts(&s)				   ?:
		      system__choose_columns(&s, MAX_COLUMNS)	   ?:
		      system__leave_out_spoilt(&s, &to->nr_spoilt) ?:
		      solve_as(&s, false, to)			   ?:
		      solve_as(&s, true, to)			   ?:
								     number_groups(&s, to);
	to->nr_used = system__count_used(&s);
	to->shift = s.shifts[0];
out:
	system__exit(&s);
	return err;
}
