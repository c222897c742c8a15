// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Finds the launch of each stack once the clocks' offset is known. Pairs of threads match in order;
 * all other events match as sets.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "import/align/aligner.h"

#define REACH		8.0		/* largest distance in the distribution, in jitters */
#define SET_REACH	16.0		/* REACH where the order is unknown; a larger reach would
					 * match stacks of other launches */
#define NR_SHAPE	128		/* bins of the distribution of distances */
#define SHAPE_STACKS	16384		/* number of stacks that suffice to learn the shape */
#define NOISE		0.05		/* assumed share of stacks without a launch */
#define BAND		8		/* a stack may belong to one of this many launches on either
					 * side */
#define BAND_MAX	64		/* limit of BAND where launches are denser than the mean */
#define NR_EDGES	24		/* a stack has edges to at most this many launches on either
					 * side */
#define NR_SWEEPS	40
#define SET_MASS_MIN	0.9		/* share of the smaller side that must match if threads are
					 * unknown */
#define AGREE_MIN	0.9		/* share of answers on which two shifts must agree */
#define SWAP_DEPTH	2		/* maximum number of stacks in a chain of swaps, minus 1 */
#define SWAP_STEPS	1000
#define SWAP_CARE	3
#define FAR_STACK	0.001		/* share of seemingly lost stacks that are only far from
					 * their launches */
#define FAR_LAUNCHES	256		/* maximum number of launches to consider for a stack
					 * without a launch near it */
#define NR_DOUBTS	84		/* number of doubt steps, from a probability of 1 to 1e-9 */
#define FAR_JITTERS	32		/* a stack that is more jitters than this away from all
					 * calls matches no call */
#define DRIFT_FAR	50e-6		/* possible drift error at the ends of the recording */
#define NEXT_MIN	48		/* minimum expected number of stacks without a launch; with
					 * a probability of e^-7, only half as many occur */
#define NR_ANSWERS	4		/* number of labels kept for one launch */

/*
 * The candidate answers for a launch: for each label, the most probable stack near the launch, and
 * the probabilities of the stack and the label.
 */
struct answers {
	uint32_t label[NR_ANSWERS];
	uint32_t best[NR_ANSWERS];	/* most probable stack with that label */
	float p_best[NR_ANSWERS];
	float p[NR_ANSWERS];
	float p_any;
};

struct matcher {
	struct aligner *al;
	double reach;			/* largest distance that density[] covers, in ns */
	double density[NR_SHAPE];	/* probability density by distance, per ns */
	double p_stack;			/* probability that a launch has a stack */
	double p_stray;			/* probability that a stack has no launch */
	double phase;			/* in ns; subtracted from the times of stacks before their
					 * order is judged */
	double out_of_order;		/* weight of a match that is out of order */
	double *before;			/* for each launch: when its thread's previous call
					 * returned */
	struct answers *answers;	/* by launch */
	float *p_matched;		/* by stack */
	float *doubt;			/* for each launch: weight of the other matches, relative to
					 * the best match */
	struct lanes lanes;
	uint32_t *nr_label;		/* number of stacks with each label */
	struct names *names;
};

/* ---- distances ------------------------------------------------------------------------------ */

/* Return: the density of distance @d in the tail, beyond all learned distances. */
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

/* Sets the distribution of distances. @shape: number of distances in each bin, in any unit */
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

/* Smooths the shape, more strongly if it was learned from fewer events. */
static void smooth_shape(double *shape, double mass)
{
	double smooth[NR_SHAPE];
	uint32_t i, n;

	for (n = mass < 1000 ? 6 : mass < 10000 ? 3 : 1; n; n--) {
		for (i = 0; i < NR_SHAPE; i++)
			smooth[i] = (shape[i ? i - 1 : 0] + 2 * shape[i] +
				     shape[i + 1 < NR_SHAPE ? i + 1 : i]) / 4;
		memcpy(shape, smooth, sizeof(smooth));
	}
}

/*
 * Sets the probabilities that a stack or a launch was lost.
 * @mass: number of stacks that have a launch
 */
static void matcher__set_rates(struct matcher *m, double mass)
{
	struct aligner *al = m->al;
	double nr_cpu = al->cpu.in->nr, nr_gpu = al->gpu.in->nr, least;

	/* A rate of 0 among a few events does not prove that no event can be lost. */
	least = fmax(0.0005, fmin(0.5 / (fmin(nr_cpu, nr_gpu) + 1), 0.05));
	m->p_stack = fmax(fmin(mass / nr_gpu, 1 - least), 0.05);
	m->p_stray = fmax((nr_cpu - mass) / nr_cpu, least);
}

/*
 * Learns how far stacks are from their launches. The distances determine the probable launches of
 * each stack, and the probable launches determine the distances, so this computes both in turn
 * until they converge.
 */
