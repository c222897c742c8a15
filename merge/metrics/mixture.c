// SPDX-License-Identifier: GPL-3.0-or-later
#include "metrics/mixture.h"

#include <errno.h>
#include <stdlib.h>

#define FEW_PARTS 24

void mixture__exit(struct mixture *m)
{
	free(m->first);
	free(m->parts);
	memset(m, 0, sizeof(*m));
}

/* a walk over the rows that an interval overlaps */
struct overlap {
	const struct mixture_of *of;
	double begin, end; /* relative to @zero_ns */
	uint64_t zero_ns;
	size_t row;
};

/*
 * Takes the next row. Sets *@middle to the middle of the overlap, as a fraction of the interval.
 * Return: the overlap in ns, or 0 after the last row.
 */
static double overlap__next(struct overlap *o, size_t *row, double *middle)
{
	while (o->row < o->of->nr_rows) {
		const struct metric_row *r = &o->of->rows[o->row];
		double begin = (double)(int64_t)(r->begin_ns - o->zero_ns);
		double end = (double)(int64_t)(r->end_ns - o->zero_ns);
		double from = begin > o->begin ? begin : o->begin;
		double to = end < o->end ? end : o->end;

		if (begin >= o->end)
			break;
		*row = o->row++;
		*middle = ((from + to) / 2 - o->begin) / (o->end - o->begin);
		if (to > from)
			return to - from;
	}
	return 0;
}

/*
 * Begins a walk over the rows that a piece overlaps. Moves *@first to the first row that this piece
 * or later pieces may overlap.
 */
static struct overlap piece__rows(const struct mixture_of *of, uint64_t begin_ns, uint64_t end_ns,
				  double shift_ns, size_t *first)
{
	struct overlap o = { .of = of,
			     .zero_ns = begin_ns,
			     .begin = shift_ns,
			     .end = shift_ns + (end_ns - begin_ns) };
	uint64_t at = max_t(int64_t, (int64_t)begin_ns + (int64_t)shift_ns, 0);

	while (*first < of->nr_rows && of->rows[*first].end_ns + 1 < at)
		++*first;
	o.row = *first;
	return o;
}

static double row__ns(const struct mixture_of *of, size_t row)
{
	return of->rows[row].end_ns - of->rows[row].begin_ns;
}

/* Adds to @busy, for each row, the time in which anything ran. */
static void find_busy(const struct mixture_of *of, double shift_ns, double *busy)
{
	uint64_t begin = 0, end = 0;
	size_t i, row, first = 0;

	for (i = 0; i <= of->nr_pieces; i++) {
		struct overlap o;
		double ns, middle;

		if (i < of->nr_pieces && i && of->pieces[i].begin_ns <= end) {
			end = max_t(uint64_t, end, of->pieces[i].end_ns);
			continue;
		}
		o = piece__rows(of, begin, end, shift_ns, &first);
		while (end > begin && (ns = overlap__next(&o, &row, &middle)) > 0)
			busy[row] += ns;
		if (i < of->nr_pieces) {
			begin = of->pieces[i].begin_ns;
			end = of->pieces[i].end_ns;
		}
	}
}

/*
 * Finds the parts of each row, which are its overlaps with pieces. Unless @parts is NULL, stores
 * the parts of a row in @parts; the index of the first part is nr[row]. Adds the number of the
 * parts to nr[row].
 */
static void find_parts(const struct mixture_of *of, const struct mixture_as *as, double shift_ns,
		       size_t *nr, struct mixture_part *parts)
{
	size_t i, row, first = 0;
	double ns, middle;

	for (i = 0; i < of->nr_pieces; i++) {
		const struct piece *p = &of->pieces[i];
		struct overlap o = piece__rows(of, p->begin_ns, p->end_ns, shift_ns, &first);
		double weight = as->amounts ? of->mean_ns[p->kind] / (p->end_ns - p->begin_ns) : 1;

		while ((ns = overlap__next(&o, &row, &middle)) > 0) {
			if (parts)
				parts[nr[row]] = (struct mixture_part){
					p->kind, ns * weight * (1 + as->slope * (1 - 2 * middle)) /
							 row__ns(of, row)
				};
			nr[row]++;
		}
	}
}

static int part__cmp(const void *va, const void *vb)
{
	const struct mixture_part *a = va, *b = vb;

	return cmp3(a->kind, b->kind) ?: cmp3(a->share, b->share);
}

