// SPDX-License-Identifier: GPL-3.0-or-later
#include "metrics/solve.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "metrics/normal.h"

#define MAX_COLUMNS	2000		/* kinds with the most time; all others are one */
#define LEAST_SHARE	0.02		/* a kind that fills less of one sample is one of the others */
#define NR_BLOCKS	32		/* blocks of time, whose differences are the error */
#define SLOPE		0.3		/* work may have so much more at its begin than on average */
#define NR_DRAWS	8		/* of which kinds of work have more at their begin */
#define MOST_SAMPLES	400		/* so many samples of a kind count as independent */
#define OPPOSED		(-0.4)		/* kinds with a lower correlation come together */
#define LARGE_ERROR	0.1		/* of the largest sample: such a value is unknown */
#define SPOILT		8.0		/* so many usual residues away, no values explain a sample */
#define MOST_SPOILT	0.05		/* of all samples */
#define BETTER		0.98		/* of the residue: then amounts explain the samples better */

/* The clocks: a first search in ns, then smaller steps around the best shift. */
#define SHIFT_MOST	16000.0
#define SHIFT_LEAST	125.0
#define SHIFT_ROWS	20000		/* samples that the search uses */
#define SHIFT_COLUMNS	200
#define SHIFT_UNKNOWN	2000.0		/* the error if no shift was found */
#define SHIFT_ERRORS	2.0		/* residues of neighbours are alike, so the error is larger */

struct system {
	const struct solve_of *of;
	uint32_t nr_sides;
	uint32_t *sides;		/* for each right side: its metric */
	double *limits;			/* for each right side: a larger error is too large */
	uint32_t *columns;		/* for each kind, and for idle time: its column */
	uint32_t nr_columns;
	uint32_t *groups;		/* for each column: its group, which is one of its columns */
	double *weights;		/* for each column: the time of its kinds, in samples */
	double *fewer;			/* for each column: how many times fewer samples count as
					 * independent than it has; at least 1 */
	bool *left_out;			/* for each row */
	double shift_ns, shift_error_ns;

	/* scratch memory: a sum for each column, and the columns of one row */
	double *sums;
	double *shares;
	uint32_t *used;
	double *y;
};

static void system__exit(struct system *s)
{
	free(s->sides);
	free(s->limits);
	free(s->columns);
	free(s->groups);
	free(s->weights);
	free(s->fewer);
	free(s->left_out);
	free(s->sums);
	free(s->shares);
	free(s->used);
	free(s->y);
}

static const float *row_values(const struct system *s, size_t row)
{
	return s->of->values + row * s->of->nr_metrics;
}

/* Chooses the metrics: those that are wanted and that most rows have. Return: 0 or -ENOMEM. */
static int choose_sides(struct system *s)
{
	const struct solve_of *of = s->of;
	size_t row, nr;
	uint32_t k;

	for (k = 0; k < of->nr_metrics; k++) {
		double largest = 0;

		if (!of->wanted[k])
			continue;
		for (row = nr = 0; row < of->of.nr_rows; row++) {
			double value = row_values(s, row)[k];

			nr += isfinite(value);
			largest = isfinite(value) ? fmax(largest, value) : largest;
		}
		if (nr < 0.9 * of->of.nr_rows || !nr)
			continue;
		s->limits[s->nr_sides] = fmax(fmax(LARGE_ERROR * largest, of->small[k]), 1e-12);
		s->sides[s->nr_sides++] = k;
	}
	for (row = 0; row < of->of.nr_rows; row++)
		for (k = 0; k < s->nr_sides; k++)
			s->left_out[row] |= !isfinite(row_values(s, row)[s->sides[k]]);
	return 0;
}

