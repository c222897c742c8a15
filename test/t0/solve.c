// SPDX-License-Identifier: MIT
/*
 * solve: values of counters by kind of work, from samples of simulated GPUs whose true values are
 * known. Cases vary kinds, durations, samples, noise, concurrency, clocks and gaps. A value is
 * either unknown, or within its error of the true value.
 */
#include "metrics/solve.h"

#include <math.h>

#include "tap.h"

#define MAX_KINDS 40
#define NR_METRICS 3

static uint64_t seed;

static double uniform(void)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (seed >> 11) * 0x1p-53;
}

static double normal_noise(void)
{
	return sqrt(-2 * log(uniform() + 1e-300)) * cos(6.283185307179586 * uniform());
}

struct world {
	/* set by every case */
	uint32_t nr_kinds;
	double least_us, most_us;	/* durations of the shortest and the longest kind */
	double sample_us;
	double noise;			/* noise of a sample, in points */
	double vary;			/* variation of a piece's duration, as a fraction of it */
	double idle;			/* idle fraction of the time */
	size_t nr_rows;
	uint32_t nr_streams;
	/* set by some cases */
	bool graph;			/* always the same order, with fixed gaps */
	bool pairs;			/* kind 1 always comes right after kind 0 */
	bool amounts;			/* a piece's amount does not depend on its duration */
	double shift_us;
	bool holes;			/* samples are missing, and some are nonsense */
	double slope;			/* the fraction by which a piece's rate is higher in its
					 * first half, and lower in its second half */
	uint32_t sloping;		/* only every n-th kind has the slope; 0: all kinds */
	bool others;			/* another process uses the GPU now and then */

	double truth[MAX_KINDS + 1][NR_METRICS];
	double ns[MAX_KINDS], total_ns[MAX_KINDS], mean_ns[MAX_KINDS];
	ARRAY(struct piece) pieces;
	ARRAY(struct metric_row) rows;
	ARRAY(float) values;
};

static void world__truth(struct world *w)
{
	uint32_t i, k;

	for (i = 0; i < w->nr_kinds; i++) {
		w->ns[i] = 1e3 * w->least_us * pow(w->most_us / w->least_us, uniform());
		for (k = 0; k < NR_METRICS; k++)
			w->truth[i][k] = uniform() < 0.3 ? 0 : 95 * uniform() / w->nr_streams;
	}
	for (k = 0; k < NR_METRICS; k++)
		w->truth[i][k] = uniform() < 0.5 ? 0 : 2 * uniform();
}

static int piece__cmp(const void *va, const void *vb)
{
	const struct piece *a = va, *b = vb;

	return a->begin_ns < b->begin_ns ? -1 : a->begin_ns > b->begin_ns;
}

static int world__pieces(struct world *w, double until_ns)
{
	uint32_t stream, kind = 0;
	int err = 0;

	for (stream = 0; stream < w->nr_streams; stream++) {
		double at = 1e6 + 1e5 * uniform();

		for (; at < until_ns && !err; kind = w->graph || (w->pairs && !kind) ?
							     (kind + 1) % w->nr_kinds :
							     w->nr_kinds * uniform()) {
			double ns = w->ns[kind] * fmax(1 + w->vary * normal_noise(), 0.3);

			if (w->pairs && kind == 1 &&
			    (!w->pieces.nr || w->pieces.v[w->pieces.nr - 1].kind))
				continue;
			err = array_push(
				&w->pieces,
				((struct piece){ at, (uint64_t)at + (uint64_t)ns + 1, kind }));
			at += ns + 1;
			if (w->pairs && !kind)
				continue;
			at += w->graph && kind ? 1000 :
						 -log(uniform() + 1e-9) * w->ns[kind] * w->idle /
							 (1 - w->idle);
		}
	}
	if (w->pieces.nr)
		qsort(w->pieces.v, w->pieces.nr, sizeof(*w->pieces.v), piece__cmp);
	return err;
}

/* Adds a piece's share to each row that the piece overlaps. */
static void world__add(struct world *w, double begin, double end, const double *truth, double by)
{
	size_t row = sorted_count(w->rows.nr, i, w->rows.v[i].end_ns <= begin);
	uint32_t k;

	for (; row < w->rows.nr && w->rows.v[row].begin_ns < end; row++) {
		const struct metric_row *r = &w->rows.v[row];
		double ns = fmin(r->end_ns, end) - fmax(r->begin_ns, begin);

		for (k = 0; k < NR_METRICS && ns > 0; k++)
			w->values.v[row * NR_METRICS + k] +=
				truth[k] * by * ns / (r->end_ns - r->begin_ns);
	}
}

