// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Rules out offsets between the clocks by the order of stacks and launches.
 *
 * A thread comes to a launch, where its stack is taken, makes the call, which returns, and goes on
 * to the next launch. So in each thread a stack comes after the previous call has returned, and is
 * followed by its own launch before the next stack comes. The distance from a stack to its launch
 * says little: it may vary more than the distance from a call to the next stack, and then each
 * stack is closer to the call before its own. The first and the last events say little, too: both
 * tools may begin and end in mid-recording, and then a call that waits probably lacks its stack.
 * But where a thread launches again at once, where a call takes long, where a thread pauses, or
 * where names differ, stacks and launches take turns only under the right offset.
 *
 * So this counts, for all offsets near the one found, the stacks that are followed by a fitting
 * launch. An offset that is wrong by a launch or more, but has as many of these stacks, cannot be
 * told from the right one.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "import/align/aligner.h"

#define NR_BINS		(1u << 16)	/* number of offsets that are compared */
#define NR_STACKS	32768		/* stacks that are counted, at most */
#define BLOCK		256		/* stacks counted together */
#define MAX_STEPS	SHIFT_SPACINGS	/* largest shift, in launches */
#define TURNS_MIN	0.7		/* share of stacks that must take turns with launches */
#define REGULAR		0.97		/* share of launches that may look like the next launch */
#define ROOM_NS		150		/* equally good offsets must span this much, ... */
#define ROOM_RATIO	8		/* ... or at least 1 / ROOM_RATIO of the widest range */
#define INSIDE_MIN	2		/* stacks that may come inside an earlier call, ... */
#define INSIDE_MAX	0.02		/* ... and this share of all stacks */
#define SET_APART	3		/* a change by 3 spreads means that a clock was set, ... */
#define SET_GAPS	0.125		/* ... if it is also this share of a launch gap */
#define JITTER_MIN	100.0		/* ns: the resolution of clocks */

/* One thread as seen by both sides. */
struct turns {
	const struct aligner *al;
	const uint32_t *stacks, *launches;
	uint32_t nr_stacks, nr_launches;
	bool self;			/* launches stand for their own stacks */
};

struct order {
	const struct aligner *al;
	const struct lanes *lanes;
	double range, per_ns;		/* the range of offsets is from -range to range */
	int32_t *turns;			/* by offset: stacks followed by a launch, as changes */
	int32_t *steps;			/* by offset: launches that come after stacks, as changes */
	uint32_t stride;		/* only every stride-th BLOCK is counted */
	double nr;			/* number of stacks */
	double nr_launches;
	uint32_t nr_lanes;
};

/*
 * Return: the time of stack @i. If launches stand for their stacks, the times of the stacks are
 * invented: before the launches, and varying as much as real stacks do.
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

/* Return: the first launch of the thread at @time or later. */
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
 * Sets @t to thread @b of the launches. Return: whether @b is paired with a thread of the stacks.
 * With @self, the launches of @b stand for the stacks.
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

static int compare_distances(const void *a, const void *b)
{
	return cmp3(*(const double *)a, *(const double *)b);
}

/* Distances from stacks to launches, of one half of the recording. */
struct half {
	double *d;			/* has room for NR_STACKS + BLOCK */
	uint32_t nr;
};

/*
 * Sorts @nr distances.
 * @apart: set to half of their interquartile range
 *
 * Return: their median.
 */
static double median(double *d, uint32_t nr, double *apart)
{
	qsort(d, nr, sizeof(*d), compare_distances);
	*apart = (d[nr - 1 - nr / 4] - d[nr / 4]) / 2;
	return d[nr / 2];
}

/*
 * Return: whether the distances differ between the two halves. If so, one of the clocks was set,
 * and in one half each stack is paired with the launch before or after its own.
 */
static bool order__was_set(const struct order *o, const struct half *first,
			   const struct half *second)
{
	double apart[2], moved;

	if (!first->nr || !second->nr)
		return false;
	moved = fabs(median(first->d, first->nr, &apart[0]) -
		     median(second->d, second->nr, &apart[1]));
	return moved > SET_APART * (apart[0] + apart[1]) && moved > SET_GAPS * o->al->median;
}

/*
 * Measures how far the stacks are from the launches that follow them, with @offset subtracted.
 * @broken: set if no single offset can give these distances
 */
