// SPDX-License-Identifier: GPL-3.0-or-later
#include "metrics/solve_system.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/*
 * The first and the last step of the search for the shift of the clocks, in ns; steps are halved.
 */
#define SHIFT_MOST 16000.0
#define SHIFT_LEAST 125.0
#define SHIFT_ROWS 6000 /* maximum number of samples that the search uses */
#define SHIFT_USUAL 2000.0 /* ns; real clocks may differ by this much */
#define SHIFT_COLUMNS 200
#define SHIFT_ERRORS 2.0 /* factor on the error, because residues of neighboring samples are
			  * alike */

/* a part of the samples, which the search for the shift uses */
struct search {
	struct system s;
	struct solve_of of;
	size_t nr_used;
	bool amounts;			/* amounts explain the samples better than rates */
};

static bool row__has_work(const struct solve_of *of, size_t row)
{
	const struct metric_row *r = &of->of.rows[row];
	const struct piece *p = of->of.pieces;
	/*
	 * Only the last piece that begins before the end of the row is checked. An earlier, longer
	 * piece is missed.
	 */
	size_t i = sorted_count(of->of.nr_pieces, k, p[k].begin_ns < r->end_ns);

	return i && p[i - 1].end_ns > r->begin_ns;
}

/*
 * Takes the first rows of a source, and the pieces near these rows. Stops after SHIFT_ROWS rows
 * that have work.
 */
static void search__choose(struct search *f, const struct solve_of *of,
			   const struct mixture_source *source)
{
	struct mixture_of *part = &f->of.of;
	size_t row, nr = 0;

	f->of = *of;
	*part = mixture_of__part(&of->of, source);
	f->of.values += source->row * of->nr_metrics;
	for (row = 0; row < part->nr_rows && nr < SHIFT_ROWS; row++)
		nr += row__has_work(&f->of, row);
	f->nr_used = nr;
	part->nr_rows = row;
	if (row)
		part->nr_pieces = sorted_count(part->nr_pieces, i, part->pieces[i].begin_ns <
					       part->rows[row - 1].end_ns + (uint64_t)SHIFT_MOST);
}

/*
 * Sets *@rest to the sum of N * log(sum of squared residues) over all metrics, where N is the
 * number of samples that have work. Return: 0 or -ENOMEM.
 */
static int search__rest(struct search *f, double shift_ns, double *rest)
{
	struct mixture m;
	struct normal e = { 0 };
	uint32_t k;
	struct mixture_as as = {
		.shifts = &(struct mixture_shift){ .ns = shift_ns }, .amounts = f->amounts,
	};
	int err = mixture__make(&m, &f->of.of, &as) ?: system__solve(&f->s, &m, &e);

	*rest = 0;
	for (k = 0; k < f->s.nr_sides && !err; k++)
		if (e.squares[k] > 0)
			*rest += f->nr_used * log(normal__rest(&e, k) + 1e-9 * e.squares[k]);
	normal__exit(&e);
	mixture__exit(&m);
	return err;
}

/* Finds the shift of one source. Return: 0 or -ENOMEM. */
static int find_shift(const struct solve_of *of, const struct mixture_source *source,
		      struct mixture_shift *shift)
{
	struct search f = { 0 };
	double best = 0, rest = 0, least, step, at[2], bend;
	int err, i;

	search__choose(&f, of, source);
	err = system__init(&f.s, &f.of) ?: system__choose_columns(&f.s, SHIFT_COLUMNS);
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
	shift->ns = best;
	shift->error_ns =
		bend > 0 ? fmin(SHIFT_ERRORS * sqrt(2 / bend) + SHIFT_LEAST, SHIFT_UNKNOWN) :
			   SHIFT_UNKNOWN;
	/*
	 * If the rate of work falls while the work runs, the best shift is wrong, and may be far
	 * larger than the shifts of real clocks.
	 */
	shift->error_ns = both_errors(shift->error_ns,
				      fmax(fabs(best) / 2, fabs(best) - SHIFT_USUAL));
out:
	system__exit(&f.s);
	return err;
}

int system__find_shifts(struct system *s)
{
	uint32_t i;
	int err = 0;

	for (i = 0; i < mixture_of__nr_sources(&s->of->of) && !err; i++) {
		struct mixture_source source = mixture_of__source(&s->of->of, i);

		err = find_shift(s->of, &source, &s->shifts[i]);
	}
	return err;
}
