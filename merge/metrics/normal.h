/* SPDX-License-Identifier: GPL-3.0-or-later */
/* normal.h - least squares by the normal equations, for several right-hand sides */
#ifndef MERGE_NORMAL_H
#define MERGE_NORMAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct normal {
	uint32_t n, nr_sides;
	double *gram;			/* n * n; symmetric after normal__solve() */
	double *sides;			/* n for each right-hand side */
	double *x;			/* n for each right-hand side: the solution */
	double *factor;			/* n * n: the Cholesky factor, on the diagonal and below */
	double *inverse;		/* n * n; NULL before normal__invert() */
	double *squares;		/* for each right-hand side: sum of the squares of its
					 * samples */
};

/* Return: 0 or -ENOMEM; call normal__exit() in either case. */
int normal__init(struct normal *e, uint32_t n, uint32_t nr_sides);
void normal__exit(struct normal *e);

/* Adds an equation: the sum of shares[i] * x[columns[i]] is y[side]. Each column comes once. */
void normal__add(struct normal *e, const uint32_t *columns, const double *shares, uint32_t nr,
		 const double *y);

/* Sets e->x to the solution, without bounds on its values. Return: 0 or -ENOMEM. */
int normal__solve(struct normal *e);

/* Sets inverse, unless it is set. Call it after normal__solve(). Return: 0 or -ENOMEM. */
int normal__invert(struct normal *e);

/*
 * Moves the solution to the best solution in which all values are between 0 and a limit. @most: the
 * limit for each right-hand side. Return: 0 or -ENOMEM.
 */
int normal__bound(struct normal *e, const double *most);

/* Return: the sum of squared residues of a right-hand side's solution. */
double normal__rest(const struct normal *e, uint32_t side);

/* Multiplies the inverse by @nr vectors. */
void normal__times_inverse(const struct normal *e, const double *v, uint32_t nr, double *to);

/*
 * Sets to[i] to v' * inverse * v for each of n vectors. In solve_slopes.c, the result is the part
 * of a slope's square that other values explain. Return: 0 or -ENOMEM.
 */
int normal__explained(const struct normal *e, const double *v, double *to);

#endif /* MERGE_NORMAL_H */