static void matcher__learn_shape(struct matcher *m)
{
	struct aligner *al = m->al;
	uint32_t nr = al->cpu.in->nr, step = 1 + nr / SHAPE_STACKS, i, k, first, end, pass, n;
	double next[NR_SHAPE], noise = NOISE, mass = 0, sum, at, d, r;

	m->reach = fmin(SET_REACH * al->jitter, fmax(al->opts->tolerance_ns, 1));
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
			sum = noise * al->group_rate[al->group[i]];
			for (k = first; k < end; k++)
				sum += (1 - noise) * matcher__density(m, at - al->time[k]);
			for (k = first; k < end; k++) {
				d = at - al->time[k];
				r = (1 - noise) * matcher__density(m, d) / sum;
				n = fmin((d / m->reach + 1) * (NR_SHAPE / 2), NR_SHAPE - 1);
				next[n] += r;
				mass += r;
			}
		}
		if (mass < 0.5)
			break;
		noise = fmin(fmax(1 - mass * step / nr, 0.0005), 0.5);
		smooth_shape(next, mass);
		matcher__set_shape(m, next);
	}
	mass *= nr / (double)((nr + step - 1) / step);
	matcher__set_rates(m, mass);
	/* The phase is the largest delay of a stack, ignoring one stack in 1000. */
	for (i = NR_SHAPE, sum = 0, at = 0; i--;)
		at += next[i];
	for (i = NR_SHAPE; i > NR_SHAPE / 2 && sum < 0.001 * at; i--)
		sum += next[i - 1];
	m->phase = i * 2 * m->reach / NR_SHAPE - m->reach;
}

/*
 * Learns how far stacks are from their launches, using pairs of threads. In each pair, the order of
 * events determines the launch of each stack.
 */
static void matcher__measure_shape(struct matcher *m)
{
	const struct aligner *al = m->al;
	const struct lanes *l = &m->lanes;
	double shape[NR_SHAPE], mass = 0, at, next, d;
	uint32_t b, a, i, k, n;

	m->reach = fmin(REACH * al->jitter, fmax(al->opts->tolerance_ns, 1));
	for (n = 0; n < NR_SHAPE; n++)
		shape[n] = 1e-6;
	for (b = 0; b < al->gpu.in->nr_threads; b++) {
		a = al->out->pair[b];
		if (a == NO_INDEX)
			continue;
		k = l->launches_begin[b];
		for (i = l->stacks_begin[a]; i < l->stacks_begin[a + 1]; i++) {
			at = al->stack_time[l->stacks[i]] - m->phase;
			next = i + 1 < l->stacks_begin[a + 1] ?
				al->stack_time[l->stacks[i + 1]] - m->phase : INFINITY;
			while (k < l->launches_begin[b + 1] && al->gpu.time[l->launches[k]] < at)
				k++;
			if (k == l->launches_begin[b + 1] || al->gpu.time[l->launches[k]] >= next ||
			    !aligner__fit(&al->cpu.in->events[l->stacks[i]],
					  &al->gpu.in->events[l->launches[k]]))
				continue;
			d = al->stack_time[l->stacks[i]] - al->gpu.time[l->launches[k]];
			if (fabs(d) >= m->reach)
				continue;
			mass++;
			shape[(uint32_t)fmin((d / m->reach + 1) * (NR_SHAPE / 2), NR_SHAPE - 1)]++;
		}
	}
	smooth_shape(shape, mass);
	matcher__set_shape(m, shape);
	matcher__set_rates(m, mass);
}

/*
 * Weighs a match by order: a stack must come after the previous launch of its thread, and before
 * its own launch.
 * Return: the weight of the match; 1 if it obeys the order.
 */
static inline double matcher__order(const struct matcher *m, uint32_t stack, uint32_t launch)
{
	double at = m->al->stack_time[stack] - m->phase;

	return at <= m->al->gpu.time[launch] && at > m->before[launch] ? 1 :
		m->out_of_order;
}

/* ---- threads -------------------------------------------------------------------------------- */

/* Sorts the events of a side by thread, then by time. Return: 0 or -ENOMEM. */
static int sort_by_thread(const struct align_side *s, uint32_t **order, uint32_t **begin)
{
	uint32_t i;

	*order = malloc(s->nr * sizeof(**order));
	*begin = calloc((size_t)s->nr_threads + 2, sizeof(**begin));
	if (!*order || !*begin)
		return -ENOMEM;
	/*
	 * begin[thread + 2] first holds the number of the thread's events. Prefix sums turn
	 * begin[thread + 1] into the index of the thread's first event. Sorting increases this
	 * index to the end of the thread's events.
	 */
	for (i = 0; i < s->nr; i++)
		(*begin)[s->events[i].thread + 2]++;
	for (i = 2; i < s->nr_threads + 2; i++)
		(*begin)[i] += (*begin)[i - 1];
	for (i = 0; i < s->nr; i++)
		(*order)[(*begin)[s->events[i].thread + 1]++] = i;
	return 0;
}

/* Return: the number of events of a thread. */
static double thread__nr(const uint32_t *begin, size_t thread)
{
	return begin[thread + 1] - begin[thread];
}