static int system__init(struct system *s, const struct solve_of *of)
{
	size_t nr = of->of.nr_kinds + 2;

	*s = (struct system){ .of = of, .shift_error_ns = SHIFT_UNKNOWN };
	s->sides = calloc(of->nr_metrics + 1, sizeof(*s->sides));
	s->limits = calloc(of->nr_metrics + 1, sizeof(*s->limits));
	s->y = calloc(of->nr_metrics + 1, sizeof(*s->y));
	s->left_out = calloc(of->of.nr_rows + 1, sizeof(*s->left_out));
	s->columns = calloc(nr, sizeof(*s->columns));
	s->groups = calloc(nr, sizeof(*s->groups));
	s->weights = calloc(nr, sizeof(*s->weights));
	s->fewer = calloc(nr, sizeof(*s->fewer));
	s->sums = calloc(nr, sizeof(*s->sums));
	s->shares = calloc(nr, sizeof(*s->shares));
	s->used = calloc(nr, sizeof(*s->used));
	if (!s->sides || !s->limits || !s->y || !s->left_out || !s->columns || !s->groups ||
	    !s->weights || !s->fewer || !s->sums || !s->shares || !s->used)
		return -ENOMEM;
	return choose_sides(s);
}

static size_t count_used(const struct system *s)
{
	size_t row, nr = 0;

	for (row = 0; row < s->of->of.nr_rows; row++)
		nr += !s->left_out[row];
	return nr;
}

/* ---- equations ------------------------------------------------------------------------------- */

/* Sums the parts of a row by column, in s->used and s->shares. Return: how many columns it has. */
static uint32_t row__columns(struct system *s, const struct mixture *m, size_t row)
{
	uint32_t nr = 0, i;
	size_t k;

	for (k = m->first[row]; k < m->first[row + 1]; k++) {
		uint32_t column = s->columns[m->parts[k].kind];

		if (m->parts[k].share <= 0)
			continue;
		if (s->sums[column] == 0)
			s->used[nr++] = column;
		s->sums[column] += m->parts[k].share;
	}
	for (i = 0; i < nr; i++) {
		s->shares[i] = s->sums[s->used[i]];
		s->sums[s->used[i]] = 0;
	}
	return nr;
}

/* Makes and solves the equations of all rows. Return: 0 or -ENOMEM. */
static int system__solve(struct system *s, const struct mixture *m, struct normal *e)
{
	size_t row;
	uint32_t k, nr;
	int err = normal__init(e, s->nr_columns, s->nr_sides);

	for (row = 0; row < m->nr_rows && !err; row++) {
		if (s->left_out[row])
			continue;
		for (k = 0; k < s->nr_sides; k++)
			s->y[k] = row_values(s, row)[s->sides[k]];
		nr = row__columns(s, m, row);
		normal__add(e, s->used, s->shares, nr, s->y);
	}
	return err ?: normal__solve(e);
}

/* Return: the value that a solution gives a row. row__columns() was called for the row. */
static double row__value(const struct system *s, const struct normal *e, uint32_t side, uint32_t nr)
{
	const double *x = e->x + (size_t)side * e->n;
	double sum = 0;
	uint32_t i;

	for (i = 0; i < nr; i++)
		sum += s->shares[i] * x[s->used[i]];
	return sum;
}

struct by_time {
	double ns;
	uint32_t kind;
};

static int by_time__cmp(const void *va, const void *vb)
{
	const struct by_time *a = va, *b = vb;

	return cmp3(b->ns, a->ns) ?: cmp3(a->kind, b->kind);
}

/*
 * Gives the @most kinds with the most time a column each, all others one, and idle time one.
 * Return: 0 or -ENOMEM.
 */
static int choose_columns(struct system *s, uint32_t most)
{
	uint32_t nr = s->of->of.nr_kinds, i;
	struct by_time *list = malloc((nr + 1) * sizeof(*list));
	double least = s->of->of.nr_rows ?
		LEAST_SHARE * (s->of->of.rows[0].end_ns - s->of->of.rows[0].begin_ns) : 0;
	bool others = false;

	if (!list)
		return -ENOMEM;
	for (i = 0; i < nr; i++)
		list[i] = (struct by_time){ s->of->total_ns[i], i };
	qsort(list, nr, sizeof(*list), by_time__cmp);
	s->nr_columns = 0;
	for (i = 0; i < nr && i < most && list[i].ns >= least; i++)
		s->columns[list[i].kind] = s->nr_columns++;
	for (; i < nr; i++) {
		s->columns[list[i].kind] = s->nr_columns;
		others = true;
	}
	s->nr_columns += others;
	s->columns[nr] = s->nr_columns++;
	free(list);
	return 0;
}

