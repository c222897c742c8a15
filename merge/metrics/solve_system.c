// SPDX-License-Identifier: GPL-3.0-or-later
#include "metrics/solve_system.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define LEAST_SHARE 0.02 /* a kind whose whole time is less than this fraction of a sample gets no
			  * column of its own */
#define UNUSUAL 2.0 /* samples this many times longer or shorter than the median are left out */
#define LARGE_ERROR 0.1 /* fraction of the largest sample: a value with a larger error is unknown */
#define SPOILT 8.0 /* a sample is spoilt if its residue exceeds this many usual residues */
#define MOST_SPOILT 0.05 /* fraction of all samples: if more are spoilt, none is left out */

void system__exit(struct system *s)
{
	free(s->sides);
	free(s->limits);
	free(s->most);
	free(s->columns);
	free(s->groups);
	free(s->weights);
	free(s->fewer);
	free(s->left_out);
	free(s->sums);
	free(s->shares);
	free(s->used);
	free(s->y);
	free(s->shifts);
}

/* Chooses the wanted metrics that most rows have. */
static void choose_sides(struct system *s)
{
	const struct solve_of *of = s->of;
	size_t row, nr;
	uint32_t k;

	for (k = 0; k < of->nr_metrics; k++) {
		double largest = 0;

		if (!of->wanted[k])
			continue;
		for (row = nr = 0; row < of->of.nr_rows; row++) {
			double value = system__samples(s, row)[k];

			nr += isfinite(value);
			largest = isfinite(value) ? fmax(largest, value) : largest;
		}
		if (nr < 0.9 * of->of.nr_rows || !nr)
			continue;
		s->limits[s->nr_sides] = fmax(fmax(LARGE_ERROR * largest, of->small[k]), 1e-12);
		s->most[s->nr_sides] = of->most[k];
		s->sides[s->nr_sides++] = k;
	}
	for (row = 0; row < of->of.nr_rows; row++)
		for (k = 0; k < s->nr_sides; k++)
			s->left_out[row] |= !isfinite(system__samples(s, row)[s->sides[k]]);
}

int double__cmp(const void *a, const void *b)
{
	return cmp3(*(const double *)a, *(const double *)b);
}

/* Leaves out samples of unusual length, such as the first of a source. Return: 0 or -ENOMEM. */
static int leave_out_lengths(struct system *s, const struct mixture_source *source)
{
	const struct metric_row *rows = s->of->of.rows + source->row;
	bool *left_out = s->left_out + source->row;
	size_t nr = source->nr_rows, i;
	double *ns = malloc((nr + 1) * sizeof(*ns)), usual;

	if (!ns)
		return -ENOMEM;
	for (i = 0; i < nr; i++)
		ns[i] = rows[i].end_ns - rows[i].begin_ns;
	qsort(ns, nr, sizeof(*ns), double__cmp);
	usual = nr ? ns[nr / 2] : 0;
	for (i = 0; i < nr; i++)
		left_out[i] |= rows[i].end_ns - rows[i].begin_ns > UNUSUAL * usual ||
			       UNUSUAL * (rows[i].end_ns - rows[i].begin_ns) < usual;
	free(ns);
	return 0;
}

int system__init(struct system *s, const struct solve_of *of)
{
	size_t nr = mixture_of__nr_all(&of->of) + 1;
	uint32_t nr_sources = mixture_of__nr_sources(&of->of), i;
	int err = 0;

	*s = (struct system){ .of = of };
	s->sides = calloc(of->nr_metrics + 1, sizeof(*s->sides));
	s->limits = calloc(of->nr_metrics + 1, sizeof(*s->limits));
	s->most = calloc(of->nr_metrics + 1, sizeof(*s->most));
	s->y = calloc(of->nr_metrics + 1, sizeof(*s->y));
	s->shifts = calloc(nr_sources, sizeof(*s->shifts));
	s->left_out = calloc(of->of.nr_rows + 1, sizeof(*s->left_out));
	s->columns = calloc(nr, sizeof(*s->columns));
	s->groups = calloc(nr, sizeof(*s->groups));
	s->weights = calloc(nr, sizeof(*s->weights));
	s->fewer = calloc(nr, sizeof(*s->fewer));
	s->sums = calloc(nr, sizeof(*s->sums));
	s->shares = calloc(nr, sizeof(*s->shares));
	s->used = calloc(nr, sizeof(*s->used));
	if (!s->sides || !s->limits || !s->most || !s->y || !s->left_out || !s->columns ||
	    !s->groups || !s->weights || !s->fewer || !s->sums || !s->shares || !s->used ||
	    !s->shifts)
		return -ENOMEM;
	choose_sides(s);
	for (i = 0; i < nr_sources && !err; i++) {
		struct mixture_source source = mixture_of__source(&of->of, i);

		s->shifts[i].error_ns = SHIFT_UNKNOWN;
		err = leave_out_lengths(s, &source);
	}
	return err;
}

