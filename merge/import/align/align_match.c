// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Matches stacks and launches when the clocks' offset is known: pairs of threads match in order,
 * events that are in no pair match as sets.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "import/align/aligner.h"

#define REACH		8.0		/* the width of the distribution, in jitters */
#define NR_SHAPE	128		/* bins of the distribution of distances */
#define SHAPE_STACKS	16384		/* so many stacks are enough to learn it */
#define NOISE		0.05		/* share of the stacks that may have no launch */
#define BAND		8		/* launches on either side that may match a stack ... ... */
#define BAND_MAX	64		/* ... and where they are denser than the mean */
#define NR_EDGES	24		/* launches that may match a stack, for sets */
#define NR_SWEEPS	40
#define NR_ANSWERS	4		/* different labels that are told apart at one launch */

/* The candidates for a launch, by label: stacks near it and their probabilities. */
struct answers {
	uint32_t label[NR_ANSWERS];
	uint32_t best[NR_ANSWERS];	/* most probable stack with that label */
	float p_best[NR_ANSWERS];
	float p[NR_ANSWERS];
	float p_any;
};

struct matcher {
	struct aligner *al;
	double reach;			/* of the densities, ns */
	double density[NR_SHAPE];	/* probability density of a distance, per ns */
	double p_stack;			/* probability that a launch has a stack */
	double stray_rate;		/* stacks without launch, per ns */
	struct answers *answers;	/* by launch */
	float *p_matched;		/* by stack: probability that it matches any launch */
	/* Both sides by thread, then by time; where each thread begins. */
	uint32_t *stacks, *launches, *stacks_begin, *launches_begin;
};

/* ---- distances ------------------------------------------------------------------------------ */

/* Return: the density for a distance that no stack had. */
static double matcher__tail(const struct matcher *m, double d)
{
	double sum = m->reach + fabs(d);

	return 0.005 * m->reach / (sum * sum);
}

static inline double matcher__density(const struct matcher *m, double d)
{
	double x = (d + m->reach) * (NR_SHAPE / (2 * m->reach));

	return x < 0 || x >= NR_SHAPE ? matcher__tail(m, d) : m->density[(uint32_t)x];
}

/* @shape: the count of distances in each bin, to any scale */
static void matcher__set_shape(struct matcher *m, const double *shape)
{
	double bin = 2 * m->reach / NR_SHAPE, all = 0;
	uint32_t i;

	for (i = 0; i < NR_SHAPE; i++)
		all += shape[i];
	for (i = 0; i < NR_SHAPE; i++)
		m->density[i] = 0.99 * shape[i] / (all * bin) +
				matcher__tail(m, (i + 0.5) * bin - m->reach);
}

/*
 * Learns how far stacks are from their launches. The distances give the probability of each match,
 * and the probabilities of matches give the distances; this is repeated until it settles.
 */
static void matcher__learn_shape(struct matcher *m)
{
	struct aligner *al = m->al;
	uint32_t nr = al->cpu.in->nr, step = 1 + nr / SHAPE_STACKS, i, k, first, end, pass, n;
	double next[NR_SHAPE], smooth[NR_SHAPE], mass = 0, sum, at, d, r;

	m->reach = fmin(REACH * al->jitter, fmax(al->opts->tolerance_ns, 1));
	for (i = 0; i < NR_SHAPE; i++)
		next[i] = exp(-fabs((2 * i + 1.0) / NR_SHAPE - 1) * m->reach / al->jitter);
	matcher__set_shape(m, next);
	for (pass = 0; pass < 6; pass++) {
		memset(next, 0, sizeof(next));
		mass = 0;
		aligner__rewind(al);
		for (i = 0; i < nr; i += step) {
			at = al->stack_time[i];
			first = aligner__near(al, i, at, m->reach, &end);
			sum = NOISE * al->rate;
			for (k = first; k < end; k++)
				sum += (1 - NOISE) * matcher__density(m, at - al->time[k]);
			for (k = first; k < end; k++) {
				d = at - al->time[k];
				r = (1 - NOISE) * matcher__density(m, d) / sum;
				n = fmin((d / m->reach + 1) * (NR_SHAPE / 2), NR_SHAPE - 1);
				next[n] += r;
				mass += r;
			}
		}
		if (mass < 0.5)
			break;
		/* Few events make a rough shape, which is smoothed more. */
		for (n = mass < 1000 ? 6 : mass < 10000 ? 3 : 1; n; n--) {
			for (i = 0; i < NR_SHAPE; i++)
				smooth[i] = (next[i ? i - 1 : 0] + 2 * next[i] +
					     next[i + 1 < NR_SHAPE ? i + 1 : i]) / 4;
			memcpy(next, smooth, sizeof(next));
		}
		matcher__set_shape(m, next);
	}
	mass *= nr / (double)((nr + step - 1) / step);
	m->p_stack = fmax(fmin(mass / al->gpu.in->nr, 0.9995), 0.05);
	m->stray_rate = fmax(nr - mass, 0.0005 * nr) / fmax(fmax(al->cpu.span, al->gpu.span), 1);
}