/* ---- the two clocks -------------------------------------------------------------------------- */

/* a part of the samples, which the search for the shift uses */
struct search {
	struct system s;
	struct solve_of of;
	size_t nr_used;
	bool amounts;			/* these explain the samples better than rates */
};

static bool row__has_work(const struct solve_of *of, size_t row)
{
	const struct metric_row *r = &of->of.rows[row];
	const struct piece *p = of->of.pieces;
	/* Pieces are in the order of their begins: a long one before others is not seen. */
	size_t i = sorted_count(of->of.nr_pieces, k, p[k].begin_ns < r->end_ns);

	return i && p[i - 1].end_ns > r->begin_ns;
}

/* Takes rows up to SHIFT_ROWS with work, and the pieces near them. */
static void search__choose(struct search *f, const struct solve_of *of)
{
	size_t row, nr = 0, from, to;
	const struct piece *p = of->of.pieces;

	f->of = *of;
	for (row = 0; row < of->of.nr_rows && nr < SHIFT_ROWS; row++)
		nr += row__has_work(of, row);
	f->nr_used = nr;
	f->of.of.nr_rows = row;
	if (!row)
		return;
	from = 0;
	to = sorted_count(of->of.nr_pieces, i,
			  p[i].begin_ns < of->of.rows[row - 1].end_ns + (uint64_t)SHIFT_MOST);
	f->of.of.pieces = p + from;
	f->of.of.nr_pieces = to - from;
}

/* *@rest: N * the sum of the logarithms of what is left. Return: 0 or -ENOMEM. */
static int search__rest(struct search *f, double shift_ns, double *rest)
{
	struct mixture m;
	struct normal e = { 0 };
	uint32_t k;
	int err = mixture__make(&m, &f->of.of, &(struct mixture_as){ shift_ns, f->amounts, 0 }) ?:
		  system__solve(&f->s, &m, &e);

	*rest = 0;
	for (k = 0; k < f->s.nr_sides && !err; k++)
		if (e.squares[k] > 0)
			*rest += f->nr_used * log(normal__rest(&e, k) + 1e-9 * e.squares[k]);
	normal__exit(&e);
	mixture__exit(&m);
	return err;
}

/*
 * Finds the shift of the works' times that explains the samples best. Return: 0 or -ENOMEM.
 */
static int find_shift(struct system *s)
{
	struct search f = { 0 };
	double best = 0, rest, least, step, at[2], bend;
	int err, i;

	search__choose(&f, s->of);
	err = system__init(&f.s, &f.of) ?: choose_columns(&f.s, SHIFT_COLUMNS);
	if (err || f.nr_used < 4 * f.s.nr_columns || !f.s.nr_sides)
		goto out;
	err = search__rest(&f, 0, &least);
	f.amounts = true;
	err = err ?: search__rest(&f, 0, &rest);
	f.amounts = rest < least;
	least = fmin(rest, least);
	for (step = SHIFT_MOST; step >= SHIFT_LEAST && !err; step /= 2) {
		double around = best;

		for (i = -1; i <= 1 && !err; i += 2) {
			err = search__rest(&f, around + i * step, &rest);
			if (!err && rest < least) {
				least = rest;
				best = around + i * step;
			}
		}
	}
	step = 4 * SHIFT_LEAST;
	for (i = 0; i < 2 && !err; i++)
		err = search__rest(&f, best + (i ? step : -step), &at[i]);
	if (err)
		goto out;
	bend = (at[0] + at[1] - 2 * least) / (step * step);
	s->shift_ns = best;
	s->shift_error_ns = bend > 0 ? fmin(SHIFT_ERRORS * sqrt(2 / bend) + SHIFT_LEAST,
					    SHIFT_UNKNOWN) : SHIFT_UNKNOWN;
out:
	system__exit(&f.s);
	return err;
}

/* ---- errors ---------------------------------------------------------------------------------- */

/*
 * What each block of time moves one metric's values by: NR_BLOCKS times a value for each column.
 * Return: 0 or -ENOMEM.
 */
