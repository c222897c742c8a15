/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * align.h - matches stacks and launches when nothing but their times can tell which belong together
 *
 * Two tools watched one program, each with its own clock: one took stacks, the other recorded API
 * calls. Neither says which stack belongs to which launch, either may have lost some, and thread
 * ids may be useless.
 *
 * 1. The offset between the clocks is the one under which most stacks have a launch. If other
 * offsets explain the recording about as well, it is ambiguous, and nothing is matched. 2. The
 * offset is followed through the recording, because clocks drift; this also shows how far stacks
 * are from their launches. 3. Threads of the two sides that fit each other are pairs. Within a
 * pair, events match in order: the probability of each match is summed over all alignments (a pair
 * hidden Markov model). Events that are in no pair, as when all stacks claim to be of one thread,
 * match as sets: each stack to one launch at most (belief propagation over the bipartite graph of
 * stacks and launches near one another). 4. A launch gets a stack whose probability is at least
 * ALIGN_CERTAIN. Otherwise it has no stack, if that is as probable, or it is uncertain: it never
 * gets the best of several guesses.
 */
#ifndef MERGE_ALIGN_H
#define MERGE_ALIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util.h"

#define ALIGN_CERTAIN	0.95

struct align_event {
	uint64_t time_ns;
	uint32_t thread;		/* index in tids */
	uint32_t kind;			/* only events of one kind match */
	uint32_t label;			/* of stacks: stacks with equal labels are one answer */
};

/* The events of one side, in order of time. */
struct align_side {
	const struct align_event *events;
	uint32_t nr;
	const uint64_t *tids;		/* the tool's ids of its threads */
	uint32_t nr_threads;
};

struct align_opts {
	uint64_t tolerance_ns;		/* how far apart matches may be, after correction by the
					 * offset */
	uint64_t max_offset_ns;		/* tried first; beyond it only if nothing fits */
};

#define ALIGN_NONE	NO_INDEX
#define ALIGN_UNCERTAIN	(NO_INDEX - 1)

struct align {
	/* By launch: index of its stack, ALIGN_NONE or ALIGN_UNCERTAIN. */
	uint32_t *match;
	/* By stack: index of its launch, ALIGN_NONE or ALIGN_UNCERTAIN. */
	uint32_t *match_back;
	/* By thread of the launches: the thread of the stacks it is, or NO_INDEX. */
	uint32_t *pair;
	int64_t offset_ns;		/* by how much the stacks' clock is ahead at first */
	double drift_ppm;
	double jitter_ns;		/* mean distance, after correction by the offset */
	uint32_t nr_offsets;		/* offsets that explain the recording about equally well */
	int64_t other_offset_ns;	/* the second of these offsets */
};

/**
 * align__run - match stacks and launches
 * @a: filled in; align__exit() frees it
 * @stacks, @launches: must stay valid
 *
 * Return: 0 or -ENOMEM.
 */
int align__run(struct align *a, const struct align_side *stacks,
	       const struct align_side *launches, const struct align_opts *opts);
void align__exit(struct align *a);

#endif /* MERGE_ALIGN_H */
