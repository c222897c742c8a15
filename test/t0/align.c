// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Matches stacks to launches by time, in recordings whose right answer is known: each launch has
 * its own stack, so every match is right or wrong. At most one in 1000 matches that are called
 * certain may be wrong.
 */
#include <time.h>

#include "import/align/align.h"
#include "gen_launches.h"
#include "tap.h"

#define NR	92732
#define FEWER	20000

struct setup {
	const char *name;
	struct gen_launches gen;
	uint32_t nr_labels;		/* number of different stacks; 0: each launch has its own */
	/*
	 * The limits of the result: wrong matches as a share of all launches, right matches as a
	 * share of the launches that have a stack.
	 */
	double max_wrong, min_right;
	bool refused;
};

static void check(const struct setup *s)
{
	const struct gen_launches *g = &s->gen;
	struct align_opts opts = { .tolerance_ns = 10000000, .max_offset_ns = 1100000000 };
	uint32_t i, right = 0, wrong = 0, uncertain = 0, with_stack = 0;
	uint32_t nr_labels = s->nr_labels ? s->nr_labels : g->nr;
	struct align_side a = { .nr_threads = g->tids == TIDS_PID ? 1 : g->nr_threads };
	struct align_side b = { .nr_threads = g->nr_threads };
	struct align_event *events;
	struct timespec from, to;
	uint64_t cpu_tids[64], gpu_tids[64];
	struct gen_seen seen;
	struct align r;
	double ms;
	int err;

	gen_launches__run(g, &seen);
	events = calloc(seen.nr_stacks + seen.nr_calls, sizeof(*events));
	if (!events)
		abort();
	for (i = 0; i < g->nr_threads; i++) {
		cpu_tids[i] = gen_cpu_tid(g, i);
		gpu_tids[i] = gen_gpu_tid(g, i);
	}
	for (i = 0; i < seen.nr_stacks; i++)
		events[i] = (struct align_event){
			.time_ns = seen.stacks[i].time_ns,
			.thread = g->tids == TIDS_PID ? 0 : seen.stacks[i].thread,
			.label = seen.stacks[i].launch % nr_labels,
		};
	for (i = 0; i < seen.nr_calls; i++)
		events[seen.nr_stacks + i] = (struct align_event){
			.time_ns = seen.calls[i].time_ns, .thread = seen.calls[i].thread,
			.end_ns = seen.calls[i].time_ns + GEN_CALL_NS,
		};
	a.events = events;
	a.nr = seen.nr_stacks;
	a.tids = cpu_tids;
	b.events = events + seen.nr_stacks;
	b.nr = seen.nr_calls;
	b.tids = gpu_tids;
	clock_gettime(CLOCK_MONOTONIC, &from);
	err = align__run(&r, &a, &b, &opts);
	clock_gettime(CLOCK_MONOTONIC, &to);
	ms = (to.tv_sec - from.tv_sec) * 1e3 + (to.tv_nsec - from.tv_nsec) / 1e6;
	for (i = 0; i < seen.nr_calls && !err; i++) {
		uint32_t truth = seen.calls[i].launch;

		with_stack += seen.has_stack[truth];
		if (r.match[i] == ALIGN_UNCERTAIN)
			uncertain++;
		else if (r.match[i] == ALIGN_NONE)
			wrong += seen.has_stack[truth];
		else if (seen.has_stack[truth] && events[r.match[i]].label == truth % nr_labels)
			right++;
		else
			wrong++;
	}
	ok(!err && wrong <= s->max_wrong * seen.nr_calls && right >= s->min_right * with_stack &&
	   (r.nr_offsets > 1) == s->refused,
	   "%s: %u launches, %u with a stack: right %u wrong %u uncertain %u", s->name,
	   seen.nr_calls, with_stack, right, wrong, uncertain);
	diag("%.0f ms; offset %.6f ms, jitter %.0f ns, drift %.1f ppm, %u offsets", ms,
	     r.offset_ns / 1e6, r.jitter_ns, r.drift_ppm, r.nr_offsets);
	align__exit(&r);
	free(events);
	gen_seen__free(&seen);
}

