// SPDX-License-Identifier: GPL-3.0-or-later
#include "metrics/normal.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util.h"

#define RIDGE \
	1e-5 /* added to the diagonal, so that even a singular matrix has an inverse with little
	      * rounding error */
#define SMALL_RIDGE 1e-12 /* fraction of the largest variance */
#define LANES 8 /* number of right-hand sides to solve at the same time */
#define MAX_TURNS 40 /* maximum number of rounds in which values move to or from bounds; then
		      * descend() is used */
#define MAX_SWEEPS 500
#define SMALL_STEP 1e-5 /* fraction of the largest value */

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

		for (k = 0; k <= i; k++)
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

static void store(double *v, pair p)
{
	memcpy(v, &p, sizeof(p));
}

/*
 * Adds up several sums, because the processor can do additions to different sums at the same time.
 */
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

/*
 * Solves L y = v in place, in the rows @from to @to - 1, for LANES interleaved right-hand sides at
 * the same time. In the rows before @from, all right-hand sides are 0.
 */
static void forward(const double *l, uint32_t n, uint32_t from, uint32_t to, double *y)
{
	uint32_t i, k;

	for (i = from; i < to; i++) {
		const double *row = l + (size_t)i * n, *v = y + (size_t)from * LANES;
		double *at = y + (size_t)i * LANES;
		pair s0 = load(at), s1 = load(at + 2), s2 = load(at + 4), s3 = load(at + 6);

		for (k = from; k < i; k++, v += LANES) {
			pair by = { row[k], row[k] };

			s0 -= by * load(v);
			s1 -= by * load(v + 2);
			s2 -= by * load(v + 4);
			s3 -= by * load(v + 6);
		}
		store(at, s0 / row[i]);
		store(at + 2, s1 / row[i]);
		store(at + 4, s2 / row[i]);
		store(at + 6, s3 / row[i]);
	}
}

/* Solves L' x = y in place as forward() does, in the rows from @n - 1 down to @to. */
static void backward(const double *l, uint32_t n, uint32_t to, double *y)
{
	uint32_t i, k;

	for (i = n; i-- > to;) {
		const double *row = l + (size_t)i * n;
		double *at = y + (size_t)i * LANES, *v = y + (size_t)to * LANES;
		pair s0 = load(at) / row[i], s1 = load(at + 2) / row[i];
		pair s2 = load(at + 4) / row[i], s3 = load(at + 6) / row[i];

		for (k = to; k < i; k++, v += LANES) {
			pair by = { row[k], row[k] };

			store(v, load(v) - by * s0);
			store(v + 2, load(v + 2) - by * s1);
			store(v + 4, load(v + 4) - by * s2);
			store(v + 6, load(v + 6) - by * s3);
		}
		store(at, s0);
		store(at + 2, s1);
		store(at + 4, s2);
		store(at + 6, s3);
	}
}

/* Writes the first @nr members of up to LANES rows of @from, interleaved. */
static void interleave(const double *from, uint32_t n, uint32_t nr_rows, uint32_t nr, double *y)
{
	uint32_t i, k;

	for (k = 0; k < nr; k++)
		for (i = 0; i < LANES; i++)
			y[(size_t)k * LANES + i] = i < nr_rows ? from[(size_t)i * n + k] : 0;
}

/*
 * Sets the lower triangle of @l to the Cholesky factor of a matrix: each row solves an equation
 * with the rows above it. @y: scratch memory. @ridge: added to the diagonal
 */
static void factorize(const double *gram, uint32_t n, double ridge, double *l, double *y)
{
	uint32_t from, i, k;

	for (from = 0; from < n; from += LANES) {
		uint32_t nr = min_t(uint32_t, LANES, n - from);

		interleave(gram + (size_t)from * n, n, nr, from, y);
		forward(l, n, 0, from, y);
		for (i = from; i < from + nr; i++) {
			double *row = l + (size_t)i * n;

			for (k = 0; k < from; k++)
				row[k] = y[(size_t)k * LANES + i - from];
			for (; k < i; k++)
				row[k] = (gram[(size_t)i * n + k] -
					  dot(row, l + (size_t)k * n, k)) /
					 l[(size_t)k * n + k];
			row[i] = sqrt(fmax(gram[(size_t)i * n + i] - dot(row, row, i), 0) + ridge);
		}
	}
}