/* ---- threads -------------------------------------------------------------------------------- */

/* Events of a side by thread, each in order of time. Return: 0 or -ENOMEM. */
static int sort_by_thread(const struct align_side *s, uint32_t **order, uint32_t **begin)
{
	uint32_t i;

	*order = malloc(s->nr * sizeof(**order));
	*begin = calloc((size_t)s->nr_threads + 2, sizeof(**begin));
	if (!*order || !*begin)
		return -ENOMEM;
	/*
	 * First the counts, two places on; then, summed up, where the thread before begins; then
	 * where that ends.
	 */
	for (i = 0; i < s->nr; i++)
		(*begin)[s->events[i].thread + 2]++;
	for (i = 2; i < s->nr_threads + 2; i++)
		(*begin)[i] += (*begin)[i - 1];
	for (i = 0; i < s->nr; i++)
		(*order)[(*begin)[s->events[i].thread + 1]++] = i;
	return 0;
}

/* Return: how many events a thread has. */
static double thread__nr(const uint32_t *begin, size_t thread)
{
	return begin[thread + 1] - begin[thread];
}

/* Pairs threads that are each other's best match. */
static int matcher__pair_threads(struct matcher *m)
{
	struct aligner *al = m->al;
	const struct align_side *cpu = al->cpu.in, *gpu = al->gpu.in;
	size_t nr_a = cpu->nr_threads, nr_b = gpu->nr_threads, a, b, k, best_a, best_b;
	double *votes = calloc(nr_a * nr_b + 1, sizeof(*votes)), sum, at, nr_cpu, nr_gpu;
	uint32_t i, j, first, end;

	if (!votes)
		return -ENOMEM;
	aligner__rewind(al);
	for (i = 0; i < cpu->nr; i++) {
		at = al->stack_time[i];
		first = aligner__near(al, i, at, m->reach, &end);
		sum = NOISE * al->rate;
		for (j = first; j < end; j++)
			sum += matcher__density(m, at - al->time[j]);
		for (j = first; j < end; j++)
			votes[cpu->events[i].thread * nr_b +
			      gpu->events[al->launch[j]].thread] +=
				matcher__density(m, at - al->time[j]) / sum;
	}
	for (b = 0; b < nr_b; b++) {
		for (a = best_a = 0; a < nr_a; a++)
			if (votes[a * nr_b + b] / fmax(thread__nr(m->stacks_begin, a), 1) >
			    votes[best_a * nr_b + b] / fmax(thread__nr(m->stacks_begin, best_a), 1))
				best_a = a;
		for (k = best_b = 0; k < nr_b; k++)
			if (votes[best_a * nr_b + k] / fmax(thread__nr(m->launches_begin, k), 1) >
			    votes[best_a * nr_b + best_b] /
			    fmax(thread__nr(m->launches_begin, best_b), 1))
				best_b = k;
		if (best_b != b || votes[best_a * nr_b + b] <= 0)
			continue;
		/* With more stacks than launches, some stacks belong to other threads. */
		nr_cpu = thread__nr(m->stacks_begin, best_a);
		nr_gpu = thread__nr(m->launches_begin, b);
		if (nr_cpu <= 1.2 * nr_gpu + 8 && nr_gpu <= 4 * nr_cpu + 8)
			al->out->pair[b] = best_a;
	}
	free(votes);
	return 0;
}

/* ---- answers -------------------------------------------------------------------------------- */

