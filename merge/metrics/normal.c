// SPDX-License-Identifier: GPL-3.0-or-later
#include "metrics/normal.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RIDGE \
	1e-5 /* is added to the diagonal, so that a singular matrix has an
					 * inverse that rounding does not spoil */
#define MAX_SWEEPS 500
#define SMALL_STEP 1e-5 /* of the largest value */

int normal__init(struct normal *e, uint32_t n, uint32_t nr_sides)
{
	*e = (struct normal){ .n = n, .nr_sides = nr_sides };
	e->gram = calloc((size_t)n * n + 1, sizeof(*e->gram));
	e->sides = calloc((size_t)n * nr_sides + 1, sizeof(*e->sides));
	e->x = calloc((size_t)n * nr_sides + 1, sizeof(*e->x));
	e->squares = calloc(nr_sides + 1, sizeof(*e->squares));
	return e->gram && e->sides && e->x && e->squares ? 0 : -ENOMEM;
}

void normal__exit(struct normal *e)
{
	free(e->gram);
	free(e->factor);
	free(e->inverse);
	free(e->sides);
	free(e->x);
	free(e->squares);
	memset(e, 0, sizeof(*e));
}

void normal__add(struct normal *e, const uint32_t *columns, const double *shares, uint32_t nr,
		 const double *y)
{
	uint32_t i, k;

	for (i = 0; i < nr; i++) {
		double *row = e->gram + (size_t)columns[i] * e->n;

		for (k = 0; k < nr; k++)
			row[columns[k]] += shares[i] * shares[k];
		for (k = 0; k < e->nr_sides; k++)
			e->sides[(size_t)k * e->n + columns[i]] += shares[i] * y[k];
	}
	for (k = 0; k < e->nr_sides; k++)
		e->squares[k] += y[k] * y[k];
}

typedef double pair __attribute__((vector_size(16)));

static pair load(const double *v)
{
	pair p;

	memcpy(&p, v, sizeof(p));
	return p;
}

/* Several sums let the processor add at the same time. */
static double dot(const double *a, const double *b, uint32_t n)
{
	pair s0 = { 0 }, s1 = { 0 }, s2 = { 0 }, s3 = { 0 };
	double sum = 0;
	uint32_t i;

	for (i = 0; i + 8 <= n; i += 8) {
		s0 += load(a + i) * load(b + i);
		s1 += load(a + i + 2) * load(b + i + 2);
		s2 += load(a + i + 4) * load(b + i + 4);
		s3 += load(a + i + 6) * load(b + i + 6);
	}
	for (; i < n; i++)
		sum += a[i] * b[i];
	s0 += s1 + s2 + s3;
	return sum + s0[0] + s0[1];
}

static void add_times(double *to, const double *v, double by, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		to[i] += v[i] * by;
}

/* Sets the lower triangle of @l to the Cholesky factor of the matrix. */
static void factorize(const struct normal *e, double *l)
{
	uint32_t n = e->n, i, k;

	for (i = 0; i < n; i++) {
		double *row = l + (size_t)i * n;

		for (k = 0; k < i; k++)
			row[k] = (e->gram[(size_t)i * n + k] - dot(row, l + (size_t)k * n, k)) /
				 l[(size_t)k * n + k];
		row[i] = sqrt(fmax(e->gram[(size_t)i * n + i] - dot(row, row, i), 0) + RIDGE);
	}
}

/* Sets the upper triangle of @inv to the transposed inverse of the lower triangle of @l. */
static void invert_triangle(const double *l, double *inv, uint32_t n)
{
	uint32_t i, k;

	/* Column k of the inverse is row k here, so that all loops run along rows. */
	for (k = 0; k < n; k++) {
		double *row = inv + (size_t)k * n;

		memset(row, 0, n * sizeof(*row));
		row[k] = 1 / l[(size_t)k * n + k];
		for (i = k + 1; i < n; i++)
			row[i] = -dot(l + (size_t)i * n + k, row + k, i - k) / l[(size_t)i * n + i];
	}
}