/* Computes x for one right-hand side from the Cholesky factor. */
static void substitute(const double *l, uint32_t n, const double *side, double *x)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		x[i] = (side[i] - dot(l + (size_t)i * n, x, i)) / l[(size_t)i * n + i];
	for (i = n; i-- > 0;) {
		x[i] /= l[(size_t)i * n + i];
		add_times(x, l + (size_t)i * n, -x[i], i);
	}
}

static double *new_lanes(uint32_t n)
{
	return malloc(((size_t)n + 1) * LANES * sizeof(double));
}

/* Completes the matrix, which has each product of two columns in only one of its two places. */
static void mirror(struct normal *e)
{
	size_t n = e->n, i, k;

	for (i = 0; i < n; i++)
		for (k = 0; k < i; k++)
			e->gram[i * n + k] = e->gram[k * n + i] += e->gram[i * n + k];
}

int normal__solve(struct normal *e)
{
	double *y = new_lanes(e->n);
	uint32_t i;

	e->factor = calloc((size_t)e->n * e->n + 1, sizeof(*e->factor));
	if (!e->factor || !y) {
		free(y);
		return -ENOMEM;
	}
	mirror(e);
	factorize(e->gram, e->n, RIDGE, e->factor, y);
	free(y);
	for (i = 0; i < e->nr_sides; i++)
		substitute(e->factor, e->n, e->sides + (size_t)i * e->n,
			   e->x + (size_t)i * e->n);
	return 0;
}

int normal__invert(struct normal *e)
{
	uint32_t n = e->n, from, i, k;
	double *y;

	if (e->inverse)
		return 0;
	y = new_lanes(n);
	e->inverse = malloc(((size_t)n * n + 1) * sizeof(*e->inverse));
	if (!y || !e->inverse) {
		free(y);
		return -ENOMEM;
	}
	for (from = 0; from < n; from += LANES) {
		uint32_t nr = min_t(uint32_t, LANES, n - from);

		memset(y + (size_t)from * LANES, 0, (size_t)(n - from) * LANES * sizeof(*y));
		for (k = 0; k < nr; k++)
			y[(size_t)(from + k) * LANES + k] = 1;
		forward(e->factor, n, from, n, y);
		backward(e->factor, n, from, y);
		for (i = from; i < n; i++)
			for (k = 0; k < nr; k++)
				e->inverse[(size_t)i * n + from + k] =
					e->inverse[(size_t)(from + k) * n + i] =
						y[(size_t)i * LANES + k];
	}
	free(y);
	return 0;
}

void normal__times_inverse(const struct normal *e, const double *v, uint32_t nr, double *to)
{
	uint32_t i, k;

	for (i = 0; i < e->n; i++)
		for (k = 0; k < nr; k++)
			to[(size_t)k * e->n + i] = dot(e->inverse + (size_t)i * e->n,
						       v + (size_t)k * e->n, e->n);
}

int normal__explained(const struct normal *e, const double *v, double *to)
{
	uint32_t n = e->n, from, i, k;
	double *y = new_lanes(n);

	if (!y)
		return -ENOMEM;
	for (from = 0; from < n; from += LANES) {
		uint32_t nr = min_t(uint32_t, LANES, n - from);

		interleave(v + (size_t)from * n, n, nr, n, y);
		forward(e->factor, n, 0, n, y);
		for (k = 0; k < nr; k++)
			for (to[from + k] = 0, i = 0; i < n; i++)
				to[from + k] += y[(size_t)i * LANES + k] * y[(size_t)i * LANES + k];
	}
	free(y);
	return 0;
}

/* ---- bounds ---------------------------------------------------------------------------------- */

/* a search for the values of one right-hand side that lie at a bound */
struct pivots {
	const struct normal *e;
	const double *start;		/* the solution without bounds */
	double most;			/* all values are between 0 and this */
	double *x;
	double *bounds;			/* for each value: its bound, or NaN if it is free */
	uint32_t nr;			/* number of values at a bound */
	uint32_t *list;
	double *forces;			/* for each value in list: the force that keeps it at its
					 * bound */
	double *y;			/* scratch memory */
};