/* Notes that @stack matches @launch with probability @p. */
static void matcher__answer(struct matcher *m, uint32_t stack, uint32_t launch, double p)
{
	uint32_t label = m->al->cpu.in->events[stack].label, i, worst = 0;
	struct answers *a = &m->answers[launch];

	if (!(p > 1e-4))
		return;
	a->p_any += p;
	m->p_matched[stack] += p;
	for (i = 0; i < NR_ANSWERS; i++) {
		if (a->p[i] > 0 && a->label[i] == label)
			break;
		if (a->p[i] < a->p[worst])
			worst = i;
	}
	if (i == NR_ANSWERS) {
		if (p <= a->p[worst])
			return;
		i = worst;
		a->label[i] = label;
		a->p[i] = a->p_best[i] = 0;
	}
	a->p[i] += p;
	if (p > a->p_best[i]) {
		a->p_best[i] = p;
		a->best[i] = stack;
	}
}

static void matcher__decide(const struct matcher *m)
{
	struct align *out = m->al->out;
	uint32_t i, k, n;

	for (i = 0; i < m->al->cpu.in->nr; i++)
		out->match_back[i] = m->p_matched[i] <= 1 - ALIGN_CERTAIN ?
			ALIGN_NONE : ALIGN_UNCERTAIN;
	for (k = 0; k < m->al->gpu.in->nr; k++) {
		const struct answers *a = &m->answers[k];

		out->match[k] = a->p_any <= 1 - ALIGN_CERTAIN ? ALIGN_NONE : ALIGN_UNCERTAIN;
		for (n = 0; n < NR_ANSWERS; n++) {
			if (a->p[n] < ALIGN_CERTAIN)
				continue;
			out->match[k] = a->best[n];
			out->match_back[a->best[n]] = k;
		}
	}
}

/* ---- pairs of threads ----------------------------------------------------------------------- */

/*
 * A stack in a pair of threads, and the launches [lo, hi) that it may match. lo and hi never fall
 * from stack to stack. The stack's row of the table has a cell for each such launch and one more,
 * from cells[row] on.
 */
struct band {
	uint32_t lo, hi;
	size_t row;
	double scale;			/* what the row was divided by */
};

/*
 * The stacks and launches of one pair of threads, each in order of time, and the table of their
 * alignments. Cell (i, k) sums the alignments of the stacks up to i whose last match is launch
 * k - 1; those in lo[i] have their last match there or before. Stack i is stray, or it is of a
 * launch behind the last one matched, with those between them left out. So each alignment is one
 * path. Rows are scaled to a sum of 1, and only these are kept; the way back needs one row at a
 * time.
 */
struct lane {
	struct matcher *m;
	const uint32_t *stacks, *launches;
	uint32_t nr_stacks, nr_launches;
	struct band *bands;		/* by stack */
	double *cells;
	float *weights;			/* by cell: of the match of stack i and launch k */
	uint32_t width;			/* cells of the longest row */
};

static double lane__weight(const struct lane *l, uint32_t i, uint32_t k)
{
	const struct aligner *al = l->m->al;
	uint32_t stack = l->stacks[i], launch = l->launches[k];

	if (al->cpu.in->events[stack].kind != al->gpu.in->events[launch].kind)
		return 0;
	return l->m->p_stack * matcher__density(l->m, al->stack_time[stack] - al->gpu.time[launch]);
}