static int block_errors(struct system *s, const struct mixture *m, const struct normal *e,
			uint32_t side, double *moved)
{
	size_t nr_used = count_used(s), row, seen = 0;
	double *sum = calloc((size_t)e->n + 1, sizeof(*sum));
	uint32_t i, nr, block = 0;

	if (!sum)
		return -ENOMEM;
	for (row = 0; row < m->nr_rows; row++) {
		double rest;

		if (s->left_out[row])
			continue;
		nr = row__columns(s, m, row);
		rest = row_values(s, row)[s->sides[side]] - row__value(s, e, side, nr);
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
 * What one metric's values are moved by if the mixtures are @other instead of @m. @draw: 0: for all
 * columns; else about half of the columns are moved the other way, which ones depends on it. Return:
 * 0 or -ENOMEM.
 */
static int other_errors(struct system *s, const struct mixture *m, const struct mixture *other,
			const struct normal *e, uint32_t side, uint32_t draw, double *moved)
{
	const double *x = e->x + (size_t)side * e->n;
	double *sum = calloc((size_t)e->n + 1, sizeof(*sum));
	size_t row;
	uint32_t i, nr;

	if (!sum)
		return -ENOMEM;
	for (row = 0; row < m->nr_rows; row++) {
		double by = 0;

		if (s->left_out[row])
			continue;
		nr = row__columns(s, other, row);
		for (i = 0; i < nr; i++)
			by += way(s->used[i], draw) * s->shares[i] * x[s->used[i]];
		nr = row__columns(s, m, row);
		for (i = 0; i < nr; i++)
			by -= way(s->used[i], draw) * s->shares[i] * x[s->used[i]];
		for (i = 0; i < nr; i++)
			sum[s->used[i]] += s->shares[i] * by;
	}
	normal__times_inverse(e, sum, moved);
	free(sum);
	return 0;
}

/* Sets the weights of columns, and how few of their samples count. */
static void count_samples(struct system *s, const struct mixture *m)
{
	double *squares = s->fewer;
	size_t row;
	uint32_t i, nr;

	for (row = 0; row < m->nr_rows; row++) {
		nr = s->left_out[row] ? 0 : row__columns(s, m, row);
		for (i = 0; i < nr; i++) {
			s->weights[s->used[i]] += s->shares[i];
			squares[s->used[i]] += s->shares[i] * s->shares[i];
		}
	}
	for (i = 0; i < s->nr_columns; i++)
		s->fewer[i] = fmax(squares[i] > 0 ? s->weights[i] * s->weights[i] / squares[i] /
					   MOST_SAMPLES : 1, 1);
}

/* ---- kinds that come together ---------------------------------------------------------------- */

/* Return: the usual residue of a metric. */
static double usual_rest(const struct normal *e, uint32_t side, size_t nr_rows)
{
	return sqrt(normal__rest(e, side) / (nr_rows > e->n ? nr_rows - e->n : 1));
}

/* groups of columns whose values cannot be told apart, but whose mean can be told */
struct grouping {
	struct system *s;
	uint32_t n, idle;
	double *both;			/* n * n: covariances of the groups' sums of weight * value */
	double *weights;		/* for each group; 0: it has become a part of another */
	bool *done;
};

/* Return: the error of a group's mean, for residues of 1. */
static double group__error(const struct grouping *g, uint32_t i)
{
	return sqrt(fabs(g->both[(size_t)i * g->n + i]) * g->s->fewer[i]) / g->weights[i];
}

/* Return: the group whose values can stand for a part of the group's values; or NO_INDEX. */
static uint32_t group__opposed(const struct grouping *g, uint32_t group)
{
	const double *row = g->both + (size_t)group * g->n;
	double least = OPPOSED;
	uint32_t i, found = NO_INDEX;

	for (i = 0; i < g->n; i++) {
		double both = row[group] * g->both[(size_t)i * g->n + i];
		double correlation = both > 0 ? row[i] / sqrt(both) : 0;

		if (i != group && i != g->idle && g->weights[i] > 0 && correlation < least) {
			least = correlation;
			found = i;
		}
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
static int make_groups(struct system *s, const struct normal *e)
{
	struct grouping g = { .s = s, .n = e->n, .idle = s->columns[s->of->of.nr_kinds] };
	double largest = INFINITY;
	size_t nr_rows = count_used(s);
	uint32_t i, k;
	int err;

	g.both = malloc(((size_t)e->n * e->n + 1) * sizeof(*g.both));
	g.weights = malloc((e->n + 1) * sizeof(*g.weights));
	g.done = calloc(e->n + 1, sizeof(*g.done));
	err = g.both && g.weights && g.done ? 0 : -ENOMEM;
	for (i = 0; i < e->n && !err; i++) {
		s->groups[i] = i;
		g.weights[i] = s->weights[i];
		for (k = 0; k < e->n; k++)
			g.both[(size_t)i * e->n + k] = s->weights[i] * s->weights[k] *
						       e->inverse[(size_t)i * e->n + k];
	}
	for (k = 0; k < s->nr_sides && !err; k++)
		largest = fmin(largest, s->limits[k] / 2 / fmax(usual_rest(e, k, nr_rows), 1e-12));
	if (!err) {
		g.done[g.idle] = true;
		grouping__run(&g, largest);
	}
	free(g.both);
	free(g.weights);
	free(g.done);
	return err;
}

/* ---- samples that nothing explains ----------------------------------------------------------- */

static int double__cmp(const void *a, const void *b)
{
	return cmp3(*(const double *)a, *(const double *)b);
}

/* Leaves out rows that are far from what the solution says. Return: 0 or -ENOMEM. */
static int leave_out(struct system *s, const struct mixture *m, const struct normal *e,
		     size_t nr_used, size_t *nr_spoilt)
{
	double *rests = malloc((m->nr_rows + 1) * sizeof(*rests));
	double *far = calloc(m->nr_rows + 1, sizeof(*far));
	size_t row, n;
	uint32_t k;
	int err = rests && far ? 0 : -ENOMEM;

	for (k = 0; k < s->nr_sides && !err; k++) {
		double usual;

		for (row = n = 0; row < m->nr_rows; row++) {
			uint32_t nr = s->left_out[row] ? 0 : row__columns(s, m, row);

			/* Idle samples are alike, and say nothing about those with work. */
			if (nr > 1)
				rests[n++] = fabs(row_values(s, row)[s->sides[k]] -
						  row__value(s, e, k, nr));
		}
		if (n < 20)
			break;
		qsort(rests, n, sizeof(*rests), double__cmp);
		usual = fmax(1.4826 * rests[n / 2], 1e-3 * s->limits[k]);
		for (row = 0; row < m->nr_rows; row++) {
			uint32_t nr = s->left_out[row] ? 0 : row__columns(s, m, row);

			if (nr)
				far[row] = fmax(far[row], fabs(row_values(s, row)[s->sides[k]] -
							       row__value(s, e, k, nr)) / usual);
		}
	}
	*nr_spoilt = 0;
	for (row = 0; row < m->nr_rows && !err; row++)
		*nr_spoilt += far[row] > SPOILT;
	for (row = 0; row < m->nr_rows && !err && *nr_spoilt <= MOST_SPOILT * nr_used; row++)
		s->left_out[row] |= far[row] > SPOILT;
	free(rests);
	free(far);
	return err;
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* Finds which rows are left out. Return: 0 or -ENOMEM. */
static int find_spoilt(struct system *s, size_t *nr_spoilt)
{
	struct mixture m;
	struct normal e = { 0 };
	int err = mixture__make(&m, &s->of->of, &(struct mixture_as){ .shift_ns = s->shift_ns }) ?:
		  system__solve(s, &m, &e) ?:
		  leave_out(s, &m, &e, count_used(s), nr_spoilt);

	normal__exit(&e);
	mixture__exit(&m);
	return err;
}

/* the mixtures, as they are and as they may be instead */
enum {
	MIXTURE,
	LATER,				/* by the error of the shift */
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
		    squares(sum->moves + BY_SLOPES, NR_DRAWS) / NR_DRAWS) / sum->weight;
}

/* Finds what moves one metric's values: NR_MOVES times a value for each column. */
static int find_moves(struct system *s, const struct mixture *mixtures, const struct normal *e,
		      uint32_t side, double *moved)
{
	size_t n = e->n;
	uint32_t i;
	int err = block_errors(s, &mixtures[MIXTURE], e, side, moved + BY_BLOCKS * n) ?:
		  other_errors(s, &mixtures[MIXTURE], &mixtures[LATER], e, side, 0,
			       moved + BY_SHIFT * n);

	for (i = 0; i < NR_DRAWS && !err; i++)
		err = other_errors(s, &mixtures[MIXTURE], &mixtures[SLOPING], e, side, i,
				   moved + (BY_SLOPES + i) * n);
	return err;
}

/* Sets the values of one metric for all kinds. Return: 0 or -ENOMEM. */
static int take_side(struct system *s, const struct mixture *mixtures, const struct normal *e,
		     uint32_t side, struct solved *to)
{
	uint32_t metric = s->sides[side], n = e->n, i;
	double *moved = calloc(NR_MOVES * (size_t)n + 1, sizeof(*moved));
	struct group_sum *sums = calloc(n + 1, sizeof(*sums));
	size_t nr_rows = count_used(s), row;
	double usual = usual_rest(e, side, nr_rows), explained = 0, measured = 0;
	int err = moved && sums ? find_moves(s, mixtures, e, side, moved) : -ENOMEM;

	if (!err)
		sum_groups(s, e, side, moved, sums);
	for (i = 0; i <= s->of->of.nr_kinds && !err; i++) {
		uint32_t group = s->groups[s->columns[i]];
		const struct group_sum *sum = &sums[group];
		struct solved_value *v = &to->values[(size_t)i * s->of->nr_metrics + metric];
		double error = sum->weight > 0 ?
			group_sum__error(sum, usual, s->fewer[group]) : INFINITY;

		*v = (struct solved_value){ NAN, NAN };
		if (error <= s->limits[side])
			*v = (struct solved_value){ sum->value / sum->weight, error };
	}
	for (row = 0; row < mixtures[MIXTURE].nr_rows && !err; row++) {
		if (s->left_out[row])
			continue;
		explained += row__value(s, e, side, row__columns(s, &mixtures[MIXTURE], row));
		measured += row_values(s, row)[metric];
	}
	to->explained[metric] = nr_rows ? explained / nr_rows : NAN;
	to->measured[metric] = nr_rows ? measured / nr_rows : NAN;
	to->residue[metric] = usual;
	free(sums);
	free(moved);
	return err;
}

/*
 * Solves with rates or amounts, and takes the metrics that this explains better than what is known.
 * Return: 0 or -ENOMEM.
 */
static int solve_as(struct system *s, bool amounts, struct solved *to)
{
	struct mixture_as as = { .shift_ns = s->shift_ns, .amounts = amounts };
	struct mixture mixtures[NR_MIXTURES] = { 0 };
	struct normal e = { 0 };
	uint32_t k;
	int err = mixture__make(&mixtures[MIXTURE], &s->of->of, &as), i;

	as.shift_ns += s->shift_error_ns;
	err = err ?: mixture__make(&mixtures[LATER], &s->of->of, &as);
	as.shift_ns = s->shift_ns;
	as.slope = SLOPE;
	err = err ?: mixture__make(&mixtures[SLOPING], &s->of->of, &as);
	err = err ?: system__solve(s, &mixtures[MIXTURE], &e);
	if (!err && !amounts) {
		count_samples(s, &mixtures[MIXTURE]);
		err = make_groups(s, &e);
	}
	err = err ?: normal__positive(&e);
	for (k = 0; k < s->nr_sides && !err; k++)
		if (!amounts ||
		    usual_rest(&e, k, count_used(s)) < BETTER * to->residue[s->sides[k]])
			err = take_side(s, mixtures, &e, k, to);
	normal__exit(&e);
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
	err = find_shift(&s) ?: choose_columns(&s, MAX_COLUMNS) ?: find_spoilt(&s, &to->nr_spoilt) ?:
	      solve_as(&s, false, to) ?: solve_as(&s, true, to) ?: number_groups(&s, to);
	to->nr_used = count_used(&s);
	to->shift_ns = s.shift_ns;
	to->shift_error_ns = s.shift_error_ns;
out:
	system__exit(&s);
	return err;
}