/* Pairs threads of the two sides that are each other's best match. */
static int matcher__pair_threads(struct matcher *m)
{
	const struct lanes *l = &m->lanes;
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
		sum = NOISE * al->group_rate[al->group[i]];
		for (j = first; j < end; j++)
			sum += matcher__density(m, at - al->time[j]);
		for (j = first; j < end; j++)
			votes[cpu->events[i].thread * nr_b +
			      gpu->events[al->launch[j]].thread] +=
				matcher__density(m, at - al->time[j]) / sum;
	}
	for (b = 0; b < nr_b; b++) {
		for (a = best_a = 0; a < nr_a; a++)
			if (votes[a * nr_b + b] / fmax(thread__nr(l->stacks_begin, a), 1) >
			    votes[best_a * nr_b + b] / fmax(thread__nr(l->stacks_begin, best_a), 1))
				best_a = a;
		for (k = best_b = 0; k < nr_b; k++)
			if (votes[best_a * nr_b + k] / fmax(thread__nr(l->launches_begin, k), 1) >
			    votes[best_a * nr_b + best_b] /
			    fmax(thread__nr(l->launches_begin, best_b), 1))
				best_b = k;
		if (best_b != b || votes[best_a * nr_b + b] <= 0)
			continue;
		/* A thread with more stacks than launches also holds stacks of other threads. */
		nr_cpu = thread__nr(l->stacks_begin, best_a);
		nr_gpu = thread__nr(l->launches_begin, b);
		if (nr_cpu <= 1.2 * nr_gpu + 8 && nr_gpu <= 4 * nr_cpu + 8)
			al->out->pair[b] = best_a;
	}
	free(votes);
	return 0;
}

/* ---- answers -------------------------------------------------------------------------------- */

/* Adds the answer that @stack belongs to @launch, with probability @p. */
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

/* Return: the probability that the stack of a launch had @label, if that stack was lost. */
static double matcher__usual(const struct matcher *m, uint32_t launch, uint32_t label)
{
	const struct name *name = names__find(m->names, &m->al->gpu.in->events[launch]);
	uint32_t nr = name ? name->nr_stacks : m->al->cpu.in->nr;

	return fmin(m->nr_label[label] / (nr + 1.0), 1);
}

/*
 * Finds the best answer for a launch.
 * @match: set to a stack or ALIGN_NONE
 *
 * Return: the probability that the answer is wrong.
 */
static double matcher__best(const struct matcher *m, uint32_t launch, uint32_t *match)
{
	const struct answers *a = &m->answers[launch];
	double any = fmin(a->p_any, 1), wrong = fmax(any, FAR_STACK), w;
	uint32_t n, same;

	*match = ALIGN_NONE;
	for (n = 0; n < NR_ANSWERS; n++) {
		if (!(a->p[n] > 0.5))
			continue;
		w = fmax(any - a->p[n], 0) +
		    (1 - any) * (1 - matcher__usual(m, launch, a->label[n]));
		if (w < wrong) {
			wrong = w;
			*match = a->best[n];
		}
	}
	wrong = fmax(wrong, m->doubt[launch] / (1 + m->doubt[launch]));
	/* The kernel's name may identify the call path even if the stack is unknown. */
	w = names__wrong(m->names, &m->al->gpu.in->events[launch], &same);
	if (w < wrong) {
		*match = same;
		return w;
	}
	return wrong;
}

/*
 * Return: an error probability as a number of steps. Each step reduces the probability by a factor
 * of exp(-1/4).
 */
static uint32_t doubt(double wrong)
{
	return wrong > 1 ? 0 : wrong < 1e-9 ? NR_DOUBTS - 1 :
	       min_t(uint32_t, -4 * log(wrong), NR_DOUBTS - 1);
}

/*
 * Return: whether a stack is so long before the first call, or so long after the last call, that
 * its own call is not in the recording.
 */
static bool matcher__is_outside(const struct matcher *m, uint32_t stack)
{
	const struct aligner *al = m->al;
	double at = al->stack_time[stack];
	double far = FAR_JITTERS * al->jitter + fabs(m->phase) + DRIFT_FAR * al->cpu.span;

	return at < al->gpu.time[0] - far || at > al->gpu.time[al->gpu.in->nr - 1] + far;
}

double align__allowed_wrong(double nr)
{
	static const double means[] = { 0.01, 0.149, 0.436, 0.823, 1.28, 1.79, 2.33, 2.91, 3.51 };

	return nr < 1000 * ARRAY_SIZE(means) ? means[(int)(nr / 1000)] : ALIGN_WRONG * nr;
}

/*
 * Takes the most probable answers: as many as align__allowed_wrong() allows, all with a probability
 * of at least ALIGN_CERTAIN. A launch without a stack near it did not necessarily lose its stack.
 */