/* Sorts by insertion if there are few parts, as in most rows. */
static void sort_parts(struct mixture_part *parts, size_t nr)
{
	size_t i, k;

	if (nr > FEW_PARTS) {
		qsort(parts, nr, sizeof(*parts), part__cmp);
		return;
	}
	for (i = 1; i < nr; i++) {
		struct mixture_part part = parts[i];

		for (k = i; k && part__cmp(&parts[k - 1], &part) > 0; k--)
			parts[k] = parts[k - 1];
		parts[k] = part;
	}
}

/* Joins the parts of each row that have the same kind. */
static void join_parts(struct mixture *m)
{
	size_t row, i, to = 0;

	for (row = 0; row < m->nr_rows; row++) {
		size_t from = m->first[row], end = m->first[row + 1];

		sort_parts(m->parts + from, end - from);
		m->first[row] = to;
		for (i = from; i < end; i++) {
			if (to > m->first[row] && m->parts[to - 1].kind == m->parts[i].kind)
				m->parts[to - 1].share += m->parts[i].share;
			else
				m->parts[to++] = m->parts[i];
		}
	}
	m->first[row] = to;
}

struct mixture_source mixture_of__source(const struct mixture_of *of, uint32_t i)
{
	return of->nr_sources ? of->sources[i] :
	       (struct mixture_source){ 0, of->nr_rows, 0, of->nr_pieces, 0 };
}

struct mixture_of mixture_of__part(const struct mixture_of *of, const struct mixture_source *source)
{
	struct mixture_of part = *of;

	part.rows += source->row;
	part.nr_rows = source->nr_rows;
	part.pieces += source->piece;
	part.nr_pieces = source->nr_pieces;
	part.nr_sources = part.nr_idle = 0;
	return part;
}

/* Finds the parts of all sources, and how long anything ran in each row. See find_parts(). */
static void find_all(const struct mixture_of *of, const struct mixture_as *as, size_t *nr,
		     struct mixture_part *parts, double *busy)
{
	uint32_t i;

	for (i = 0; i < mixture_of__nr_sources(of); i++) {
		struct mixture_source source = mixture_of__source(of, i);
		struct mixture_of part = mixture_of__part(of, &source);
		double shift_ns = as->shifts ? as->shifts[i].ns +
					       as->errors * as->shifts[i].error_ns : 0;

		find_parts(&part, as, shift_ns, nr + source.row, parts);
		if (parts)
			find_busy(&part, shift_ns, busy + source.row);
	}
}

/* For each row, sets parts[at[row]] to the part of the time in which nothing ran. */
static void add_idle(const struct mixture_of *of, const size_t *at, struct mixture_part *parts,
		     const double *busy)
{
	uint32_t i;
	size_t row;

	for (i = 0; i < mixture_of__nr_sources(of); i++) {
		struct mixture_source source = mixture_of__source(of, i);

		for (row = source.row; row < source.row + source.nr_rows; row++) {
			double idle = 1 - busy[row] / row__ns(of, row);

			parts[at[row]] = (struct mixture_part){ of->nr_kinds + source.idle,
								idle > 0 ? idle : 0 };
		}
	}
}

int mixture__make(struct mixture *m, const struct mixture_of *of, const struct mixture_as *as)
{
	double *busy = calloc(of->nr_rows + 1, sizeof(*busy));
	size_t *at = calloc(of->nr_rows + 1, sizeof(*at));
	size_t row, total = 0;

	*m = (struct mixture){ .nr_rows = of->nr_rows };
	m->first = calloc(of->nr_rows + 1, sizeof(*m->first));
	if (busy && at && m->first) {
		find_all(of, as, at, NULL, NULL);
		for (row = 0; row < of->nr_rows; row++) {
			m->first[row] = total;
			total += at[row] + 1; /* + 1 for the time in which nothing ran */
			at[row] = m->first[row];
		}
		m->first[row] = total;
		m->parts = malloc((total + 1) * sizeof(*m->parts));
	}
	if (m->parts) {
		find_all(of, as, at, m->parts, busy);
		add_idle(of, at, m->parts, busy);
		join_parts(m);
	}
	free(busy);
	free(at);
	return m->parts ? 0 : -ENOMEM;
}
