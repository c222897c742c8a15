// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Rules out offsets between the clocks by the order of stacks and launches.
 *
 * A thread reaches a launch, where its stack is taken, makes the call, returns from it, and
 * continues to the next launch. In each thread a stack therefore comes after the previous call has
 * returned, and its own launch comes before the next stack. The distance from a stack to its launch
 * says little: it may vary more than the distance from a call to the next stack, and then each
 * stack is closer to the call before its own call. The first and the last events say little, too:
 * both tools may start and stop in mid-run, and then a call that waits probably lacks its stack.
 * However, where a thread launches again at once or pauses, where a call takes long, or where names
 * differ, stacks and launches alternate only under the right offset.
 *
 * This file therefore counts, for all offsets near the known offset, the stacks that are followed
 * by a matching launch. An offset that is wrong by a launch or more, but has as many of these
 * stacks, cannot be distinguished from the right offset.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "import/align/aligner.h"

#define NR_BINS		(1u << 16)	/* number of offsets that are compared */
#define NR_STACKS	32768		/* maximum number of stacks that are counted */
#define BLOCK		256		/* number of stacks counted together */
#define MAX_STEPS	SHIFT_SPACINGS	/* largest shift, in launches */
#define TURNS_MIN	0.7		/* share of stacks that must alternate with launches */
#define REGULAR		0.97		/* share of launches that may resemble the next launch */
#define ROOM_NS		150		/* the good offsets of a step must span this many ns, ... */
#define ROOM_RATIO	8		/* ... or 1 / ROOM_RATIO of the range of the best step */
#define INSIDE_MIN	2		/* this many stacks may lie inside an earlier call, ... */
#define INSIDE_MAX	0.02		/* ... plus this share of all stacks */
#define STRETCH_MIN	4		/* number of stacks needed to judge a stretch */
#define SET_PRIOR	5.0		/* -log of the probability that a clock was set */
#define SET_GAIN	1.5		/* gain above which a message says that a clock was set */
#define SET_CLEAR	60.0		/* gain above which no other sign is needed */
#define SET_COARSE	0.05		/* jitter / spacing: above this, a sign of a set clock */
#define TURN_LOST	3.0		/* -log of the probability that a stack has no launch */
#define JITTER_MIN	100.0		/* in ns: the resolution of clocks */

/* One thread as both sides see it. */
struct turns {
	const struct aligner *al;
	const uint32_t *stacks, *launches;
	uint32_t nr_stacks, nr_launches;
	bool self;			/* launches take the place of stacks */
};

struct order {
	const struct aligner *al;
	const struct lanes *lanes;
	double range, per_ns;		/* offsets from -range to range; number of bins per ns */
	double from, to;		/* only stacks between these times are counted */
	double drift, drift_from;	/* how much faster the stacks' clock is than stack_time
					 * assumes, estimated from the distances before and
					 * after drift_from */
	int32_t *turns;			/* for each offset: change in the number of stacks followed
					 * by a launch; later the running sum */
	int32_t *steps;			/* for each offset: change in the number of launches that
					 * follow stacks; later the running sum */
	uint32_t stride;		/* only every stride-th BLOCK is counted */
	double nr;			/* number of stacks */
	double nr_launches;
	uint32_t nr_lanes;
};

/*
 * Return: the time of stack @i. If launches take the place of stacks, this is an invented time
 * before the launch, which varies like the times of real stacks.
 */
static double turns__stack(const struct turns *t, uint32_t i)
{
	return t->self ? t->al->gpu.time[t->launches[i]] -
			 4 * t->al->jitter * (i * 2654435761u) * 0x1p-32 :
			 t->al->stack_time[t->stacks[i]];
}

/* Return: whether stack @i may belong to launch @k. */
static bool turns__fit(const struct turns *t, uint32_t i, uint32_t k)
{
	const struct align_event *launches = t->al->gpu.in->events,
				 *launch = &launches[t->launches[k]];

	return t->self ? !names__differ(t->al->names, &launches[t->launches[i]], launch) :
			 aligner__fit(&t->al->cpu.in->events[t->stacks[i]], launch);
}