int main(void)
{
	static const struct setup setups[] = {
		{ .name = "one thread",
		  .gen = { .nr = NR, .nr_threads = 1, .gap_us = 10, .fixed = 0.3,
			   .jitter_us = 3, .offset_ms = 370, .base_ns = 1700000000000000000ull },
		  .max_wrong = 0.001, .min_right = 0.99 },
		{ .name = "one thread, 1 % lost",
		  .gen = { .nr = NR, .nr_threads = 1, .gap_us = 10, .fixed = 0.3,
			   .jitter_us = 3, .offset_ms = 370, .lost_stacks = 0.01,
			   .base_ns = 1700000000000000000ull },
		  .max_wrong = 0.001, .min_right = 0.99 },
		{ .name = "eight threads",
		  .gen = { .nr = NR, .nr_threads = 8, .gap_us = 40, .fixed = 0.02,
			   .jitter_us = 3, .offset_ms = 370, .base_ns = 1700000000000000000ull },
		  .max_wrong = 0.001, .min_right = 0.99 },
		{ .name = "eight threads, 1 % lost",
		  .gen = { .nr = NR, .nr_threads = 8, .gap_us = 40, .fixed = 0.02,
			   .jitter_us = 3, .offset_ms = 370, .lost_stacks = 0.01,
			   .base_ns = 1700000000000000000ull },
		  .max_wrong = 0.001, .min_right = 0.98 },
		{ .name = "other tids",
		  .gen = { .nr = FEWER, .nr_threads = 8, .gap_us = 40, .fixed = 0.02,
			   .tids = TIDS_OTHER, .jitter_us = 3, .offset_ms = 370,
			   .lost_stacks = 0.01, .base_ns = 1700000000000000000ull },
		  .max_wrong = 0.001, .min_right = 0.98 },
		/*
		 * If one call of a thread has a stack and the next call has none, nothing tells
		 * the two calls apart: all matches are uncertain.
		 */
		{ .name = "tid is pid",
		  .gen = { .nr = FEWER, .nr_threads = 8, .gap_us = 40, .fixed = 0.3,
			   .tids = TIDS_PID, .jitter_us = 3, .offset_ms = 370,
			   .lost_stacks = 0.01, .base_ns = 1700000000000000000ull },
		  .refused = true, .max_wrong = 0, .min_right = 0 },
		{ .name = "tid is pid, sparse",
		  .gen = { .nr = FEWER, .nr_threads = 8, .gap_us = 400, .fixed = 0.3,
			   .tids = TIDS_PID, .jitter_us = 3, .offset_ms = -370,
			   .lost_stacks = 0.01, .base_ns = 1700000000000000000ull },
		  .refused = true, .max_wrong = 0, .min_right = 0 },
		/*
		 * A thread's calls are at least 12 us apart: the stack may belong to the next call.
		 */
		{ .name = "one thread that never launches again at once",
		  .gen = { .nr = FEWER, .nr_threads = 1, .gap_us = 40, .fixed = 0.3,
			   .jitter_us = 3, .offset_ms = 370, .base_ns = 1700000000000000000ull },
		  .refused = true, .max_wrong = 0, .min_right = 0 },
		{ .name = "both lose 5 %",
		  .gen = { .nr = FEWER, .nr_threads = 8, .gap_us = 40, .fixed = 0.02,
			   .jitter_us = 3, .offset_ms = 999, .lost_stacks = 0.05,
			   .lost_launches = 0.05, .base_ns = 1700000000000000000ull },
		  .max_wrong = 0.001, .min_right = 0.95 },
		{ .name = "drift",
		  .gen = { .nr = FEWER, .nr_threads = 1, .gap_us = 100, .fixed = 0.02,
			   .drift_ppm = 20, .jitter_us = 3, .offset_ms = 370,
			   .lost_stacks = 0.01, .base_ns = 17000000000000ull },
		  .max_wrong = 0.001, .min_right = 0.99 },
		{ .name = "drift, eight",
		  .gen = { .nr = FEWER, .nr_threads = 8, .gap_us = 800, .fixed = 0.001,
			   .drift_ppm = -50, .jitter_us = 3, .offset_ms = 370,
			   .lost_stacks = 0.01, .base_ns = 17000000000000ull },
		  .max_wrong = 0.001, .min_right = 0.98 },
		{ .name = "rare long distances",
		  .gen = { .nr = FEWER, .nr_threads = 1, .gap_us = 30, .fixed = 0.3,
			   .spread_us = 200, .jitter_us = 3, .offset_ms = 370,
			   .lost_stacks = 0.01, .base_ns = 1700000000000000000ull },
		  .max_wrong = 0.001, .min_right = 0.98 },
		{ .name = "bursts",
		  .gen = { .nr = FEWER, .nr_threads = 1, .gap_us = 2000, .burst = 100,
			   .jitter_us = 1, .offset_ms = 370, .lost_stacks = 0.01,
			   .base_ns = 1700000000000000000ull },
		  .max_wrong = 0.001, .min_right = 0.9 },
		{ .name = "coarse clock",
		  .gen = { .nr = FEWER, .nr_threads = 1, .gap_us = 60, .quantum_ns = 1000,
			   .jitter_us = 3, .offset_ms = 370, .lost_stacks = 0.01,
			   .base_ns = 1700000000000000000ull },
		  .max_wrong = 0.001, .min_right = 0.98 },
		{ .name = "periodic",
		  .gen = { .nr = FEWER, .nr_threads = 1, .gap_us = 100, .fixed = 1,
			   .jitter_us = 3, .offset_ms = 370, .lost_stacks = 0.01,
			   .base_ns = 1700000000000000000ull },
		  .refused = true, .max_wrong = 0, .min_right = 0 },
		{ .name = "periodic, all stacks the same",
		  .gen = { .nr = 5000, .nr_threads = 1, .gap_us = 100, .fixed = 1,
			   .jitter_us = 3, .offset_ms = 370, .base_ns = 1700000000000000000ull },
		  .refused = true, .nr_labels = 1, .max_wrong = 0, .min_right = 1 },
		/* A stack may be nearer in time to the previous call than to its own call. */
		{ .name = "far before their launches",
		  .gen = { .nr = FEWER, .nr_threads = 1, .gap_us = 5, .fixed = 0.5,
			   .jitter_us = 10, .offset_ms = 370, .base_ns = 1700000000000000000ull },
		  .max_wrong = 0.001, .min_right = 0 },
		/*
		 * With so few launches, one tool may have missed the first launch, and the other
		 * tool the last launch.
		 */
		{ .name = "few",
		  .gen = { .nr = 10, .nr_threads = 1, .gap_us = 1000, .jitter_us = 3,
			   .offset_ms = 370, .base_ns = 1700000000000000000ull },
		  .refused = true, .max_wrong = 0, .min_right = 0 },
		{ .name = "two",
		  .gen = { .nr = 2, .nr_threads = 1, .gap_us = 1000, .jitter_us = 3,
			   .offset_ms = 370, .base_ns = 1700000000000000000ull },
		  .refused = true, .max_wrong = 0, .min_right = 0 },
		{ .name = "one",
		  .gen = { .nr = 1, .nr_threads = 1, .gap_us = 1000, .jitter_us = 3,
			   .offset_ms = 370, .base_ns = 1700000000000000000ull },
		  .refused = true, .max_wrong = 0, .min_right = 0 },
		{ .name = "clocks with nothing in common",
		  .gen = { .nr = 20000, .nr_threads = 4, .gap_us = 100, .fixed = 0.02,
			   .jitter_us = 3, .offset_ms = -1e9, .lost_stacks = 0.01,
			   .base_ns = 1700000000000000000ull },
		  .max_wrong = 0.001, .min_right = 0.98 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(setups); i++)
		check(&setups[i]);
	return done_testing();
}