/* Finds the launches that each stack may match, and how well they fit. Return: 0 or -ENOMEM. */
static int lane__init(struct lane *l)
{
	const struct aligner *al = l->m->al;
	const double *time = al->gpu.time;
	double reach, mean_gap, at;
	uint32_t i, k, lo = 0, mid = 0, hi = 0;
	size_t cells = 0;

	l->bands = malloc(l->nr_stacks * sizeof(*l->bands));
	if (!l->bands)
		return -ENOMEM;
	mean_gap = (time[l->launches[l->nr_launches - 1]] - time[l->launches[0]]) / l->nr_launches;
	reach = fmin(fmax(l->m->reach, BAND * mean_gap), fmax(al->opts->tolerance_ns, 1));
	for (i = 0; i < l->nr_stacks; i++) {
		struct band *b = &l->bands[i];

		at = al->stack_time[l->stacks[i]];
		while (lo < l->nr_launches && time[l->launches[lo]] < at - reach)
			lo++;
		mid = max_t(uint32_t, mid, lo);
		while (mid < l->nr_launches && time[l->launches[mid]] < at)
			mid++;
		hi = max_t(uint32_t, hi, mid);
		while (hi < l->nr_launches && time[l->launches[hi]] <= at + reach)
			hi++;
		/* In a burst, launches are denser than the mean. */
		b->lo = mid > lo + BAND_MAX ? mid - BAND_MAX : lo;
		b->hi = min_t(uint32_t, hi, mid + BAND_MAX);
		if (i) {
			b->lo = max_t(uint32_t, b->lo, b[-1].lo);
			b->hi = max_t(uint32_t, b->hi, b[-1].hi);
		}
		b->hi = max_t(uint32_t, b->hi, b->lo);
		b->row = cells;
		cells += b->hi - b->lo + 1;
		l->width = max_t(uint32_t, l->width, b->hi - b->lo + 1);
	}
	l->cells = huge__alloc(cells * sizeof(*l->cells));
	l->weights = huge__alloc(cells * sizeof(*l->weights));
	if (!l->cells || !l->weights)
		return -ENOMEM;
	for (i = 0; i < l->nr_stacks; i++)
		for (k = l->bands[i].lo; k < l->bands[i].hi; k++)
			l->weights[l->bands[i].row + k - l->bands[i].lo] = lane__weight(l, i, k);
	return 0;
}

static void lane__exit(struct lane *l)
{
	free(l->weights);
	free(l->cells);
	free(l->bands);
}

/*
 * Sets @carry to the sums that row @i begins with, by its launches: those of the row before. The
 * sums of launches that are out of reach from now on are added up to the first one.
 */
static void lane__carry(const struct lane *l, uint32_t i, double *carry)
{
	const struct band *b = &l->bands[i];
	const double *prev;
	double left = 0;
	uint32_t k;

	memset(carry, 0, (b->hi - b->lo + 1) * sizeof(*carry));
	if (!i) {
		carry[0] = 1;
		return;
	}
	prev = l->cells + b[-1].row;
	for (k = b[-1].lo; k < b->lo; k++)
		left = (left + (k <= b[-1].hi ? prev[k - b[-1].lo] : 0)) * (1 - l->m->p_stack);
	for (k = b->lo; k <= b[-1].hi; k++)
		carry[k - b->lo] = prev[k - b[-1].lo];
	carry[0] += left;
}

static void lane__forward(struct lane *l, double *carry)
{
	double u = l->m->stray_rate, v = 1 - l->m->p_stack, sum, g, *row;
	uint32_t i, k, nr;

	for (i = 0; i < l->nr_stacks; i++) {
		struct band *b = &l->bands[i];
		const float *weights = l->weights + b->row;

		nr = b->hi - b->lo + 1;
		row = l->cells + b->row;
		lane__carry(l, i, carry);
		for (k = 0, g = 0, sum = 0; k < nr; k++) {
			row[k] = carry[k] * u;
			if (k)
				row[k] += g * weights[k - 1];
			g = g * v + carry[k];
			sum += row[k];
		}
		if (!(sum > 0)) {
			/* The sums underflowed: begin anew. */
			for (k = 0; k < nr; k++)
				row[k] = 1;
			sum = nr;
		}
		for (k = 0; k < nr; k++)
			row[k] /= sum;
		b->scale = sum;
	}
}

/*
 * Computes @prev, the sums of the alignments of the stacks behind row @i - 1, from @back, those of
 * row @i. Before the first launch of row @i, alignments can only skip launches.
 */
static void lane__step_back(const struct lane *l, uint32_t i, const double *back, double *prev)
{
	const struct band *b = &l->bands[i], *to = b - 1;
	const float *weights = l->weights + b->row;
	double u = l->m->stray_rate, v = 1 - l->m->p_stack, h = 0, here, sum = 0;
	uint32_t k;

	for (k = b->hi + 1; k-- > to->lo;) {
		if (k >= b->lo) {
			if (k < b->hi)
				h = h * v + weights[k - b->lo] * back[k + 1 - b->lo];
			here = u * back[k - b->lo] + h;
			if (k == b->lo)
				h = here;
		} else {
			here = h = h * v;
		}
		if (k <= to->hi) {
			prev[k - to->lo] = here;
			sum += here;
		}
	}
	for (k = 0; k <= to->hi - to->lo; k++)
		prev[k] /= sum > 0 ? sum : 1;
}