static void matcher__decide(const struct matcher *m, uint32_t *matches, uint32_t *back)
{
	double wrong[NR_DOUBTS] = { 0 }, nr[NR_DOUBTS] = { 0 }, sum = 0, all = 0, w;
	uint32_t i, k, match, limit = NR_DOUBTS, uncertain = 0, own = 0, spare;

	for (k = 0; k < m->al->gpu.in->nr; k++) {
		w = matcher__best(m, k, &match);
		if (match == ALIGN_NONE)
			continue;
		wrong[doubt(w)] += w;
		nr[doubt(w)]++;
	}
	for (i = NR_DOUBTS; i-- > doubt(1 - ALIGN_CERTAIN);) {
		sum += wrong[i];
		all += nr[i];
		if (sum <= align__allowed_wrong(all))
			limit = i;
	}
	for (i = 0; i < m->al->cpu.in->nr; i++)
		back[i] = matcher__is_outside(m, i) ? ALIGN_NONE : ALIGN_UNCERTAIN;
	for (k = 0; k < m->al->gpu.in->nr; k++) {
		w = matcher__best(m, k, &match);
		matches[k] = match != ALIGN_NONE && doubt(w) >= limit ? match : ALIGN_UNCERTAIN;
		if (matches[k] < ALIGN_UNCERTAIN)
			back[matches[k]] = k;
		uncertain += matches[k] == ALIGN_UNCERTAIN;
	}
	/*
	 * If a clock was set in mid-recording, some stacks lie outside all calls although their
	 * calls were recorded. Therefore, for each call without a stack, one of these stacks stays
	 * uncertain, starting with the stacks nearest to the calls. Some of the calls may later get
	 * a call path by name.
	 */
	for (i = 0; i < m->al->cpu.in->nr; i++)
		own += m->p_matched[i] > 0.5;
	spare = k > own ? max_t(uint32_t, uncertain, k - own) : uncertain;
	for (i = m->al->cpu.in->nr; i-- && spare;) {
		if (back[i] != ALIGN_NONE || m->al->stack_time[i] > m->al->gpu.time[0])
			continue;
		back[i] = ALIGN_UNCERTAIN;
		spare--;
	}
	for (i = 0; i < m->al->cpu.in->nr && spare; i++) {
		if (back[i] != ALIGN_NONE)
			continue;
		back[i] = ALIGN_UNCERTAIN;
		spare--;
	}
}

/* ---- pairs of threads ----------------------------------------------------------------------- */

/*
 * A stack of a pair of threads may belong to the launches [lo, hi). Both lo and hi can only grow
 * from one stack to the next. The stack's row in the table starts at cells[row] and has one cell
 * for each of these launches, and one extra cell.
 */
struct band {
	uint32_t lo, hi;
	size_t row;
	double scale;			/* the row's sum before scaling */
};

/*
 * The stacks and launches of one pair of threads, both sorted by time, and the table of their
 * alignments. Cell (i, k) is the sum of all alignments of the stacks up to i whose last matched
 * launch is k-1. The row's first cell also includes the alignments whose last matched launch is
 * before that cell's launch. Stack i is either stray, or belongs to a launch after the last matched
 * launch; any launches in between have no stack. Each alignment is therefore exactly one path
 * through the table. Rows are scaled to a sum of 1. Only the rows of the forward pass are kept; the
 * backward pass needs one row at a time.
 */
struct lane {
	struct matcher *m;
	const uint32_t *stacks, *launches;
	uint32_t nr_stacks, nr_launches;
	struct band *bands;		/* by stack */
	double *cells;
	float *weights;			/* for each cell: weight of matching stack i and launch k */
	uint32_t width;			/* number of cells in the longest row */
	double stray_rate;		/* stray stacks per ns */
};

static double lane__weight(const struct lane *l, uint32_t i, uint32_t k)
{
	const struct aligner *al = l->m->al;
	uint32_t stack = l->stacks[i], launch = l->launches[k];

	if (!aligner__fit(&al->cpu.in->events[stack], &al->gpu.in->events[launch]))
		return 0;
	return l->m->p_stack * matcher__order(l->m, stack, launch) *
	       matcher__density(l->m, al->stack_time[stack] - al->gpu.time[launch]);
}

/*
 * Finds the launches that each stack may belong to, and the weights of these matches. Return: 0 or
 * -ENOMEM.
 */
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
	/* The rate applies while the thread launches, so exclude its pauses. */
	l->stray_rate = l->m->p_stray / (mean_gap > 0 ? fmin(mean_gap, al->median) : al->median);
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
		/* Limit the band: in bursts, launches are denser than on average. */
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
 * Sets @carry to the previous row, shifted to the cells of row @i, so that row @i can be computed
 * from it. The first cell also gets the sums of the launches that row @i no longer reaches.
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
	double u = l->stray_rate, v = 1 - l->m->p_stack, sum, g, *row;
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
			/* No match fits, or the numbers underflowed: restart with equal weights. */
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
 * Computes the previous row of the backward pass (@prev) from row @i (@back). Each cell sums the
 * alignments of the stacks after its row. Launches before row @i's first launch can only be
 * skipped.
 */
