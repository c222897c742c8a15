/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * gen_launches.h - launches as two tools record them, one with stacks, the other with calls
 *
 * Each tool has its own clock and loses its own events. Each event has the number of its launch,
 * which is the truth.
 */
#ifndef TEST_LIB_GEN_LAUNCHES_H
#define TEST_LIB_GEN_LAUNCHES_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#define GEN_CALL_NS	1500		/* how long a call takes */

enum gen_tids {
	TIDS_SAME,			/* both sides have equal thread ids */
	TIDS_OTHER,			/* calls have pthread_self() as the thread id */
	TIDS_PID,			/* all stacks claim to be from the main thread */
};

struct gen_launches {
	uint32_t nr, nr_threads;
	double gap_us;			/* mean gap between launches of a thread */
	double fixed;			/* fraction of the gap that is constant, 0 to 1 */
	uint32_t burst;			/* number of launches that come close together */
	double jitter_us;		/* largest time from a stack to its call */
	double spread_us;		/* one jitter in 100 is longer, by at most this time */
	double lost_stacks, lost_launches;
	double offset_ms, drift_ppm;	/* offset and drift of the stacks' clock */
	double quantum_ns;		/* resolution of the stacks' clock */
	enum gen_tids tids;
	uint64_t base_ns;		/* time of the start */
};

struct gen_event {
	uint64_t time_ns;
	uint32_t thread;
	uint32_t launch;		/* the truth: number of the launch, below nr */
};

struct gen_seen {
	struct gen_event *stacks, *calls;	/* sorted by time */
	uint32_t nr_stacks, nr_calls;
	bool *has_stack;		/* for each launch */
};

static uint64_t gen_seed;

static inline double gen_uniform(void)
{
	gen_seed = gen_seed * 6364136223846793005ull + 1442695040888963407ull;
	return (gen_seed >> 11) * 0x1p-53;
}

static inline uint64_t gen_cpu_tid(const struct gen_launches *g, uint32_t thread)
{
	return g->tids == TIDS_PID ? 1000 : 1000 + thread;
}

static inline uint64_t gen_gpu_tid(const struct gen_launches *g, uint32_t thread)
{
	return g->tids == TIDS_OTHER ? 0xe7000000 - (uint32_t)(thread * 2654435761u) / 256 :
				       1000 + thread;
}

static inline int gen_event__compare(const void *a, const void *b)
{
	const struct gen_event *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return (x->launch > y->launch) - (x->launch < y->launch);
}

static inline void gen_launches__run(const struct gen_launches *g, struct gen_seen *s)
{
	double gap = g->gap_us * 1000, early, step, time, at;
	uint32_t i, t, in_burst;

	s->stacks = calloc(g->nr + 1, sizeof(*s->stacks));
	s->calls = calloc(g->nr + 1, sizeof(*s->calls));
	s->has_stack = calloc(g->nr + 1, sizeof(*s->has_stack));
	s->nr_stacks = s->nr_calls = 0;
	if (!s->stacks || !s->calls || !s->has_stack)
		abort();
	gen_seed = 1234567 + g->nr;
	for (t = 0; t < g->nr_threads; t++) {
		at = 5e6 * gen_uniform();
		in_burst = 0;
		for (i = t; i < g->nr; i += g->nr_threads) {
			step = gap * g->fixed - gap * (1 - g->fixed) * log(1 - gen_uniform());
			if (g->burst && ++in_burst < g->burst)
				step = 4000 + 500 * gen_uniform();
			else
				in_burst = 0;
			/* A thread launches again only after its last launch has ended. */
			step = fmax(step, 2000);
			at += step;
			if (gen_uniform() >= g->lost_launches)
				s->calls[s->nr_calls++] = (struct gen_event){
					.time_ns = g->base_ns + (uint64_t)at, .thread = t,
					.launch = i,
				};
			early = 1000 + g->jitter_us * 1000 * gen_uniform();
			if (g->spread_us && gen_uniform() < 0.01)
				early += g->spread_us * 1000 * gen_uniform();
			/* A thread does not reach its next launch before its last call returns. */
			early = fmin(early, step - GEN_CALL_NS - 200);
			if (gen_uniform() < g->lost_stacks)
				continue;
			time = (at - early) * (1 + g->drift_ppm * 1e-6);
			if (g->quantum_ns)
				time = floor(time / g->quantum_ns) * g->quantum_ns;
			s->has_stack[i] = true;
			s->stacks[s->nr_stacks++] = (struct gen_event){
				.time_ns = g->base_ns + (int64_t)(g->offset_ms * 1e6 + time),
				.thread = t, .launch = i,
			};
		}
	}
	qsort(s->stacks, s->nr_stacks, sizeof(*s->stacks), gen_event__compare);
	qsort(s->calls, s->nr_calls, sizeof(*s->calls), gen_event__compare);
}

static inline void gen_seen__free(struct gen_seen *s)
{
	free(s->stacks);
	free(s->calls);
	free(s->has_stack);
}

#endif /* TEST_LIB_GEN_LAUNCHES_H */