/* Computes the probabilities of all matches in one pair of threads. Return: 0 or -ENOMEM. */
static int lane__match(struct lane *l)
{
	double *carry, *back, *prev, *swap, total, g, v = 1 - l->m->p_stack;
	int err = lane__init(l);
	uint32_t i, k, nr;

	if (err)
		return err;
	carry = malloc(3 * (size_t)l->width * sizeof(*carry));
	if (!carry)
		return -ENOMEM;
	back = carry + l->width;
	prev = back + l->width;
	lane__forward(l, carry);
	i = l->nr_stacks - 1;
	for (k = l->bands[i].hi - l->bands[i].lo + 1, g = 1; k--; g *= v)
		back[k] = g;
	for (;; i--) {
		const struct band *b = &l->bands[i];

		nr = b->hi - b->lo;
		for (k = 0, total = 0; k <= nr; k++)
			total += l->cells[b->row + k] * back[k];
		total *= b->scale;
		lane__carry(l, i, carry);
		for (k = 0, g = 0; k < nr && total > 0; k++) {
			g = g * v + carry[k];
			matcher__answer(l->m, l->stacks[i], l->launches[b->lo + k],
					g * l->weights[b->row + k] * back[k + 1] / total);
		}
		if (!i)
			break;
		lane__step_back(l, i, back, prev);
		swap = back;
		back = prev;
		prev = swap;
	}
	free(carry);
	return 0;
}

static int matcher__match_pair(struct matcher *m, uint32_t a, uint32_t b)
{
	struct lane l = {
		.m = m,
		.stacks = m->stacks + m->stacks_begin[a],
		.launches = m->launches + m->launches_begin[b],
		.nr_stacks = m->stacks_begin[a + 1] - m->stacks_begin[a],
		.nr_launches = m->launches_begin[b + 1] - m->launches_begin[b],
	};
	int err = 0;

	if (l.nr_stacks && l.nr_launches)
		err = lane__match(&l);
	lane__exit(&l);
	return err;
}

/* ---- sets ----------------------------------------------------------------------------------- */

/* A stack and a launch near one another, and the messages between them. */
struct edge {
	uint32_t stack, launch;
	float weight;
	float from_stack, from_launch;	/* probability that the sender has no other match */
};

struct edges {
	struct edge *v;
	size_t nr, cap;
};

/* Adds an edge for each stack and launch that may belong together. Return: 0 or -ENOMEM. */
static int matcher__find_edges(struct matcher *m, const bool *left, const bool *launches_left,
			       struct edges *edges)
{
	struct aligner *al = m->al;
	const struct align_side *cpu = al->cpu.in, *gpu = al->gpu.in;
	const double scale = m->p_stack / ((1 - m->p_stack) * m->stray_rate);
	double reach = fmin(m->reach, fmax(al->opts->tolerance_ns, 1)), at;
	uint32_t i, k, end, mid, hi;
	int err = 0;

	aligner__rewind(al);
	for (i = 0; i < cpu->nr && !err; i++) {
		if (!left[cpu->events[i].thread])
			continue;
		at = al->stack_time[i];
		k = aligner__seek(al, i, at - reach, &end);
		mid = aligner__first_at(al, k, end, at);
		k = mid > k + NR_EDGES ? mid - NR_EDGES : k;
		end = min_t(uint32_t, end - mid, NR_EDGES) + mid;
		for (hi = mid; hi < end && al->time[hi] <= at + reach; hi++)
			;
		for (; k < hi && !err; k++) {
			struct edge e = { .stack = i, .launch = al->launch[k],
					  .from_stack = 1, .from_launch = 1 };

			if (!launches_left[gpu->events[e.launch].thread])
				continue;
			e.weight = scale * matcher__density(m, at - al->time[k]);
			if (e.weight > 1e-6)
				err = array_push(edges, e);
		}
	}
	return err;
}

/*
 * Sends a message each way along every edge.
 * @at_stack, @at_launch: room for a sum at each stack and launch
 *
 * Return: how much the messages have changed.
 */