static void lane__step_back(const struct lane *l, uint32_t i, const double *back, double *prev)
{
	const struct band *b = &l->bands[i], *to = b - 1;
	const float *weights = l->weights + b->row;
	double u = l->stray_rate, v = 1 - l->m->p_stack, h = 0, here, sum = 0;
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
		.stacks = m->lanes.stacks + m->lanes.stacks_begin[a],
		.launches = m->lanes.launches + m->lanes.launches_begin[b],
		.nr_stacks = m->lanes.stacks_begin[a + 1] - m->lanes.stacks_begin[a],
		.nr_launches = m->lanes.launches_begin[b + 1] - m->lanes.launches_begin[b],
	};
	int err = 0;

	if (l.nr_stacks && l.nr_launches)
		err = lane__match(&l);
	lane__exit(&l);
	return err;
}

/* ---- sets ----------------------------------------------------------------------------------- */

/* A stack and a launch that are near each other, and the messages that both send along the edge. */
struct edge {
	uint32_t stack, launch;
	float weight;
	float from_stack, from_launch;	/* probability that the sending node has no other match */
};

/* Stacks and launches that match as sets. */
struct sets {
	struct matcher *m;
	ARRAY(struct edge) edges;	/* sorted by stack */
	uint32_t *begin;		/* for each stack: index of its first edge; the last entry
					 * is the number of edges */
	uint32_t *mate;			/* for each launch: edge to the best stack, or NO_INDEX */
	uint32_t *mate_of_stack;	/* for each stack: edge to the best launch, or NO_INDEX */
};

/*
 * Computes the messages. Each stack has at most one launch, and each launch at most one stack.
 * Messages go both ways along the edges until they converge.
 */
static int sets__settle(struct sets *s)
{
	uint32_t nr_cpu = s->m->al->cpu.in->nr, nr_gpu = s->m->al->gpu.in->nr, sweep;
	double *at_stack = calloc(nr_cpu, sizeof(*at_stack));
	double *at_launch = calloc(nr_gpu, sizeof(*at_launch));
	int err = at_stack && at_launch ? 0 : -ENOMEM;
	size_t n;

	for (sweep = 0; sweep < NR_SWEEPS && !err; sweep++) {
		float change = 0, new;

		memset(at_stack, 0, nr_cpu * sizeof(*at_stack));
		for (n = 0; n < s->edges.nr; n++)
			at_stack[s->edges.v[n].stack] += s->edges.v[n].weight *
							 s->edges.v[n].from_launch;
		memset(at_launch, 0, nr_gpu * sizeof(*at_launch));
		array_each(&s->edges, e) {
			new = 1 / (1 + fmax(at_stack[e->stack] - e->weight * e->from_launch, 0));
			change = fmaxf(change, fabsf(new - e->from_stack));
			e->from_stack = (e->from_stack + new) / 2;
			at_launch[e->launch] += e->weight * e->from_stack;
		}
		array_each(&s->edges, e) {
			new = 1 / (1 + fmax(at_launch[e->launch] - e->weight * e->from_stack, 0));
			e->from_launch = (e->from_launch + new) / 2;
		}
		if (change < 1e-3)
			break;
	}
	free(at_launch);
	free(at_stack);
	return err;
}

static double edge__weight(const struct edge *e)
{
	return (double)e->weight * e->from_stack * e->from_launch;
}

/* Finds mates: a stack and a launch that are each other's most probable match. */
static void sets__mate(struct sets *s)
{
	struct matcher *m = s->m;
	uint32_t k, i, n;

	for (k = 0; k < m->al->gpu.in->nr; k++)
		s->mate[k] = NO_INDEX;
	for (i = 0; i < m->al->cpu.in->nr; i++)
		s->mate_of_stack[i] = NO_INDEX;
	for (n = 0; n < s->edges.nr; n++) {
		const struct edge *e = &s->edges.v[n];
		uint32_t *mate = &s->mate[e->launch], *mate_of_stack = &s->mate_of_stack[e->stack];

		if (*mate == NO_INDEX || edge__weight(e) > edge__weight(&s->edges.v[*mate]))
			*mate = n;
		if (*mate_of_stack == NO_INDEX ||
		    edge__weight(e) > edge__weight(&s->edges.v[*mate_of_stack]))
			*mate_of_stack = n;
	}
	for (k = 0; k < m->al->gpu.in->nr; k++)
		if (s->mate[k] != NO_INDEX &&
		    s->mate_of_stack[s->edges.v[s->mate[k]].stack] != s->mate[k])
			s->mate[k] = NO_INDEX;
	for (i = 0; i < m->al->cpu.in->nr; i++)
		if (s->mate_of_stack[i] != NO_INDEX &&
		    s->mate[s->edges.v[s->mate_of_stack[i]].launch] != s->mate_of_stack[i])
			s->mate_of_stack[i] = NO_INDEX;
}

/*
 * Weighs the matchings in which @launch has another stack, or no stack, against the most probable
 * matching. In such a matching the stack of @launch goes to a second launch, whose stack goes to a
 * third launch, and so on, until a stack goes to @launch.
 * @stack: the stack that currently has no launch
 * @ratio: the weight of the changes so far
 * @budget: number of steps left
 *
 * Return: the sum of the weights; the most probable matching has weight 1.
 */
