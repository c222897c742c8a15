/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * align.h - which stack is of which launch, when only times and names can tell
 *
 * Two tools watched one program, each with its own clock: one took stacks, the other recorded API
 * calls. Neither says which stack belongs to which launch, either may have lost some, and thread
 * ids may be useless.
 *
 * 1. The offset between the clocks is the one under which most stacks have a launch. Where names of
 *    kernels are known, only events with the same name count. It is followed through the recording,
 *    for clocks drift. Others, far away, that explain the recording about as well make it ambiguous.
 * 2. Threads of the two sides that fit each other are pairs. In each, a stack is followed by its own
 *    launch before there is another stack (align_order.c). Offsets under which each stack is with the
 *    launch before its own, or further off, are ruled out by that, or the recording is ambiguous.
 * 3. Within a pair, events match in order: the probability of each match is summed over all
 *    alignments (a pair hidden Markov model). The others, as when all stacks claim to be of one
 *    thread, match as sets: each stack to one launch at most (belief propagation over the bipartite
 *    graph of those near one another, and a look at those that could change places).
 * 4. The most probable answers are taken, so many that ALIGN_WRONG of them are wrong as far as
 *    probabilities tell, and none that is not ALIGN_CERTAIN. An answer is the call path of a stack,
 *    or that the stack was lost. The others are uncertain. In an ambiguous recording only what is
 *    the same in all cases is taken.
 * 5. Where all stacks that name a kernel are one call path, this is that of its launches, too.
 */
#ifndef MERGE_ALIGN_H
#define MERGE_ALIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util.h"

#define ALIGN_CERTAIN	0.95
#define ALIGN_WRONG	0.0004		/* of all answers, as far as probabilities tell */

struct align_event {
	uint64_t time_ns;
	uint32_t thread;		/* index in tids */
	uint32_t kind;			/* only those of one kind match */
	uint32_t label;			/* of stacks: equal ones are the same answer */
	uint32_t name;			/* what is launched; 0: not known, else only equal ones match */
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
