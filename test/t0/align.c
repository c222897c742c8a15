// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Matching stacks to launches by time, on recordings whose truth is known: each launch has a stack
 * of its own kind, so that every match is right or wrong.
 */
#include <math.h>
#include <time.h>

#include "align.h"
#include "tap.h"

#define NR	92732

enum tids { TIDS_SAME, TIDS_OTHER, TIDS_PID };

struct setup {
	const char *name;
	uint32_t nr, nr_threads;
	double gap_us;			/* between launches of a thread: */
	double fixed;			/* ... this share of it is always the same, */
	double burst;			/* ... and so many follow one another closely */
	double jitter_us;		/* a stack is up to so long before its launch */
	double spread_us;		/* ... and rarely, up to so long */
	double lost_stacks, lost_launches;
	double offset_ms, drift_ppm;
	enum tids tids;
	uint32_t nr_labels;		/* different stacks; 0: as many as launches */
	/* what must come out, of the launches that have a stack */
	double max_wrong, min_right;
	bool refused;
	double quantum_ns;		/* as clocks are read */
};

static uint64_t seed;

static double uniform(void)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (seed >> 11) * 0x1p-53;
}

struct event {
	struct align_event e;
	uint32_t truth;
};

static int event__compare(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	return cmp3(x->e.time_ns, y->e.time_ns) ?: cmp3(x->truth, y->truth);
}

static void check(const struct setup *s)
{
	struct event *stacks = calloc(s->nr, sizeof(*stacks)), *launches = calloc(s->nr, sizeof(*launches));
	struct align_event *stack_events = calloc(s->nr, sizeof(*stack_events));
	struct align_event *launch_events = calloc(s->nr, sizeof(*launch_events));
	uint32_t *label_of = calloc(s->nr, sizeof(*label_of)), nr_labels = s->nr_labels ?: s->nr;
	bool *has_stack = calloc(s->nr, sizeof(*has_stack));
	uint64_t tids[64], other_tids[64], base = 1700000000000000000ull / (s->drift_ppm ? 1000 : 1);
	struct align_side a = { .events = stack_events, .tids = other_tids };
	struct align_side b = { .events = launch_events, .tids = tids, .nr_threads = s->nr_threads };
	struct align_opts opts = { .tolerance_ns = 10000000, .max_offset_ns = 1100000000 };
	uint32_t i, t, n = 0, right = 0, wrong = 0, uncertain = 0, with_stack = 0;
	struct timespec from, to;
	struct align r;
	double ms;
	int err;

	seed = 1234567 + s->nr;
	for (t = 0; t < s->nr_threads; t++) {
		double at = 5e6 * uniform();
		uint32_t in_burst = 0;

		tids[t] = 1000 + t;
		other_tids[t] = s->tids == TIDS_SAME ? 1000 + t : s->tids == TIDS_OTHER ?
				0xe7000000 - (t * 2654435761u >> 8) : 1000;
		for (i = t; i < s->nr; i += s->nr_threads) {
			double gap = s->gap_us * 1000, early, step;

			step = gap * s->fixed - gap * (1 - s->fixed) * log(1 - uniform());
			if (s->burst && ++in_burst < s->burst)
				step = 4000 + 500 * uniform();
			else
				in_burst = 0;
			/* A thread cannot launch before its last launch is done. */
			at += fmax(step, 2000);
			label_of[i] = i % nr_labels;
			if (uniform() >= s->lost_launches) {
				launches[b.nr].e = (struct align_event){
					.time_ns = base + at, .thread = t };
				launches[b.nr++].truth = i;
			}
			early = 1000 + s->jitter_us * 1000 * uniform();
			if (s->spread_us && uniform() < 0.01)
				early += s->spread_us * 1000 * uniform();
			/* Nor can it be at the next launch before this one. */
			early = fmin(early, fmax(step, 2000) - 200);
			if (uniform() >= s->lost_stacks) {
				double time = at - early;

				time *= 1 + s->drift_ppm * 1e-6;
				if (s->quantum_ns)
					time = floor(time / s->quantum_ns) * s->quantum_ns;
				stacks[a.nr].e = (struct align_event){
					.time_ns = base + (int64_t)(s->offset_ms * 1e6 + time),
					.thread = s->tids == TIDS_PID ? 0 : t,
					.label = label_of[i] };
				stacks[a.nr++].truth = i;
				has_stack[i] = true;
			}
		}
	}
	a.nr_threads = s->tids == TIDS_PID ? 1 : s->nr_threads;
	qsort(stacks, a.nr, sizeof(*stacks), event__compare);
	qsort(launches, b.nr, sizeof(*launches), event__compare);
	for (i = 0; i < a.nr; i++)
		stack_events[i] = stacks[i].e;
	for (i = 0; i < b.nr; i++)
		launch_events[i] = launches[i].e;
	clock_gettime(CLOCK_MONOTONIC, &from);
	err = align__run(&r, &a, &b, &opts);
	clock_gettime(CLOCK_MONOTONIC, &to);
	ms = (to.tv_sec - from.tv_sec) * 1e3 + (to.tv_nsec - from.tv_nsec) / 1e6;
	for (i = 0; i < b.nr && !err; i++) {
		n++;
		with_stack += has_stack[launches[i].truth];
		if (r.match[i] == ALIGN_UNCERTAIN)
			uncertain++;
		else if (r.match[i] == ALIGN_NONE)
			has_stack[launches[i].truth] ? wrong++ : 0;
		else if (stacks[r.match[i]].e.label == label_of[launches[i].truth] &&
			 has_stack[launches[i].truth])
			right++;
		else
			wrong++;
	}
	ok(!err && wrong <= s->max_wrong * n && right >= s->min_right * with_stack &&
	   (r.nr_offsets > 1) == s->refused,
	   "%s: %u launches, %u with a stack: right %u wrong %u uncertain %u", s->name, n,
	   with_stack, right, wrong, uncertain);
	diag("%.0f ms; offset %.6f ms jitter %.0f ns drift %.1f ppm, %u offsets", ms,
	     r.offset_ns / 1e6, r.jitter_ns, r.drift_ppm, r.nr_offsets);
	align__exit(&r);
	free(has_stack);
	free(label_of);
	free(launch_events);
	free(stack_events);
	free(launches);
	free(stacks);
}