static double sets__swap(const struct sets *s, uint32_t launch, uint32_t stack, double ratio,
			 uint32_t depth, uint32_t *budget)
{
	const struct align_event *stacks = s->m->al->cpu.in->events;
	uint32_t label = stacks[s->edges.v[s->mate[launch]].stack].label, n;
	double sum = 0, r;

	for (n = s->begin[stack]; n < s->begin[stack + 1]; n++) {
		const struct edge *e = &s->edges.v[n];
		uint32_t mate = s->mate[e->launch];

		if (n == s->mate_of_stack[stack])
			continue;
		if (!*budget)
			return 1;
		--*budget;
		r = ratio * e->weight;
		if (e->launch == launch) {
			sum += stacks[stack].label == label ? 0 :
			       r / s->edges.v[mate].weight;
			continue;
		}
		/*
		 * The chain ends at a launch without a stack: @launch is then left without a stack.
		 */
		if (mate == NO_INDEX) {
			sum += r / s->edges.v[s->mate[launch]].weight *
			       (1 - matcher__usual(s->m, launch, label));
			continue;
		}
		r /= s->edges.v[mate].weight;
		if (depth && r > 1e-5)
			sum += sets__swap(s, launch, s->edges.v[mate].stack, r, depth - 1, budget);
	}
	return sum;
}

/*
 * Makes the certainty of matches realistic. Messages along the edges may return to their sender,
 * and then the most probable matches look too certain. Therefore this function weighs matchings
 * that differ slightly from the most probable matching.
 */
static void sets__doubt(struct sets *s, const bool *left)
{
	struct matcher *m = s->m;
	uint32_t i, k, n, end, budget;
	float *taken = m->doubt;
	double at;

	/*
	 * A stack may belong to a launch without a mate, and a launch may own a stack without a
	 * mate.
	 */
	for (n = 0; n < s->edges.nr; n++) {
		const struct edge *e = &s->edges.v[n];
		uint32_t own = s->mate_of_stack[e->stack], mate = s->mate[e->launch];

		if (mate == NO_INDEX && own != NO_INDEX)
			taken[e->launch] += e->weight / s->edges.v[own].weight;
		else if (mate != NO_INDEX && own == NO_INDEX)
			taken[e->launch] += e->weight / s->edges.v[mate].weight;
	}
	/* A stack may be farther from its launch than any learned distance. */
	aligner__rewind(m->al);
	for (i = 0; i < m->al->cpu.in->nr; i++) {
		if (!left[m->al->cpu.in->events[i].thread] || s->mate_of_stack[i] != NO_INDEX)
			continue;
		at = m->al->stack_time[i] - m->phase;
		k = aligner__seek(m->al, m->al->group[i], at, &end);
		end = min_t(uint32_t, end - k, FAR_LAUNCHES) + k;
		for (; k < end; k++)
			if (s->mate[m->al->launch[k]] == NO_INDEX &&
			    m->before[m->al->launch[k]] < at)
				taken[m->al->launch[k]]++;
	}
	for (k = 0; k < m->al->gpu.in->nr; k++) {
		if (s->mate[k] == NO_INDEX)
			continue;
		budget = SWAP_STEPS;
		m->doubt[k] += sets__swap(s, k, s->edges.v[s->mate[k]].stack, 1, SWAP_DEPTH,
					  &budget);
		/* Allow for longer chains of swaps, which are not counted. */
		m->doubt[k] *= SWAP_CARE;
	}
}

/*
 * Matches the events of all unpaired threads as sets.
 * @left: for each thread of the stacks: whether it is unpaired
 * @launches_left: for each thread of the launches: whether it is unpaired
 */
static int matcher__match_sets(struct matcher *m, const bool *left, const bool *launches_left)
{
	struct aligner *al = m->al;
	const struct align_side *cpu = al->cpu.in, *gpu = al->gpu.in;
	const double stray_rate = m->p_stray * cpu->nr / fmax(fmax(al->cpu.span, al->gpu.span), 1);
	const double scale = m->p_stack / ((1 - m->p_stack) * stray_rate);
	double reach = fmin(m->reach, fmax(al->opts->tolerance_ns, 1)), at, w;
	struct sets s = { .m = m };
	uint32_t i, k, end, mid, hi;
	int err;
	size_t n;

	s.begin = calloc((size_t)cpu->nr + 1, sizeof(*s.begin));
	s.mate = malloc(gpu->nr * sizeof(*s.mate));
	s.mate_of_stack = malloc(cpu->nr * sizeof(*s.mate_of_stack));
	err = s.begin && s.mate && s.mate_of_stack ? 0 : -ENOMEM;
	aligner__rewind(al);
	for (i = 0; i < 2 * cpu->nr && !err; i++) {
		uint32_t stack = i / 2, group = i % 2 ? al->nameless[stack] : al->group[stack];

		s.begin[stack + 1] = s.edges.nr;
		if (!left[cpu->events[stack].thread] || group == NO_INDEX)
			continue;
		at = al->stack_time[stack];
		k = aligner__seek(al, group, at - reach, &end);
		mid = aligner__first_at(al, k, end, at);
		k = mid > k + NR_EDGES ? mid - NR_EDGES : k;
		end = min_t(uint32_t, end - mid, NR_EDGES) + mid;
		for (hi = mid; hi < end && al->time[hi] <= at + reach; hi++)
			;
		for (; k < hi && !err; k++) {
			struct edge e = { .stack = stack, .launch = al->launch[k],
					  .from_stack = 1, .from_launch = 1 };

			if (!launches_left[gpu->events[e.launch].thread] ||
			    !aligner__fit(&cpu->events[stack], &gpu->events[e.launch]))
				continue;
			e.weight = scale * matcher__order(m, stack, e.launch) *
				   matcher__density(m, at - al->time[k]);
			if (e.weight > 1e-6)
				err = array_push(&s.edges, e);
		}
		s.begin[stack + 1] = s.edges.nr;
	}
	err = err ?: sets__settle(&s);
	for (n = 0; n < s.edges.nr && !err; n++) {
		w = edge__weight(&s.edges.v[n]);
		matcher__answer(m, s.edges.v[n].stack, s.edges.v[n].launch, w / (1 + w));
	}
	if (!err) {
		sets__mate(&s);
		sets__doubt(&s, left);
	}
	array_free(&s.edges);
	free(s.mate_of_stack);
	free(s.mate);
	free(s.begin);
	return err;
}