static int order__measure(const struct order *o, bool self, double offset, struct shift *s,
			  bool *broken)
{
	double *d = malloc(3 * (NR_STACKS + BLOCK + 1) * sizeof(*d)), at, next, sum = 0;
	struct half halves[2] = { { .d = d + NR_STACKS + BLOCK + 1 },
				  { .d = d + 2 * (NR_STACKS + BLOCK + 1) } }, *half;
	uint32_t b, i, k, nr = 0, near, inside = 0;
	struct turns t;

	if (!d)
		return -ENOMEM;
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
			inside += k && k < t.nr_launches &&
				at > o->al->gpu.time[t.launches[k - 1]] + COARSE_NS &&
				at + COARSE_NS < side__returned(&o->al->gpu, t.launches[k - 1],
								t.launches[k]);
			if (k < t.nr_launches && o->al->gpu.time[t.launches[k]] < next &&
			    turns__fit(&t, i, k)) {
				half = &halves[2 * i >= t.nr_stacks];
				d[nr++] = o->al->gpu.time[t.launches[k]] - at;
				half->d[half->nr++] = d[nr - 1];
			}
		}
	}
	qsort(d, nr, sizeof(*d), compare_distances);
	*s = (struct shift){ .ordered = !self, .jitter = JITTER_MIN };
	if (nr) {
		s->phase = d[nr / 2];
		/*
		 * Leave out the longest distances: if a launch was lost, the next launch is far
		 * from the stack.
		 */
		near = nr - nr / 32 - (nr > 8);
		for (i = 0; i < near; i++)
			sum += fabs(d[i] - d[nr / 2]);
		s->jitter = fmax(sum / near, JITTER_MIN);
	}
	s->later = offset - s->phase;
	if (self)
		s->jitter = fmax(s->jitter, o->al->jitter);
	*broken = inside > INSIDE_MIN + INSIDE_MAX * o->nr ||
		  order__was_set(o, &halves[0], &halves[1]);
	free(d);
	return 0;
}

/* Return: the bin with the most turns; of a run of such bins, the middle of the longest run. */
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

/* The most turns in any bin of one step, and the range of bins with that many turns. */
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

/* Return: how many shifts fit about as well as the best shift, which is put first; or -errno. */
static int order__compare(const struct order *o, struct shift *shifts, bool self)
{
	struct step_turns best[NR_STEPS] = { 0 }, *b;
	struct shift ways[NR_STEPS];
	double lost, limit;
	int step, nr = 0, err = 0, n;
	uint32_t i, top;
	bool broken;

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
		/* Invented times say nothing about a thread's next call. */
		if (self && step == -1)
			continue;
		/*
		 * A shifted order has fewer turns at the ends, where one tool began earlier or
		 * ended later.
		 */
		if (step && b->turns < limit - (self ? 0 : abs(step) * o->nr_lanes))
			continue;
		/*
		 * If the range is too narrow, this step is impossible: no thread returns from a
		 * call and reaches the next call in so short a time.
		 */
		if (step && !self && b->width < ROOM_NS * o->per_ns &&
		    b->width * ROOM_RATIO < best[MAX_STEPS].width)
			continue;
		i = step ? (b->first + b->last) / 2 : top;
		err = order__measure(o, self, (i + 0.5) / o->per_ns - o->range, &ways[nr++],
				     &broken);
		if (!err && !step && !self && broken)
			return 0;
	}
	if (err)
		return err;
	if (self)
		ways[0] = (struct shift){ .jitter = o->al->jitter };
	for (n = 0; n < nr && n < MAX_SHIFTS; n++)
		shifts[n] = ways[n];
	/* Without known threads, the other possible launches of a stack cannot be followed. */
	return nr > (self ? 1 : MAX_SHIFTS) ? MAX_SHIFTS + 1 : nr;
}

int aligner__find_shifts(const struct aligner *al, const struct lanes *lanes, struct shift *shifts)
{
	struct order o = {
		.al = al, .lanes = lanes, .stride = 1 + al->cpu.in->nr / NR_STACKS,
		.range = SHIFT_SPACINGS * al->spacing + 8 * al->jitter,
	};
	int nr = -ENOMEM;

	o.per_ns = NR_BINS / (2 * o.range);
	o.turns = malloc((NR_BINS + 1) * sizeof(*o.turns));
	o.steps = malloc((NR_BINS + 1) * sizeof(*o.steps));
	if (!o.turns || !o.steps)
		goto out;
	order__run(&o, false);
	nr = o.nr ? order__compare(&o, shifts, false) : -ENOENT;
	/* No pair of threads helps. Check instead whether each launch looks like the next one. */
	if (nr == -ENOENT) {
		order__run(&o, true);
		nr = order__compare(&o, shifts, true);
	}
out:
	free(o.steps);
	free(o.turns);
	return nr;
}