static int world__samples(struct world *w)
{
	const double *idle = w->truth[w->nr_kinds];
	double end = 0;
	size_t i;
	uint32_t k;
	int err = 0;

	for (i = 0; i < w->nr_rows && !err; i++) {
		uint64_t at = 500000 + i * 1e3 * w->sample_us;

		if (w->holes && i % 97 < 9)
			continue;
		err = array_push(&w->rows, ((struct metric_row){ at, at + 1e3 * w->sample_us }));
		for (k = 0; k < NR_METRICS && !err; k++)
			err = array_push(&w->values, 0);
	}
	for (i = 0; i <= w->pieces.nr && !err; i++) {
		const struct piece *p = &w->pieces.v[i];
		double shift = 1e3 * w->shift_us, by, half, slope;

		if (i == w->pieces.nr || p->begin_ns > end)
			world__add(w, i ? end + shift : 0,
				   i < w->pieces.nr ? p->begin_ns + shift : 1e18, idle, 1);
		if (i == w->pieces.nr)
			break;
		end = fmax(end, p->end_ns);
		w->total_ns[p->kind] += p->end_ns - p->begin_ns;
		w->mean_ns[p->kind]++;
		by = w->amounts ? w->ns[p->kind] / (p->end_ns - p->begin_ns) : 1;
		half = (p->end_ns - p->begin_ns) / 2.0;
		slope = w->sloping && p->kind % w->sloping ? 0 : w->slope;
		world__add(w, p->begin_ns + shift, p->begin_ns + half + shift, w->truth[p->kind],
			   by * (1 + slope));
		world__add(w, p->begin_ns + half + shift, p->end_ns + shift, w->truth[p->kind],
			   by * (1 - slope));
	}
	for (i = 0; w->others && i < w->rows.nr; i++)
		if (uniform() < 0.05)
			for (k = 0; k < NR_METRICS; k++)
				w->values.v[i * NR_METRICS + k] += 20 * uniform();
	for (i = 0; i < w->nr_kinds; i++)
		w->mean_ns[i] = w->mean_ns[i] ? w->total_ns[i] / w->mean_ns[i] : 0;
	/* A kind's true value is its mean rate: the amount of a piece, by its mean duration. */
	for (i = 0; i < w->nr_kinds && w->amounts; i++)
		for (k = 0; k < NR_METRICS; k++)
			w->truth[i][k] *= w->mean_ns[i] > 0 ? w->ns[i] / w->mean_ns[i] : 1;
	for (i = 0; i < w->values.nr; i++)
		w->values.v[i] += w->noise * normal_noise() + (w->holes && i % 1499 == 3 ? 70 : 0);
	return err;
}

struct verdict {
	unsigned int nr, known, near, far; /* far: off by more than 5 points, and by more
					    * than 3 times the stated error */
	unsigned int wrong_by_three;
	double time, known_time, alone_time;
};

/*
 * Return: the true value of a kind; if several kinds share one value, the true value of all of them
 * together.
 */
static double world__truth_of(const struct world *w, const struct solved *s, uint32_t kind,
			      uint32_t metric)
{
	double sum = 0, ns = 0;
	uint32_t i;

	for (i = 0; i < w->nr_kinds; i++) {
		if (i != kind && (!s->together[i] || s->together[i] != s->together[kind]))
			continue;
		sum += w->total_ns[i] * w->truth[i][metric];
		ns += w->total_ns[i];
	}
	return ns > 0 ? sum / ns : NAN;
}

static void world__judge(const struct world *w, const struct solved *s, struct verdict *v)
{
	uint32_t i, k;

	for (i = 0; i < w->nr_kinds; i++) {
		for (k = 0; k < NR_METRICS; k++) {
			struct solved_value got = s->values[i * NR_METRICS + k];
			double truth = world__truth_of(w, s, i, k), off;

			v->nr++;
			v->time += w->total_ns[i];
			if (isnan(got.value))
				continue;
			off = fabs(got.value - truth);
			v->known++;
			v->known_time += w->total_ns[i];
			v->alone_time += s->together[i] ? 0 : w->total_ns[i];
			v->near += off <= 3 || off <= 0.05 * truth;
			v->wrong_by_three += off > 3 * got.error + 0.02;
			v->far += off > 3 * got.error && off > 5;
			if (getenv("XPU_VERBOSE"))
				note("kind %u metric %u group %u: %.1f us, truth %.2f, %.2f+-%.2f",
				     i, k, s->together[i], w->ns[i] / 1e3, truth, got.value,
				     got.error);
		}
	}
}