/* ---- the whole ------------------------------------------------------------------------------ */

/* Return: whether a stack of @launch would match a launch near the time of launch @at. */
static bool matcher__fits_near(const struct matcher *m, uint32_t launch, uint32_t at)
{
	const struct align_side *gpu = m->al->gpu.in;
	const double *time = m->al->gpu.time;
	uint32_t k = at, n;

	while (k && time[at] - time[k - 1] <= m->reach && at - k < ALIGNER_NEAR)
		k--;
	for (n = 0; k < gpu->nr && time[k] - time[at] <= m->reach; k++, n++)
		if (n > ALIGNER_NEAR ||
		    !names__differ(m->names, &gpu->events[k], &gpu->events[launch]))
			return true;
	return false;
}

/*
 * Each stack may be at a fixed distance from its own call, or at a fixed distance from the thread's
 * previous call. If stacks have no thread, times cannot distinguish these two cases; only kinds and
 * names of calls can. In the second case, a stack is near the previous call, and its own call is
 * the next call of the thread. If the next call differs from all calls near the stack, the stack
 * has no launch in the matching found so far.
 *
 * Return: whether the second case is ruled out, because clearly fewer stacks lack a launch.
 */
static bool matcher__rules_out_next(const struct matcher *m)
{
	const struct lanes *l = &m->lanes;
	const struct align_side *gpu = m->al->gpu.in;
	uint32_t b, i, nr = 0;

	for (b = 0; b < gpu->nr_threads; b++)
		for (i = l->launches_begin[b]; i + 1 < l->launches_begin[b + 1]; i++)
			nr += !matcher__fits_near(m, l->launches[i + 1], l->launches[i]);
	return nr * m->p_stack >= NEXT_MIN && nr >= (2 * m->p_stray + 0.02) * gpu->nr;
}

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

/*
 * Finds the previous launch in each launch's thread, and counts stacks by label. Return: 0 or
 * -ENOMEM.
 */
static int matcher__init(struct matcher *m)
{
	const struct align_side *cpu = m->al->cpu.in, *gpu = m->al->gpu.in;
	uint32_t i, b, labels = 0;
	int err;

	m->answers = huge__zalloc(gpu->nr, sizeof(*m->answers));
	m->p_matched = calloc(cpu->nr, sizeof(*m->p_matched));
	m->doubt = calloc(gpu->nr, sizeof(*m->doubt));
	m->before = malloc(gpu->nr * sizeof(*m->before));
	for (i = 0; i < cpu->nr; i++)
		labels = max_t(uint32_t, labels, cpu->events[i].label);
	m->nr_label = calloc((size_t)labels + 1, sizeof(*m->nr_label));
	if (!m->answers || !m->p_matched || !m->doubt || !m->before || !m->nr_label)
		return -ENOMEM;
	err = sort_by_thread(cpu, &m->lanes.stacks, &m->lanes.stacks_begin);
	err = err ?: sort_by_thread(gpu, &m->lanes.launches, &m->lanes.launches_begin);
	for (b = 0; b < gpu->nr_threads && !err; b++)
		for (i = m->lanes.launches_begin[b]; i < m->lanes.launches_begin[b + 1]; i++)
			m->before[m->lanes.launches[i]] = i == m->lanes.launches_begin[b] ?
				-INFINITY : fmax(m->al->gpu.time[m->lanes.launches[i - 1]],
						 side__returned(&m->al->gpu,
								m->lanes.launches[i - 1],
								m->lanes.launches[i]) - COARSE_NS);
	for (i = 0; i < cpu->nr; i++)
		m->nr_label[cpu->events[i].label]++;
	return err;
}

static void matcher__exit(struct matcher *m)
{
	free(m->nr_label);
	free(m->lanes.launches_begin);
	free(m->lanes.launches);
	free(m->lanes.stacks_begin);
	free(m->lanes.stacks);
	free(m->before);
	free(m->doubt);
	free(m->p_matched);
	free(m->answers);
}