/* Computes x and the forces, with the values in p->bounds fixed. Return: 0 or -ENOMEM. */
static int pivots__solve(struct pivots *p)
{
	uint32_t n = p->e->n, nr, i, k;
	double *both, *factor, *rest, largest = 0;

	for (p->nr = i = 0; i < n; i++)
		if (!isnan(p->bounds[i]))
			p->list[p->nr++] = i;
	nr = p->nr;
	both = malloc(((size_t)nr * (2 * (size_t)nr + 1) + 1) * sizeof(*both));
	if (!both)
		return -ENOMEM;
	factor = both + (size_t)nr * nr;
	rest = factor + (size_t)nr * nr;
	for (i = 0; i < nr; i++) {
		const double *row = p->e->inverse + (size_t)p->list[i] * n;

		for (k = 0; k < nr; k++)
			both[(size_t)i * nr + k] = row[p->list[k]];
		rest[i] = p->start[p->list[i]] - p->bounds[p->list[i]];
		largest = fmax(largest, row[p->list[i]]);
	}
	factorize(both, nr, SMALL_RIDGE * largest, factor, p->y);
	substitute(factor, nr, rest, p->forces);
	memcpy(p->x, p->start, n * sizeof(*p->x));
	for (i = 0; i < nr; i++)
		add_times(p->x, p->e->inverse + (size_t)p->list[i] * n, -p->forces[i], n);
	free(both);
	return 0;
}

/*
 * Fixes each value that is out of range: it stays at the bound that it exceeds. Releases each value
 * whose force points away from its bound. Return: the number of values fixed or released.
 */
static uint32_t pivots__exchange(struct pivots *p, double small)
{
	uint32_t i, nr = 0;

	for (i = 0; i < p->e->n; i++) {
		if (!isnan(p->bounds[i]) || (p->x[i] >= -small && p->x[i] <= p->most + small))
			continue;
		p->bounds[i] = p->x[i] < 0 ? 0 : p->most;
		nr++;
	}
	for (i = 0; i < p->nr; i++) {
		double *bound = &p->bounds[p->list[i]];

		if (*bound > 0 ? p->forces[i] < 0 : p->forces[i] > 0) {
			*bound = NAN;
			nr++;
		}
	}
	return nr;
}

/* Return: 0, -ENOMEM, or -EAGAIN if no solution was found. */
static int pivots__run(struct pivots *p)
{
	double largest = 0, small;
	uint32_t n = p->e->n, turn, i;
	int err;

	for (i = 0; i < n; i++) {
		p->bounds[i] = NAN;
		largest = fmax(largest, fabs(p->x[i]));
	}
	small = fmin(largest, p->most) * SMALL_STEP;
	for (p->nr = turn = 0; turn < MAX_TURNS && pivots__exchange(p, small); turn++) {
		err = pivots__solve(p);
		if (err)
			return err;
	}
	for (i = 0; i < n; i++)
		p->x[i] = fmin(fmax(p->x[i], 0), p->most);
	return turn < MAX_TURNS ? 0 : -EAGAIN;
}

/* Lowers the sum of squares by changing one value after the other. @slope: scratch memory */
static void descend(const struct normal *e, uint32_t side, double most, double *x, double *slope)
{
	uint32_t n = e->n, i, sweep;

	for (i = 0; i < n; i++) /* half the gradient */
		slope[i] = dot(e->gram + (size_t)i * n, x, n) - e->sides[(size_t)side * n + i];

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
	struct pivots p = { .e = e };
	size_t n = e->n, i;
	double *memory = malloc((3 * n + 1) * sizeof(*memory));
	uint32_t side;
	int err = 0;

	p.list = malloc((n + 1) * sizeof(*p.list));
	p.y = new_lanes(n);
	if (!memory || !p.list || !p.y)
		err = -ENOMEM;
	for (side = 0; side < e->nr_sides && !err; side++) {
		p.x = e->x + side * n;
		p.most = most[side];
		for (i = 0; i < n && p.x[i] >= 0 && p.x[i] <= p.most; i++)
			;
		if (i == n)
			continue;
		p.start = memcpy(memory, p.x, n * sizeof(*memory));
		p.bounds = memory + n;
		p.forces = memory + 2 * n;
		err = normal__invert(e) ?: pivots__run(&p);
		if (err == -EAGAIN) {
			descend(e, side, p.most, p.x, memory);
			err = 0;
		}
	}
	free(memory);
	free(p.list);
	free(p.y);
	return err;
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