int main(void)
{
	static const struct setup setups[] = {
		{ .name = "one thread", .nr = NR, .nr_threads = 1, .gap_us = 10, .fixed = .3,
		  .jitter_us = 3, .offset_ms = 370, .max_wrong = .005, .min_right = .99 },
		{ .name = "one thread, 1 % lost", .nr = NR, .nr_threads = 1, .gap_us = 10, .fixed = .3,
		  .jitter_us = 3, .offset_ms = 370, .lost_stacks = .01, .max_wrong = .005, .min_right = .99 },
		{ .name = "eight threads", .nr = NR, .nr_threads = 8, .gap_us = 40, .fixed = .3,
		  .jitter_us = 3, .offset_ms = 370, .max_wrong = .005, .min_right = .99 },
		{ .name = "eight threads, 1 % lost", .nr = NR, .nr_threads = 8, .gap_us = 40, .fixed = .3,
		  .jitter_us = 3, .offset_ms = 370, .lost_stacks = .01, .max_wrong = .005, .min_right = .98 },
		{ .name = "other tids", .nr = NR, .nr_threads = 8, .gap_us = 40, .fixed = .3, .tids = TIDS_OTHER,
		  .jitter_us = 3, .offset_ms = 370, .lost_stacks = .01, .max_wrong = .005, .min_right = .98 },
		{ .name = "tid is pid", .nr = NR, .nr_threads = 8, .gap_us = 40, .fixed = .3, .tids = TIDS_PID,
		  .jitter_us = 3, .offset_ms = 370, .lost_stacks = .01, .max_wrong = .05, .min_right = .3 },
		{ .name = "tid is pid, sparse", .nr = NR, .nr_threads = 8, .gap_us = 400, .fixed = .3, .tids = TIDS_PID,
		  .jitter_us = 3, .offset_ms = -370, .lost_stacks = .01, .max_wrong = .05, .min_right = .8 },
		{ .name = "both lose 5 %", .nr = NR, .nr_threads = 8, .gap_us = 40, .fixed = .3,
		  .jitter_us = 3, .offset_ms = 999, .lost_stacks = .05, .lost_launches = .05, .max_wrong = .01, .min_right = .95 },
		{ .name = "drift", .nr = NR, .nr_threads = 1, .gap_us = 100, .fixed = .3, .drift_ppm = 20,
		  .jitter_us = 3, .offset_ms = 370, .lost_stacks = .01, .max_wrong = .005, .min_right = .99 },
		{ .name = "drift, eight", .nr = NR, .nr_threads = 8, .gap_us = 800, .fixed = .3, .drift_ppm = -50,
		  .jitter_us = 3, .offset_ms = 370, .lost_stacks = .01, .max_wrong = .005, .min_right = .98 },
		{ .name = "rare long distances", .nr = NR, .nr_threads = 1, .gap_us = 30, .fixed = .3, .spread_us = 200,
		  .jitter_us = 3, .offset_ms = 370, .lost_stacks = .01, .max_wrong = .005, .min_right = .98 },
		{ .name = "bursts", .nr = NR, .nr_threads = 1, .gap_us = 2000, .burst = 100,
		  .jitter_us = 1, .offset_ms = 370, .lost_stacks = .01, .max_wrong = .005, .min_right = .9 },
		{ .name = "coarse clock", .nr = NR, .nr_threads = 1, .gap_us = 30, .quantum_ns = 1000,
		  .jitter_us = 3, .offset_ms = 370, .lost_stacks = .01, .max_wrong = .005, .min_right = .98 },
		{ .name = "periodic", .nr = NR, .nr_threads = 1, .gap_us = 100, .fixed = 1, .refused = true,
		  .jitter_us = 3, .offset_ms = 370, .lost_stacks = .01, .max_wrong = 0, .min_right = 0 },
		{ .name = "periodic, all stacks the same", .nr = 5000, .nr_threads = 1, .gap_us = 100, .fixed = 1, .refused = true,
		  .jitter_us = 3, .offset_ms = 370, .nr_labels = 1, .max_wrong = 0, .min_right = 1 },
		{ .name = "few", .nr = 10, .nr_threads = 1, .gap_us = 1000,
		  .jitter_us = 3, .offset_ms = 370, .max_wrong = 0, .min_right = 1 },
		{ .name = "two", .nr = 2, .nr_threads = 1, .gap_us = 1000,
		  .jitter_us = 3, .offset_ms = 370, .max_wrong = 0, .min_right = 1 },
		{ .name = "one", .nr = 1, .nr_threads = 1, .gap_us = 1000,
		  .jitter_us = 3, .offset_ms = 370, .max_wrong = 0, .min_right = 1 },
		{ .name = "clocks with nothing in common", .nr = 20000, .nr_threads = 4, .gap_us = 100, .fixed = .1,
		  .jitter_us = 3, .offset_ms = -1e9, .lost_stacks = .01, .max_wrong = .005, .min_right = .98 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(setups); i++)
		check(&setups[i]);
	return done_testing();
}
