// SPDX-License-Identifier: GPL-3.0-or-later
#include "ranks/nccl_clock.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define MIN_DRIFT_ENDS		16
#define MAX_SLOPES		512		/* at most this many differences are used for
						 * slopes */
#define MAX_DRIFT		0.001		/* no real clock drifts this much */

void nccl_clocks__exit(struct nccl_clocks *c)
{
	array_free(&c->list);
	array_free(&c->ends);
}

int nccl_clocks__add(struct nccl_clocks *c, uint32_t input)
{
	return array_push(&c->list, ((struct nccl_clock){ .input = input }));
}

static int ends__cmp(const void *va, const void *vb)
{
	const struct nccl_ends *a = va, *b = vb;

	return cmp3(a->from, b->from) ?: cmp3(a->to, b->to) ?: cmp3(a->time_ns, b->time_ns) ?:
	       cmp3(a->difference_ns, b->difference_ns);
}

static int double__cmp(const void *va, const void *vb)
{
	const double *a = va, *b = vb;

	return cmp3(*a, *b);
}

static double median(double *v, size_t nr)
{
	qsort(v, nr, sizeof(*v), double__cmp);
	return nr % 2 ? v[nr / 2] : (v[nr / 2 - 1] + v[nr / 2]) / 2;
}

/*
 * Computes the slope of the difference from each end to the end half a list later. Return: the
 * median of these slopes; 0: too few ends.
 */
static double ends__drift(const struct nccl_ends *ends, size_t nr, double *scratch)
{
	size_t half = nr / 2, step = half / MAX_SLOPES + 1, i, k = 0;
	double slope;

	if (nr < MIN_DRIFT_ENDS)
		return 0;
	for (i = 0; i + half < nr; i += step) {
		double ns = ends[i + half].time_ns - ends[i].time_ns;

		if (ns > 0)
			scratch[k++] =
				(double)(ends[i + half].difference_ns - ends[i].difference_ns) / ns;
	}
	slope = k ? median(scratch, k) : 0;
	return fabs(slope) < MAX_DRIFT ? slope : 0;
}

/* Sets the offset and the error of @to, given its drift. @scratch: room for @nr numbers */
static void clock__fit_offset(struct nccl_clock *to, const struct nccl_ends *ends, size_t nr,
			      double *scratch)
{
	double offset;
	size_t i;

	for (i = 0; i < nr; i++)
		scratch[i] = ends[i].difference_ns - to->drift * (ends[i].time_ns - to->base_ns);
	offset = median(scratch, nr);
	to->offset_ns = llround(offset);
	for (i = 0; i < nr; i++)
		scratch[i] = fabs(ends[i].difference_ns -
				  to->drift * (ends[i].time_ns - to->base_ns) - offset);
	to->error_ns = llround(median(scratch, nr));
}

/*
 * Computes the offset of @to from the differences between @to and another clock; also sets a drift,
 * if a drift explains the differences much better. Return: 0 or -ENOMEM.
 */
static int clock__fit(struct nccl_clock *to, const struct nccl_ends *ends, size_t nr)
{
	double *scratch = calloc(nr + 1, sizeof(*scratch));
	struct nccl_clock drifts;

	if (!scratch)
		return -ENOMEM;
	to->nr_ends = nr;
	to->base_ns = ends[0].time_ns;
	clock__fit_offset(to, ends, nr, scratch);
	drifts = *to;
	drifts.drift = ends__drift(ends, nr, scratch);
	clock__fit_offset(&drifts, ends, nr, scratch);
	if (drifts.error_ns * 10 < to->error_ns * 7)
		*to = drifts;
	free(scratch);
	return 0;
}

/* Makes @to, which is relative to the aligned clock @from, relative to the first clock. */
static void clock__chain(struct nccl_clock *to, const struct nccl_clock *from, bool swapped)
{
	double sign = swapped ? -1 : 1;
	int64_t ahead = llround(from->drift * ((double)to->base_ns - from->base_ns));

	to->offset_ns = sign * to->offset_ns + from->offset_ns + ahead;
	to->drift = sign * to->drift + from->drift;
	to->error_ns += from->error_ns;
	to->aligned = true;
}

/* the differences between two clocks */
struct ends_run {
	size_t first, nr;
};

typedef ARRAY(struct ends_run) ends_runs;

static int ends__runs(const struct nccl_clocks *c, ends_runs *runs)
{
	const struct nccl_ends *v = c->ends.v;
	size_t i, k;
	int err = 0;

	for (i = 0; i < c->ends.nr && !err; i = k) {
		for (k = i; k < c->ends.nr && v[k].from == v[i].from && v[k].to == v[i].to; k++)
			;
		err = array_push(runs, ((struct ends_run){ i, k - i }));
	}
	return err;
}

/*
 * Aligns one more clock: the clock with the most differences to an aligned clock. Return: 1 if a
 * clock was aligned, 0 if none is left, or -ENOMEM.
 */
static int clocks__align_next(struct nccl_clocks *c, const ends_runs *runs)
{
	const struct ends_run *best = NULL;
	const struct nccl_ends *e;
	struct nccl_clock *from, *to;
	bool swapped;
	int err;

	array_each(runs, run) {
		e = &c->ends.v[run->first];
		if (c->list.v[e->from].aligned != c->list.v[e->to].aligned &&
		    (!best || run->nr > best->nr))
			best = run;
	}
	if (!best)
		return 0;
	e = &c->ends.v[best->first];
	swapped = c->list.v[e->to].aligned;
	from = &c->list.v[swapped ? e->to : e->from];
	to = &c->list.v[swapped ? e->from : e->to];
	err = clock__fit(to, e, best->nr);
	if (err)
		return err;
	clock__chain(to, from, swapped);
	/* The times of the differences are on the clock e->from, and so is base_ns. */
	if (!swapped)
		to->base_ns += e->difference_ns;
	return 1;
}

int nccl_clocks__align(struct nccl_clocks *c)
{
	ends_runs runs = { 0 };
	int more;

	if (!c->list.nr)
		return 0;
	c->list.v[0].aligned = true;
	array_qsort(&c->ends, ends__cmp);
	more = ends__runs(c, &runs) ?: 1;
	while (more > 0)
		more = clocks__align_next(c, &runs);
	array_free(&runs);
	return more;
}

int64_t nccl_clocks__ahead(const struct nccl_clocks *c, uint32_t clock, uint64_t time_ns)
{
	const struct nccl_clock *at = &c->list.v[clock];

	if (!at->aligned)
		return 0;
	return at->offset_ns + llround(at->drift * ((double)time_ns - at->base_ns));
}