/*
 * Matches all events after the stacks are shifted by @s. Return: 0; -ENOENT if both sides lost too
 * many events; or -ENOMEM.
 */
static int matcher__try(struct matcher *m, const struct shift *s, uint32_t *matches, uint32_t *back)
{
	struct aligner *al = m->al;
	double least;
	uint32_t i;
	int err;

	for (i = 0; i < al->cpu.in->nr; i++)
		al->stack_time[i] -= s->later;
	al->jitter = s->jitter;
	m->phase = s->phase;
	m->out_of_order = s->ordered ? 0.005 : 0.05;
	memset(m->answers, 0, al->gpu.in->nr * sizeof(*m->answers));
	memset(m->doubt, 0, al->gpu.in->nr * sizeof(*m->doubt));
	memset(m->p_matched, 0, al->cpu.in->nr * sizeof(*m->p_matched));
	if (s->ordered)
		matcher__measure_shape(m);
	else
		matcher__learn_shape(m);
	/* One side may have lost many events, but it is unlikely that both sides did. */
	least = s->ordered ? MASS_MIN : SET_MASS_MIN;
	err = m->p_stack < least && m->p_stray > 1 - least ? -ENOENT : matcher__match(m);
	if (!err)
		matcher__decide(m, matches, back);
	for (i = 0; i < al->cpu.in->nr; i++)
		al->stack_time[i] += s->later;
	return err;
}

/*
 * Keeps the answers on which two shifts agree. If only a few answers agree, they agree by chance.
 * Return: whether most answers agree.
 */
static bool matcher__agree(const struct matcher *m, const uint32_t *matches, const uint32_t *back)
{
	const struct align_event *stacks = m->al->cpu.in->events;
	struct align *out = m->al->out;
	uint32_t i, k, nr = 0, nr_same = 0;

	for (i = 0; i < m->al->cpu.in->nr; i++)
		if (back[i] != out->match_back[i])
			out->match_back[i] = ALIGN_UNCERTAIN;
	for (k = 0; k < m->al->gpu.in->nr; k++) {
		uint32_t a = out->match[k], b = matches[k];

		if (a < ALIGN_UNCERTAIN && b < ALIGN_UNCERTAIN) {
			nr++;
			if (stacks[a].label == stacks[b].label) {
				nr_same++;
				continue;
			}
		}
		if (a != b)
			out->match[k] = ALIGN_UNCERTAIN;
	}
	return nr_same >= AGREE_MIN * nr && nr;
}

int aligner__match(struct aligner *al)
{
	uint32_t *matches = NULL, *back = NULL;
	struct shift shifts[MAX_SHIFTS];
	struct matcher m = { .al = al, .names = al->names };
	int err = matcher__init(&m), nr, i;

	if (err)
		goto out;
	matcher__learn_shape(&m);
	err = matcher__pair_threads(&m);
	if (err)
		goto out;
	nr = aligner__find_shifts(al, &m.lanes, shifts);
	if (nr < 0) {
		err = nr;
		goto out;
	}
	if (nr == 1 && !shifts[0].ordered && !matcher__rules_out_next(&m)) {
		shifts[1] = (struct shift){ .later = shifts[0].later - al->median };
		nr = MAX_SHIFTS + 1;
	}
	/*
	 * With few events, both tools may have started and ended in mid-run. Agreeing answers then
	 * prove nothing.
	 */
	if (nr > 1 && fmin(al->cpu.in->nr, al->gpu.in->nr) < FEW)
		nr = MAX_SHIFTS + 1;
	al->out->nr_offsets = nr;
	if (!nr)
		goto out;
	al->out->offset_ns = add_offset(al->out->offset_ns, shifts[0].later);
	for (i = 0; i < (int)al->out->nr_stretches; i++)
		al->out->stretches[i].offset_ns =
			add_offset(al->out->stretches[i].offset_ns, shifts[0].later);
	if (nr > 1)
		al->out->other_offset_ns =
			add_offset(al->out->offset_ns, shifts[1].later - shifts[0].later);
	if (nr > MAX_SHIFTS)
		goto out;
	al->out->jitter_ns = shifts[0].jitter;
	err = matcher__try(&m, &shifts[0], al->out->match, al->out->match_back);
	if (err == -ENOENT) {
		al->out->nr_offsets = 0;
		err = 0;
		goto out;
	}
	if (err || nr == 1)
		goto out;
	matches = malloc(al->gpu.in->nr * sizeof(*matches));
	back = malloc(al->cpu.in->nr * sizeof(*back));
	if (!matches || !back)
		err = -ENOMEM;
	for (i = 1; i < nr && !err; i++) {
		err = matcher__try(&m, &shifts[i], matches, back);
		if (err == -ENOENT)
			err = 0;
		else if (!err && !matcher__agree(&m, matches, back))
			break;
	}
	if (i < nr)
		al->out->nr_offsets = MAX_SHIFTS + 1;
out:
	free(back);
	free(matches);
	matcher__exit(&m);
	return err;
}