/* Return: the first launch of the thread at or after @time. */
static uint32_t turns__first_at(const struct turns *t, double time)
{
	uint32_t from = 0, to = t->nr_launches, mid;

	while (from < to) {
		mid = from + (to - from) / 2;
		if (t->al->gpu.time[t->launches[mid]] < time)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

static uint32_t order__bin(const struct order *o, double offset)
{
	double at = (offset + o->range) * o->per_ns;

	return at < 0 ? 0 : at >= NR_BINS ? NR_BINS : (uint32_t)at;
}

/* Return: the offset in the middle of a bin. */
static double order__offset(const struct order *o, uint32_t bin)
{
	return (bin + 0.5) / o->per_ns - o->range;
}

static void order__count(struct order *o, const struct turns *t)
{
	const double *time = t->al->gpu.time;
	uint32_t i, k, first = 0;
	double at, next, from, to;

	for (i = 0; i < t->nr_stacks; i++) {
		if (i / BLOCK % o->stride) {
			i += BLOCK - 1;
			continue;
		}
		at = turns__stack(t, i);
		next = i + 1 < t->nr_stacks ? turns__stack(t, i + 1) : INFINITY;
		if (i % BLOCK == 0)
			first = turns__first_at(t, at - o->range);
		while (first < t->nr_launches && time[t->launches[first]] < at - o->range)
			first++;
		for (k = first; k < t->nr_launches; k++) {
			from = at - time[t->launches[k]];
			if (from < -o->range)
				break;
			o->steps[order__bin(o, from)]++;
			to = next - time[t->launches[k]];
			if (k)
				to = fmin(to, at - side__returned(&t->al->gpu, t->launches[k - 1],
								  t->launches[k]));
			if (to <= from || !turns__fit(t, i, k))
				continue;
			o->turns[order__bin(o, from)]++;
			o->turns[order__bin(o, to)]--;
		}
		o->nr++;
	}
	o->nr_launches += t->nr_launches;
	o->nr_lanes++;
}

/*
 * Sets @t to thread @b of the launches. With @self, the launches of @b take the place of stacks.
 * Return: whether @b is paired with a thread of the stacks.
 */
static bool order__turns(const struct order *o, uint32_t b, bool self, struct turns *t)
{
	const struct lanes *l = o->lanes;
	uint32_t a = o->al->out->pair[b];

	*t = (struct turns){
		.al = o->al, .self = self, .launches = l->launches + l->launches_begin[b],
		.nr_launches = l->launches_begin[b + 1] - l->launches_begin[b],
	};
	if (self) {
		t->nr_stacks = t->nr_launches;
		return true;
	}
	if (a == NO_INDEX)
		return false;
	t->stacks = l->stacks + l->stacks_begin[a];
	t->nr_stacks = l->stacks_begin[a + 1] - l->stacks_begin[a];
	for (; t->nr_stacks && o->al->stack_time[*t->stacks] < o->from; t->nr_stacks--)
		t->stacks++;
	while (t->nr_stacks && o->al->stack_time[t->stacks[t->nr_stacks - 1]] >= o->to)
		t->nr_stacks--;
	return true;
}

static void order__run(struct order *o, bool self)
{
	uint32_t b, i;
	struct turns t;

	memset(o->turns, 0, (NR_BINS + 1) * sizeof(*o->turns));
	memset(o->steps, 0, (NR_BINS + 1) * sizeof(*o->steps));
	o->nr = o->nr_launches = o->nr_lanes = 0;
	for (b = 0; b < o->al->gpu.in->nr_threads; b++)
		if (order__turns(o, b, self, &t))
			order__count(o, &t);
	for (i = 1; i <= NR_BINS; i++) {
		o->turns[i] += o->turns[i - 1];
		o->steps[i] += o->steps[i - 1];
	}
}

/* The distance from a stack to the launch that follows it. */
struct distance {
	double time, d;
};

static int compare_distances(const void *a, const void *b)
{
	return cmp3(((const struct distance *)a)->d, ((const struct distance *)b)->d);
}

static int compare_distance_times(const void *a, const void *b)
{
	return cmp3(((const struct distance *)a)->time, ((const struct distance *)b)->time);
}

#define NR_DISTANCES	(NR_STACKS + BLOCK)

/*
 * Lists the distances from the stacks to the launches that follow them, after @offset is
 * subtracted.
 * @v: room for NR_DISTANCES
 * @inside: set to the number of stacks inside an earlier call
 *
 * Return: the number of distances.
 */
static uint32_t order__distances(const struct order *o, bool self, double offset,
				 struct distance *v, uint32_t *inside)
{
	const double *time = o->al->gpu.time;
	uint32_t b, i, k, nr = 0;
	struct turns t;
	double at, next;

	*inside = 0;
	for (b = 0; b < o->al->gpu.in->nr_threads; b++) {
		if (!order__turns(o, b, self, &t))
			continue;
		for (i = 0; i < t.nr_stacks && nr < NR_STACKS; i++) {
			if (i / BLOCK % o->stride) {
				i += BLOCK - 1;
				continue;
			}
			at = turns__stack(&t, i) - offset;
			next = i + 1 < t.nr_stacks ? turns__stack(&t, i + 1) - offset : INFINITY;
			k = turns__first_at(&t, at);
			*inside += k && k < t.nr_launches &&
				   at > time[t.launches[k - 1]] + COARSE_NS &&
				   at + COARSE_NS < side__returned(&o->al->gpu, t.launches[k - 1],
								   t.launches[k]);
			if (k < t.nr_launches && time[t.launches[k]] < next &&
			    turns__fit(&t, i, k))
				v[nr++] = (struct distance){
					at + offset,
					time[t.launches[k]] - at +
						o->drift * (at + offset - o->drift_from),
				};
		}
	}
	return nr;
}

/*
 * Measures the distances from the stacks to the launches that follow them, after @offset is
 * subtracted.
 * @inside: set to the number of stacks inside an earlier call
 */
static int order__measure(const struct order *o, bool self, double offset, struct shift *s,
			  uint32_t *inside)
{
	struct distance *v = malloc(NR_DISTANCES * sizeof(*v));
	uint32_t i, nr, near;
	double sum = 0;

	if (!v)
		return -ENOMEM;
	nr = order__distances(o, self, offset, v, inside);
	qsort(v, nr, sizeof(*v), compare_distances);
	*s = (struct shift){ .ordered = !self, .jitter = JITTER_MIN };
	if (nr) {
		s->phase = v[nr / 2].d;
		/*
		 * Leave out the longest distances: if a launch was lost, the next launch is far
		 * from the stack.
		 */
		near = nr - nr / 32 - (nr > 8);
		for (i = 0; i < near; i++)
			sum += fabs(v[i].d - v[nr / 2].d);
		s->jitter = fmax(sum / near, JITTER_MIN);
	}
	s->later = offset - s->phase;
	if (self)
		s->jitter = fmax(s->jitter, o->al->jitter);
	free(v);
	return 0;
}

/*
 * Return: the bin with the most turns. If several adjacent bins share this maximum, returns the
 * middle bin of the longest run.
 */
static uint32_t order__top(const struct order *o)
{
	uint32_t i, top = 0, run = 0, widest = 0;
	int32_t most;

	for (i = 0; i < NR_BINS; i++)
		top = o->turns[i] > o->turns[top] ? i : top;
	most = o->turns[top];
	for (i = 0; i < NR_BINS; i++) {
		run = o->turns[i] >= most ? run + 1 : 0;
		if (run > widest) {
			widest = run;
			top = i - run / 2;
		}
	}
	return top;
}

#define NR_STEPS	(2 * MAX_STEPS + 1)	/* -MAX_STEPS to MAX_STEPS */

/*
 * For the bins of one step: the largest number of turns, and the range of the bins that have this
 * number.
 */
struct step_turns {
	int32_t turns;
	uint32_t first, last, width;
};

static void order__find_best(const struct order *o, uint32_t top, struct step_turns best[NR_STEPS])
{
	struct step_turns *b;
	uint32_t i;
	int step;

	for (i = 0; i < NR_BINS; i++) {
		step = lround((o->steps[i] - o->steps[top]) / o->nr);
		if (abs(step) > MAX_STEPS)
			continue;
		b = &best[step + MAX_STEPS];
		if (o->turns[i] > b->turns) {
			b->turns = o->turns[i];
			b->first = i;
		}
		if (o->turns[i] == b->turns)
			b->last = i;
	}
}

/*
 * Return: the number of shifts that fit about as well as the best shift, which becomes shifts[0];
 * or -errno.
 */
static int order__compare(const struct order *o, struct shift *shifts, bool self)
{
	struct step_turns best[NR_STEPS] = { 0 }, *b;
	struct shift ways[NR_STEPS];
	double lost, limit;
	int step, nr = 0, err = 0, n;
	uint32_t i, top, inside;

	top = self ? order__bin(o, 0) + 1 : order__top(o);
	if (!self && o->turns[top] < TURNS_MIN * fmin(o->nr, o->nr_launches))
		return -ENOENT;
	order__find_best(o, top, best);
	lost = (o->nr - o->turns[top]) * fmax(o->nr_launches - o->turns[top], 0) / fmax(o->nr, 1);
	limit = self ? REGULAR * o->turns[top] : o->turns[top] - 2.5 - 3 * sqrt(1 + lost);
	for (i = 0; i < NR_BINS; i++) {
		step = lround((o->steps[i] - o->steps[top]) / o->nr);
		if (abs(step) <= MAX_STEPS)
			best[step + MAX_STEPS].width += o->turns[i] >= limit -
				(self ? 0 : abs(step) * o->nr_lanes);
	}
	for (n = 0; n <= 2 * MAX_STEPS && !err; n++) {
		/* 0, 1, -1, 2, ... */
		step = n % 2 ? (n + 1) / 2 : -n / 2;
		b = &best[step + MAX_STEPS];
		/* The times invented for stacks say nothing about a thread's next call. */
		if (self && step == -1)
			continue;
		/*
		 * A shifted order has fewer turns at its ends if one tool started earlier or ended
		 * later.
		 */
		if (step && b->turns < limit - (self ? 0 : abs(step) * o->nr_lanes))
			continue;
		/*
		 * If the range is too narrow, this step is impossible: no thread can return from a
		 * call and reach its next call so quickly.
		 */
		if (step && !self && b->width < ROOM_NS * o->per_ns &&
		    b->width * ROOM_RATIO < best[MAX_STEPS].width)
			continue;
		i = step ? (b->first + b->last) / 2 : top;
		err = order__measure(o, self, order__offset(o, i), &ways[nr++], &inside);
		if (!err && !step && !self && inside > INSIDE_MIN + INSIDE_MAX * o->nr)
			return 0;
	}
	if (err)
		return err;
	if (self)
		ways[0] = (struct shift){ .jitter = o->al->jitter };
	for (n = 0; n < nr && n < MAX_SHIFTS; n++)
		shifts[n] = ways[n];
	/*
	 * If threads are unknown, a second fitting shift cannot be examined: report too many
	 * shifts.
	 */
	return nr > (self ? 1 : MAX_SHIFTS) ? MAX_SHIFTS + 1 : nr;
}

/* ---- clocks that were set ------------------------------------------------------------------- */

/*
 * Compares two sorted samples with the Kolmogorov-Smirnov test.
 * Return: the statistic K. Samples of one distribution differ by K or more with a probability of
 * about 2 * exp(-2 * K * K).
 */
static double unlike(const struct distance *x, uint32_t nr_x, const struct distance *y,
		     uint32_t nr_y)
{
	uint32_t i = 0, k = 0;
	double most = 0, at;

	while (i < nr_x && k < nr_y) {
		at = fmin(x[i].d, y[k].d);
		while (i < nr_x && x[i].d <= at)
			i++;
		while (k < nr_y && y[k].d <= at)
			k++;
		most = fmax(most, fabs((double)i / nr_x - (double)k / nr_y));
	}
	return nr_x && nr_y ? most * sqrt((double)nr_x * nr_y / ((double)nr_x + nr_y)) : 0;
}

/*
 * Return: how much the distances before and after @time differ.
 * @v: sorted by distance
 * @before: number of distances before @time
 */
static double unlike_at(const struct distance *v, uint32_t nr, double time, uint32_t before)
{
	double most = 0, x = 1.0 / before, y = 1.0 / (nr - before), sum = 0;
	uint32_t i;

	for (i = 0; i < nr; i++) {
		sum += v[i].time < time ? x : -y;
		if (i + 1 == nr || v[i + 1].d > v[i].d)
			most = fmax(most, fabs(sum));
	}
	return most * sqrt((double)before * (nr - before) / nr);
}

/*
 * Finds the point in time at which the distances change most.
 * @v: sorted by time
 * @sorted: set to @v sorted by distance
 * @split: set to the number of distances before that point
 *
 * Return: how much the distances before and after that point differ.
 */
static double find_change(const struct distance *v, uint32_t nr, struct distance *sorted,
			  uint32_t *split)
{
	uint32_t n, k, at;
	double best = 0, now;

	memcpy(sorted, v, nr * sizeof(*v));
	qsort(sorted, nr, sizeof(*v), compare_distances);
	for (n = STRETCH_MIN; 2 * n <= nr; n += 1 + n / 16) {
		for (k = 0; k < 2; k++) {
			at = k ? nr - n : n;
			if (v[at - 1].time == v[at].time)
				continue;
			now = unlike_at(sorted, nr, v[at].time, at);
			if (now > best) {
				best = now;
				*split = at;
			}
		}
	}
	return best;
}

/* The stacks before or after the time at which a clock was set. */
struct clock_stretch {
	double from, to;
	const struct distance *now;	/* distances of the stretch, sorted */
	uint32_t nr;
};

/*
 * Tries to match the stacks of @stretch with other launches than under @offset, so that their
 * distances become similar to the distances of @other.
 * @change: how much the distances of both stretches differ under @offset
 * @v: room for NR_DISTANCES
 * @gain: log-likelihood ratio of the best match so far; raised if a better match is found
 *
 * Return: whether a better match was found. *@later is then the delay of the stacks of @stretch
 * after stack_time.
 */
static bool order__fits_shifted(struct order *o, double offset, const struct clock_stretch *stretch,
				const struct clock_stretch *other, double change,
				struct distance *v, double *gain, double *later)
{
	struct step_turns best[NR_STEPS] = { 0 };
	double at, left, better;
	uint32_t inside, nr;
	bool found = false;
	int step;

	o->from = stretch->from;
	o->to = stretch->to;
	order__run(o, false);
	order__find_best(o, min_t(uint32_t, order__bin(o, offset), NR_BINS - 1), best);
	for (step = -MAX_STEPS; step <= MAX_STEPS; step++) {
		const struct step_turns *b = &best[step + MAX_STEPS];

		if (!step || !b->turns)
			continue;
		at = order__offset(o, (b->first + b->last) / 2);
		nr = order__distances(o, false, at, v, &inside);
		if (!nr)
			continue;
		qsort(v, nr, sizeof(*v), compare_distances);
		at += other->now[other->nr / 2].d - v[nr / 2].d;
		at = fmin(fmax(at, order__offset(o, b->first)), order__offset(o, b->last));
		nr = order__distances(o, false, at, v, &inside);
		if (!nr)
			continue;
		qsort(v, nr, sizeof(*v), compare_distances);
		left = unlike(v, nr, other->now, other->nr);
		better = 2 * (change * change - left * left) - SET_PRIOR -
			 TURN_LOST * fmax((double)stretch->nr - nr, 0);
		if (better > *gain) {
			*gain = better;
			*later = at - v[nr / 2].d;
			found = true;
		}
	}
	o->from = -INFINITY;
	o->to = INFINITY;
	return found;
}

/*
 * Sets o->drift to the drift that aligner__find_offset() could not detect, because that function
 * follows means, which are imprecise with few events. Subtracts this drift from all distances.
 * @v: sorted by time
 * @sorted: room for all distances
 */
static void order__learn_drift(struct order *o, struct distance *v, uint32_t nr,
			       struct distance *sorted)
{
	uint32_t part = nr / 3, i;
	double first, last, span;

	if (!part)
		return;
	span = v[nr - 1 - part / 2].time - v[part / 2].time;
	memcpy(sorted, v, part * sizeof(*v));
	memcpy(sorted + part, v + nr - part, part * sizeof(*v));
	qsort(sorted, part, sizeof(*v), compare_distances);
	qsort(sorted + part, part, sizeof(*v), compare_distances);
	first = sorted[part / 2].d;
	last = sorted[part + part / 2].d;
	o->drift = fmin(fmax((first - last) / fmax(span, 1), -UNSEEN_DRIFT), UNSEEN_DRIFT);
	o->drift_from = v[nr / 2].time;
	for (i = 0; i < nr; i++)
		v[i].d += o->drift * (v[i].time - o->drift_from);
}

/*
 * Records that the stacks' clock was set at @time, which put it ahead by @more. If only one offset
 * then puts all stacks in order, the stretches get that offset.
 */
static void order__set_stretches(struct order *o, double time, double more, bool was_set)
{
	struct align *out = o->al->out;
	struct shift shifts[MAX_SHIFTS];
	uint32_t nr = o->al->cpu.in->nr, i;
	bool known;

	for (i = nr; i && o->al->stack_time[i - 1] >= time; i--)
		o->al->stack_time[i - 1] -= more;
	order__run(o, false);
	known = order__compare(o, shifts, false) == 1;
	out->was_set |= was_set;
	out->nr_stretches = 2;
	out->stretches[0] = (struct align_stretch){ .nr = i, .known = known };
	out->stretches[1] = (struct align_stretch){ .nr = nr - i, .known = known };
	out->stretches[0].offset_ns = add_offset(out->offset_ns, known ? shifts[0].later : 0);
	out->stretches[1].offset_ns = add_offset(out->stretches[0].offset_ns, more);
}

/*
 * If a clock was set in mid-recording, one offset may still put stacks and launches in order: in
 * one stretch of the recording it then matches each stack with the launch before or after the
 * stack's own launch. The distances in that stretch include the time between two launches. Sets the
 * stretches in al->out.
 * Return: whether the data show that a clock was set, or -ENOMEM. They show it if the distances
 * change somewhere, and change less when the stacks of one stretch match other launches.
 */
static int order__was_set(struct order *o, const struct shift *s)
{
	struct distance *v = malloc(3 * (size_t)NR_DISTANCES * sizeof(*v)), *sorted, *room;
	double change, gain = 0, offset = s->later + s->phase, later[2] = { 0 };
	uint32_t nr, split = 0, inside;
	struct clock_stretch before, after;
	bool sure;

	if (!v)
		return -ENOMEM;
	sorted = v + NR_DISTANCES;
	room = sorted + NR_DISTANCES;
	nr = order__distances(o, false, offset, v, &inside);
	qsort(v, nr, sizeof(*v), compare_distance_times);
	order__learn_drift(o, v, nr, sorted);
	change = find_change(v, nr, sorted, &split);
	if (2 * change * change > SET_PRIOR) {
		before = (struct clock_stretch){ -INFINITY, v[split].time, sorted, split };
		after = (struct clock_stretch){ v[split].time, INFINITY, sorted + split,
						nr - split };
		memcpy(sorted, v, nr * sizeof(*v));
		qsort(sorted, split, sizeof(*v), compare_distances);
		qsort(sorted + split, nr - split, sizeof(*v), compare_distances);
		later[1] = offset - after.now[after.nr / 2].d;
		order__fits_shifted(o, offset, &before, &after, change, room, &gain, &later[0]);
		if (order__fits_shifted(o, offset, &after, &before, change, room, &gain, &later[1]))
			later[0] = offset - before.now[split / 2].d;
	}
	/*
	 * aligner__find_offset() matches at least one of the stretches correctly. If both stretches
	 * seem to be wrong, launches occur at equal intervals, and many are missing at the ends.
	 */
	sure = gain > SET_GAIN && (gain > SET_CLEAR ||
				   o->al->jitter > SET_COARSE * o->al->spacing ||
				   fmin(fabs(later[0]), fabs(later[1])) < o->al->spacing);
	if (gain > 0)
		order__set_stretches(o, v[split].time, later[1] - later[0], sure);
	free(v);
	return gain > 0;
}

int aligner__find_shifts(const struct aligner *al, const struct lanes *lanes, struct shift *shifts)
{
	struct order o = {
		.al = al, .lanes = lanes, .stride = 1 + al->cpu.in->nr / NR_STACKS,
		.range = SHIFT_SPACINGS * al->spacing + 8 * al->jitter,
		.from = -INFINITY, .to = INFINITY,
	};
	int nr = -ENOMEM, set;

	o.per_ns = NR_BINS / (2 * o.range);
	o.turns = malloc((NR_BINS + 1) * sizeof(*o.turns));
	o.steps = malloc((NR_BINS + 1) * sizeof(*o.steps));
	if (!o.turns || !o.steps)
		goto out;
	order__run(&o, false);
	nr = o.nr ? order__compare(&o, shifts, false) : -ENOENT;
	if (nr > 0) {
		set = order__was_set(&o, &shifts[0]);
		nr = set < 0 ? set : set ? 0 : nr;
	}
	/*
	 * Without a pair of threads, check instead whether each launch looks like the next launch.
	 */
	if (nr == -ENOENT) {
		order__run(&o, true);
		nr = order__compare(&o, shifts, true);
	}
out:
	free(o.steps);
	free(o.turns);
	return nr;
}
