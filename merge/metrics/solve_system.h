/* SPDX-License-Identifier: GPL-3.0-or-later */
/* solve_system.h - the equations of solve.c, one for each sample that is used */
#ifndef MERGE_SOLVE_SYSTEM_H
#define MERGE_SOLVE_SYSTEM_H

#include <math.h>

#include "metrics/mixture.h"
#include "metrics/normal.h"

struct solve_of {
	struct mixture_of of;
	const float *values;		/* nr_metrics for each row; NaN: no value */
	uint32_t nr_metrics;
	const bool *wanted;		/* for each metric: whether it is solved */
	const double *small;		/* for each metric: a smaller error is always accepted */
	const double *most;		/* for each metric: upper bound of its values */
	const double *total_ns;		/* total time of each kind */
};

#define SHIFT_UNKNOWN 2000.0 /* ns, the error of a shift that was not found */

struct system {
	const struct solve_of *of;
	uint32_t nr_sides;
	uint32_t *sides;		/* for each right-hand side: its metric */
	double *limits;			/* for each right-hand side: a value with a larger error is
					 * unknown */
	double *most;			/* for each right-hand side: upper bound of its values */
	uint32_t *columns;		/* for each kind, and then for each idle time: its column */
	uint32_t nr_columns;
	uint32_t *groups;		/* for each column: its group, named by one of the group's
					 * columns */
	double *weights;		/* for each column: the time of its kinds, in samples */
	double *fewer;			/* for each column: its number of samples, divided by how
					 * many of these count as independent; at least 1 */
	bool *left_out;			/* for each row: whether it is left out */
	struct mixture_shift *shifts;	/* for each source */

	/* scratch memory: a sum for each column, and the columns of one row */
	double *sums;
	double *shares;
	uint32_t *used;
	double *y;
};

/* Return: 0 or -ENOMEM; call system__exit() in either case. */
int system__init(struct system *s, const struct solve_of *of);
void system__exit(struct system *s);

/*
 * Gives a column to each of the @most kinds with the most time, one column to all other kinds, and
 * one to each kind of idle time.
 * Return: 0 or -ENOMEM.
 */
int system__choose_columns(struct system *s, uint32_t most);

/* Makes and solves the equations of all rows. Return: 0 or -ENOMEM; call normal__exit() anyway. */
int system__solve(struct system *s, const struct mixture *m, struct normal *e);

/* Sums a row's parts by column, in s->used and s->shares. Return: the row's number of columns. */
uint32_t system__row(struct system *s, const struct mixture *m, size_t row);

/* Return: the solution's value for the row of the last call of system__row(). */
double system__value(const struct system *s, const struct normal *e, uint32_t side, uint32_t nr);

size_t system__count_used(const struct system *s);

static inline const float *system__samples(const struct system *s, size_t row)
{
	return s->of->values + row * s->of->nr_metrics;
}

/* Leaves out rows that no solution explains. Return: 0 or -ENOMEM. */
int system__leave_out_spoilt(struct system *s, size_t *nr_spoilt);

/*
 * solve_shift.c: for each source, finds the shift of the work's clock that explains the samples
 * best. Return: 0 or -ENOMEM.
 */
int system__find_shifts(struct system *s);

/* solve_groups.c: sets the weights of columns; puts columns into groups. Return: 0 or -ENOMEM. */
void system__count_samples(struct system *s, const struct mixture *m);
int system__group(struct system *s, const struct normal *e);

/*
 * solve_slopes.c: finds the slopes of the columns: how much higher the rate of a column may be at
 * the beginning of its work than on average. Must be called after system__count_samples() and
 * normal__invert(). @sloping: mixtures in which all work has the largest slope that the samples
 * could hide. Sets @slopes, for each column and each right-hand side, to the largest likely slope,
 * in units of the slope in @sloping. If the samples do not determine a slope, it is set to the
 * column's value. Return: 0 or -ENOMEM.
 */
int system__find_slopes(struct system *s, const struct mixture *m, const struct mixture *sloping,
			const struct normal *e, double *slopes);

/* Return: the usual residue of a metric, with @nr_rows samples. */
double normal__usual_rest(const struct normal *e, uint32_t side, size_t nr_rows);

/* Return: the standard deviation of a sum of two independent parts. hypot() needs a newer glibc. */
static inline double both_errors(double a, double b)
{
	return sqrt(a * a + b * b);
}

/* Compares two numbers of type double, for qsort(). */
int double__cmp(const void *a, const void *b);

#endif /* MERGE_SOLVE_SYSTEM_H */