/* Return: 0, or an error. */
static int world__run(struct world *w, struct verdict *v, struct solved *s)
{
	static const bool wanted[NR_METRICS] = { true, true, true };
	static const double small[NR_METRICS] = { 1, 1, 1 }, most[NR_METRICS] = { 100, 100, 100 };
	struct solve_of of = {
		.nr_metrics = NR_METRICS, .wanted = wanted, .small = small, .most = most
	};
	int err;

	world__truth(w);
	err = world__pieces(w, w->nr_rows * 1e3 * w->sample_us) ?: world__samples(w);
	of.of = (struct mixture_of){
		.rows = w->rows.v, .nr_rows = w->rows.nr,
		.pieces = w->pieces.v, .nr_pieces = w->pieces.nr,
		.nr_kinds = w->nr_kinds, .mean_ns = w->mean_ns,
	};
	of.values = w->values.v;
	of.total_ns = w->total_ns;
	err = err ?: solve(s, &of);
	if (!err)
		world__judge(w, s, v);
	array_free(&w->pieces);
	array_free(&w->rows);
	array_free(&w->values);
	return err;
}

static const struct {
	const char *name;
	double least_known;		/* values must be known for this fraction of the time */
	struct world world;
} cases[] = {
	{ "kernels shorter than samples", 0.95,
	  { 12, 20, 400, 1000, 0.5, 0.02, 0.1, 6000, 1, .graph = false } },
	{ "kernels longer than samples", 0.95,
	  { 8, 800, 9000, 1000, 0.5, 0.02, 0.1, 3000, 1, .graph = false } },
	{ "a mostly idle GPU", 0.5,
	  { 15, 3, 60, 1000, 0.05, 0.05, 0.9, 8000, 1, .graph = false } },
	{ "a clock that is ahead", 0.95,
	  { 12, 20, 400, 200, 0.5, 0.02, 0.2, 8000, 1, .shift_us = 3.3 } },
	{ "the same amounts in other times", 0.95,
	  { 10, 50, 600, 1000, 0.3, 0.3, 0.1, 6000, 1, .amounts = true } },
	{ "holes and nonsense", 0.95,
	  { 10, 50, 600, 1000, 0.3, 0.05, 0.2, 6000, 1, .holes = true } },
	{ "three streams", 0.9,
	  { 8, 50, 900, 1000, 0.3, 0.1, 0.3, 6000, 3, .graph = false } },
	{ "a graph that is replayed", 0.3,
	  { 9, 2, 40, 200, 0.2, 0.01, 0.3, 10000, 1, .graph = true, .shift_us = 1 } },
	{ "more at a kernel's begin than at its end", 0.9,
	  { 12, 5, 200, 200, 0.2, 0.02, 0.2, 8000, 1, .slope = 0.4 } },
	{ "a replayed graph, more at a kernel's begin", 0.3,
	  { 9, 2, 40, 200, 0.2, 0.01, 0.3, 10000, 1, .graph = true, .slope = 0.4 } },
	{ "a training step of long kernels", 0.9,
	  { 40, 30, 800, 1000, 0.3, 0.02, 0.02, 4000, 1, .graph = true } },
	{ "a training step, some kernels have more at their begin", 0.75,
	  { 40, 30, 800, 1000, 0.3, 0.02, 0.02, 4000, 1, .graph = true, .slope = 0.4,
	    .sloping = 7 } },
	{ "another process's work", 0.9,
	  { 10, 20, 400, 1000, 0.3, 0.05, 0.3, 6000, 1, .others = true } },
	{ "two kernels that come together", 0.3,
	  { 6, 3, 8, 1000, 0.5, 0.01, 0.4, 3000, 1, .pairs = true } },
};

int main(void)
{
	size_t i, round;
	const char *only = getenv("XPU_CASE");

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct verdict v = { 0 };
		int err = 0;

		if (only && (size_t)atoi(only) != i)
			continue;
		for (round = 0; round < 2 && !err; round++) {
			struct world w = cases[i].world;
			struct solved s;

			seed = 1000 * i + round + 1;
			err = world__run(&w, &v, &s);
			if (!round)
				note("shift %.0f+-%.0f ns, residue %.3f, %zu rows, %zu spoilt",
				     s.shift.ns, s.shift.error_ns, s.residue[0], s.nr_used,
				     s.nr_spoilt);
			solved__exit(&s);
		}
		note("%s: known %.1f %% of time, %.1f alone, %u of %u values; near %u, more than 3 "
		     "errors %u, far %u",
		     cases[i].name, 100 * v.known_time / v.time, 100 * v.alone_time / v.time,
		     v.known, v.nr, v.near, v.wrong_by_three, v.far);
		ok(!err && v.known_time >= cases[i].least_known * v.time,
		   "%s: %.0f %% of the time has values", cases[i].name, 100 * cases[i].least_known);
		ok(v.known && v.wrong_by_three <= 0.05 * v.known,
		   "%s: 95 %% of the values are within three times their errors", cases[i].name);
		ok(v.known && v.far <= 0.002 * v.known, "%s: no value is far off", cases[i].name);
	}
	return done_testing();
}