size_t system__count_used(const struct system *s)
{
	size_t row, nr = 0;

	for (row = 0; row < s->of->of.nr_rows; row++)
		nr += !s->left_out[row];
	return nr;
}

/* ---- equations ------------------------------------------------------------------------------- */

/*
 * Sums the parts of a row by column, in s->used and s->shares. Return: how many columns the row
 * has.
 */
uint32_t system__row(struct system *s, const struct mixture *m, size_t row)
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
int system__solve(struct system *s, const struct mixture *m, struct normal *e)
{
	size_t row;
	uint32_t k, nr;
	int err = normal__init(e, s->nr_columns, s->nr_sides);

	for (row = 0; row < m->nr_rows && !err; row++) {
		if (s->left_out[row])
			continue;
		for (k = 0; k < s->nr_sides; k++)
			s->y[k] = system__samples(s, row)[s->sides[k]];
		nr = system__row(s, m, row);
		normal__add(e, s->used, s->shares, nr, s->y);
	}
	return err ?: normal__solve(e);
}

/* Return: the solution's value for a row, for which system__row() was called before. */
double system__value(const struct system *s, const struct normal *e, uint32_t side, uint32_t nr)
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
 * Gives a column to each of the @most kinds that have the most time, one column to all other kinds
 * together, and a column to each kind of idle time.
 * Return: 0 or -ENOMEM.
 */
int system__choose_columns(struct system *s, uint32_t most)
{
	uint32_t nr = s->of->of.nr_kinds, i;
	struct by_time *list = malloc((nr + 1) * sizeof(*list));
	double least = 0;
	bool others = false;
	size_t row;

	if (!list)
		return -ENOMEM;
	for (row = 0; row < s->of->of.nr_rows; row++)
		least += s->of->of.rows[row].end_ns - s->of->of.rows[row].begin_ns;
	least *= LEAST_SHARE / (s->of->of.nr_rows ?: 1);
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
	for (i = nr; i < mixture_of__nr_all(&s->of->of); i++)
		s->columns[i] = s->nr_columns++;
	free(list);
	return 0;
}

/* ---- samples that nothing explains ----------------------------------------------------------- */

/* Leaves out rows that are far from the solution. Return: 0 or -ENOMEM. */
static int system__leave_out(struct system *s, const struct mixture *m, const struct normal *e,
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
			uint32_t nr = s->left_out[row] ? 0 : system__row(s, m, row);

			/* Idle samples are alike, and say nothing about samples with work. */
			if (nr > 1)
				rests[n++] = fabs(system__samples(s, row)[s->sides[k]] -
						  system__value(s, e, k, nr));
		}
		if (n < 20)
			break;
		qsort(rests, n, sizeof(*rests), double__cmp);
		usual = fmax(1.4826 * rests[n / 2], 1e-3 * s->limits[k]);
		for (row = 0; row < m->nr_rows; row++) {
			uint32_t nr = s->left_out[row] ? 0 : system__row(s, m, row);

			if (nr)
				far[row] =
					fmax(far[row], fabs(system__samples(s, row)[s->sides[k]] -
							    system__value(s, e, k, nr)) /
							       usual);
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

/* Finds which rows are left out. Return: 0 or -ENOMEM. */
int system__leave_out_spoilt(struct system *s, size_t *nr_spoilt)
{
	struct mixture m;
	struct normal e = { 0 };
	int err = mixture__make(&m, &s->of->of, &(struct mixture_as){ .shifts = s->shifts }) ?:
			  system__solve(s, &m, &e)						 ?:
			  system__leave_out(s, &m, &e, system__count_used(s), nr_spoilt);

	normal__exit(&e);
	mixture__exit(&m);
	return err;
}
