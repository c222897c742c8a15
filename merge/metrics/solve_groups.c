// SPDX-License-Identifier: GPL-3.0-or-later
#include "metrics/solve_system.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define MOST_SAMPLES 400 /* at most this many samples of a kind count as independent */
#define OPPOSED (-0.4) /* kinds with a lower correlation form a group */

/* Sets s->weights and s->fewer. */
void system__count_samples(struct system *s, const struct mixture *m)
{
	double *squares = s->fewer;
	size_t row;
	uint32_t i, nr;

	for (row = 0; row < m->nr_rows; row++) {
		nr = s->left_out[row] ? 0 : system__row(s, m, row);
		for (i = 0; i < nr; i++) {
			s->weights[s->used[i]] += s->shares[i];
			squares[s->used[i]] += s->shares[i] * s->shares[i];
		}
	}
	for (i = 0; i < s->nr_columns; i++)
		s->fewer[i] = fmax(squares[i] > 0 ? s->weights[i] * s->weights[i] / squares[i] /
							    MOST_SAMPLES :
						    1,
				   1);
}

/* Return: the usual residue of a metric. */
double normal__usual_rest(const struct normal *e, uint32_t side, size_t nr_rows)
{
	return sqrt(normal__rest(e, side) / (nr_rows > e->n ? nr_rows - e->n : 1));
}

/* groups of columns: a group's values cannot be determined, but its mean can */
struct grouping {
	struct system *s;
	uint32_t n, first_idle;		/* idle times have the last columns */
	double *both;			/* n * n: covariances of groups' sums of weight * value */
	double *weights;		/* for each group; 0: it was joined to another group */
	bool *done;
};

/* Return: the error of a group's mean if each residue is 1. */
static double group__error(const struct grouping *g, uint32_t i)
{
	return sqrt(fabs(g->both[(size_t)i * g->n + i]) * g->s->fewer[i]) / g->weights[i];
}

/* Return: the smallest group that can take over a part of this group's values; or NO_INDEX. */
static uint32_t group__opposed(const struct grouping *g, uint32_t group)
{
	const double *row = g->both + (size_t)group * g->n;
	uint32_t i, found = NO_INDEX;

	for (i = 0; i < g->n; i++) {
		double both = row[group] * g->both[(size_t)i * g->n + i];
		double correlation = both > 0 ? row[i] / sqrt(both) : 0;

		/* A large group would absorb the value of a small group. */
		if (i != group && i < g->first_idle && g->weights[i] > 0 && correlation < OPPOSED &&
		    (found == NO_INDEX || g->weights[i] < g->weights[found]))
			found = i;
	}
	return found;
}

static void group__join(struct grouping *g, uint32_t to, uint32_t from)
{
	double *row = g->both + (size_t)to * g->n, *other = g->both + (size_t)from * g->n;
	uint32_t i;

	for (i = 0; i < g->n; i++)
		row[i] += other[i];
	for (i = 0; i < g->n; i++)
		g->both[(size_t)i * g->n + to] += g->both[(size_t)i * g->n + from];
	g->weights[to] += g->weights[from];
	g->weights[from] = 0;
	g->s->fewer[to] = fmax(g->s->fewer[to], g->s->fewer[from]);
	for (i = 0; i < g->n; i++)
		if (g->s->groups[i] == from)
			g->s->groups[i] = to;
}

/* Joins groups, the one with the largest error first, until each error is small enough. */
static void grouping__run(struct grouping *g, double largest)
{
	for (;;) {
		uint32_t i, worst = NO_INDEX, with;
		double most = largest, error;

		for (i = 0; i < g->n; i++) {
			if (g->done[i] || !(g->weights[i] > 0))
				continue;
			error = group__error(g, i);
			if (error > most) {
				most = error;
				worst = i;
			}
		}
		if (worst == NO_INDEX)
			break;
		with = group__opposed(g, worst);
		if (with == NO_INDEX)
			g->done[worst] = true;
		else
			group__join(g, worst, with);
	}
}

/* Groups the columns. Return: 0 or -ENOMEM. */
int system__group(struct system *s, const struct normal *e)
{
	struct grouping g = { .s = s, .n = e->n, .first_idle = s->columns[s->of->of.nr_kinds] };
	double *largest = calloc(s->nr_sides + 1, sizeof(*largest));
	size_t nr_rows = system__count_used(s);
	uint32_t i, k;
	int err;

	g.both = malloc(((size_t)e->n * e->n + 1) * sizeof(*g.both));
	g.weights = malloc((e->n + 1) * sizeof(*g.weights));
	g.done = calloc(e->n + 1, sizeof(*g.done));
	err = largest && g.both && g.weights && g.done ? 0 : -ENOMEM;
	for (i = 0; i < e->n && !err; i++) {
		s->groups[i] = i;
		g.weights[i] = s->weights[i];
		for (k = 0; k < e->n; k++)
			g.both[(size_t)i * e->n + k] =
				s->weights[i] * s->weights[k] * e->inverse[(size_t)i * e->n + k];
	}
	for (k = 0; k < s->nr_sides && !err; k++)
		largest[k] = s->limits[k] / 2 / fmax(normal__usual_rest(e, k, nr_rows), 1e-12);
	if (!err) {
		/*
		 * The groups suffice for half of the metrics; some values of the other metrics stay
		 * unknown.
		 */
		qsort(largest, s->nr_sides, sizeof(*largest), double__cmp);
		for (i = g.first_idle; i < e->n; i++)
			g.done[i] = true;
		grouping__run(&g, largest[s->nr_sides / 2]);
	}
	free(largest);
	free(g.both);
	free(g.weights);
	free(g.done);
	return err;
}