/* Computes x for one right side, by the factor. */
static void substitute(const struct normal *e, const double *side, double *x)
{
	const double *l = e->factor;
	uint32_t n = e->n, i;

	for (i = 0; i < n; i++)
		x[i] = (side[i] - dot(l + (size_t)i * n, x, i)) / l[(size_t)i * n + i];
	for (i = n; i-- > 0;) {
		x[i] /= l[(size_t)i * n + i];
		add_times(x, l + (size_t)i * n, -x[i], i);
	}
}

int normal__solve(struct normal *e)
{
	uint32_t i;

	e->factor = calloc((size_t)e->n * e->n + 1, sizeof(*e->factor));
	if (!e->factor)
		return -ENOMEM;
	factorize(e, e->factor);
	for (i = 0; i < e->nr_sides; i++)
		substitute(e, e->sides + (size_t)i * e->n, e->x + (size_t)i * e->n);
	return 0;
}

int normal__invert(struct normal *e)
{
	size_t size = (size_t)e->n * e->n;
	double *inv = malloc((size + 1) * sizeof(*inv));
	uint32_t n = e->n, i, k;

	e->inverse = malloc((size + 1) * sizeof(*e->inverse));
	if (!inv || !e->inverse) {
		free(inv);
		return -ENOMEM;
	}
	invert_triangle(e->factor, inv, n);
	for (i = 0; i < n; i++)
		for (k = 0; k <= i; k++)
			e->inverse[(size_t)i * n + k] = e->inverse[(size_t)k * n + i] =
				dot(inv + (size_t)i * n + i, inv + (size_t)k * n + i, n - i);
	free(inv);
	return 0;
}

void normal__times_inverse(const struct normal *e, const double *v, double *to)
{
	uint32_t i;

	for (i = 0; i < e->n; i++)
		to[i] = dot(e->inverse + (size_t)i * e->n, v, e->n);
}

/* Lowers the sum of squares along one value after the other. @slope: half the gradient. */
static void descend(const struct normal *e, double most, double *x, double *slope)
{
	uint32_t n = e->n, i, sweep;

	for (sweep = 0; sweep < MAX_SWEEPS; sweep++) {
		double step = 0, largest = 0;

		for (i = 0; i < n; i++) {
			const double *row = e->gram + (size_t)i * n;
			double to = row[i] > 0 ? fmin(fmax(x[i] - slope[i] / row[i], 0), most) : 0;
			double by = to - x[i];

			largest = fmax(largest, to);
			step = fmax(step, fabs(by));
			x[i] = to;
			if (by != 0)
				add_times(slope, row, by, n);
		}
		if (step <= largest * SMALL_STEP)
			break;
	}
}

int normal__bound(struct normal *e, const double *most)
{
	double *slope = malloc((e->n + 1) * sizeof(*slope));
	uint32_t n = e->n, side, i;

	if (!slope)
		return -ENOMEM;
	for (side = 0; side < e->nr_sides; side++) {
		double *x = e->x + (size_t)side * n;
		bool moved = false;

		for (i = 0; i < n; i++) {
			double to = fmin(fmax(x[i], 0), most[side]);

			moved |= to != x[i];
			x[i] = to;
		}
		if (!moved)
			continue;
		for (i = 0; i < n; i++)
			slope[i] =
				dot(e->gram + (size_t)i * n, x, n) - e->sides[(size_t)side * n + i];
		descend(e, most[side], x, slope);
	}
	free(slope);
	return 0;
}

double normal__rest(const struct normal *e, uint32_t side)
{
	const double *x = e->x + (size_t)side * e->n, *y = e->sides + (size_t)side * e->n;
	double rest = e->squares[side] - 2 * dot(x, y, e->n);
	uint32_t i;

	for (i = 0; i < e->n; i++)
		rest += x[i] * dot(e->gram + (size_t)i * e->n, x, e->n);
	return fmax(rest, 0);
}