static float edges__sweep(struct edges *edges, double *at_stack, size_t nr_stacks, double *at_launch,
			  size_t nr_launches)
{
	float change = 0, new;
	size_t n;

	memset(at_stack, 0, nr_stacks * sizeof(*at_stack));
	for (n = 0; n < edges->nr; n++)
		at_stack[edges->v[n].stack] += edges->v[n].weight * edges->v[n].from_launch;
	memset(at_launch, 0, nr_launches * sizeof(*at_launch));
	for (n = 0; n < edges->nr; n++) {
		struct edge *e = &edges->v[n];

		new = 1 / (1 + fmax(at_stack[e->stack] - e->weight * e->from_launch, 0));
		change = fmaxf(change, fabsf(new - e->from_stack));
		e->from_stack = (e->from_stack + new) / 2;
		at_launch[e->launch] += e->weight * e->from_stack;
	}
	for (n = 0; n < edges->nr; n++) {
		struct edge *e = &edges->v[n];

		new = 1 / (1 + fmax(at_launch[e->launch] - e->weight * e->from_stack, 0));
		e->from_launch = (e->from_launch + new) / 2;
	}
	return change;
}

/*
 * Matches those that are in no pair as sets: each stack has one launch at most, each launch one
 * stack. Messages go both ways along the edges until they settle.
 * @left: by thread of the stacks, @launches_left: by thread of the launches: in no pair
 */
static int matcher__match_sets(struct matcher *m, const bool *left, const bool *launches_left)
{
	const struct align_side *cpu = m->al->cpu.in, *gpu = m->al->gpu.in;
	double *at_stack = calloc(cpu->nr, sizeof(*at_stack));
	double *at_launch = calloc(gpu->nr, sizeof(*at_launch)), w;
	int err = at_stack && at_launch ? 0 : -ENOMEM;
	struct edges edges = { 0 };
	uint32_t sweep;
	size_t n;

	if (!err)
		err = matcher__find_edges(m, left, launches_left, &edges);
	for (sweep = 0; sweep < NR_SWEEPS && !err; sweep++)
		if (edges__sweep(&edges, at_stack, cpu->nr, at_launch, gpu->nr) < 1e-3)
			break;
	for (n = 0; n < edges.nr && !err; n++) {
		const struct edge *e = &edges.v[n];

		w = (double)e->weight * e->from_stack * e->from_launch;
		matcher__answer(m, e->stack, e->launch, w / (1 + w));
	}
	array_free(&edges);
	free(at_launch);
	free(at_stack);
	return err;
}

/* ---- the whole ------------------------------------------------------------------------------ */

static int matcher__match(struct matcher *m)
{
	const struct align_side *cpu = m->al->cpu.in, *gpu = m->al->gpu.in;
	bool *left = malloc(cpu->nr_threads + gpu->nr_threads), any = false;
	bool *launches_left = left + cpu->nr_threads;
	uint32_t a, b;
	int err = left ? 0 : -ENOMEM;

	if (err)
		return err;
	memset(left, true, cpu->nr_threads + gpu->nr_threads);
	for (b = 0; b < gpu->nr_threads && !err; b++) {
		a = m->al->out->pair[b];
		if (a == NO_INDEX)
			continue;
		left[a] = launches_left[b] = false;
		err = matcher__match_pair(m, a, b);
	}
	for (a = 0; a < cpu->nr_threads; a++)
		any |= left[a];
	if (!err && any)
		err = matcher__match_sets(m, left, launches_left);
	free(left);
	return err;
}

int aligner__match(struct aligner *al)
{
	struct matcher m = { .al = al };
	int err;

	m.answers = huge__zalloc(al->gpu.in->nr, sizeof(*m.answers));
	m.p_matched = calloc(al->cpu.in->nr, sizeof(*m.p_matched));
	err = m.answers && m.p_matched ? 0 : -ENOMEM;
	if (!err)
		err = sort_by_thread(al->cpu.in, &m.stacks, &m.stacks_begin);
	if (!err)
		err = sort_by_thread(al->gpu.in, &m.launches, &m.launches_begin);
	if (err)
		goto out;
	matcher__learn_shape(&m);
	err = matcher__pair_threads(&m);
	if (!err)
		err = matcher__match(&m);
	if (!err)
		matcher__decide(&m);
out:
	free(m.launches_begin);
	free(m.launches);
	free(m.stacks_begin);
	free(m.stacks);
	free(m.p_matched);
	free(m.answers);
	return err;
}
