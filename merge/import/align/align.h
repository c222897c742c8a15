/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * align.h - matches stacks with launches by their times and names alone
 *
 * Two tools watched one program, each with its own clock: one took stacks, the other recorded API
 * calls. Neither tool says which stack belongs to which launch. Either tool may have lost some
 * events, and thread ids may be useless.
 *
 * 1. The offset between the clocks is the offset under which most stacks have a launch. Where
 * kernels' names are known, a stack counts only with a launch of the same name. The offset is
 * tracked through the recording, because clocks drift. The recording is ambiguous if a second, very
 * different offset explains it about as well.
 * 2. Matching threads of the two sides form pairs. Within a pair, each stack comes after the return
 * of the previous launch, and its own launch comes before the next stack (align_order.c). This
 * rules out offsets that match each stack with an earlier or a later launch. If the order cannot
 * rule out such an offset, the recording is ambiguous. If no threads form pairs, each stack might
 * belong to its thread's next launch, at any distance. Only kinds and names can rule this out: they
 * do if this assumption leaves more than twice as many stacks without a launch as the matching that
 * was found.
 * 3. Within a pair, events match in order: the probability of each match is summed over all
 * alignments (a pair hidden Markov model). Events outside all pairs, for example if all stacks have
 * one thread id, match as sets: each stack has at most one launch. Belief propagation over the
 * bipartite graph of neighboring stacks and launches gives the probabilities of these matches, and
 * a check of stacks that could swap launches corrects the probabilities.
 * 4. An answer gives the call path of a stack to a launch. The most probable answers are taken
 * first, down to ALIGN_CERTAIN, or until the chance that more than one in 1000 answers of this
 * recording is wrong reaches 1 %. Launches without an answer are uncertain: a launch without a
 * stack near it did not necessarily lose its stack. A stack is reported to have no launch only if
 * it is before or after all calls, and if there are more stacks outside all calls than uncertain
 * launches. In an ambiguous recording only answers on which all offsets agree are taken. If a clock
 * was set, one offset may put all stacks in order, but be wrong for a stretch of the recording. The
 * distances in that stretch then differ from the distances in the rest of the recording. They would
 * differ less if the stacks of the stretch belonged to earlier or later launches (align_order.c).
 * In that case no answers are taken.
 * 5. If all stacks that name a kernel have the same call path, all launches of that kernel get this
 * call path.
 */
#ifndef MERGE_ALIGN_H
#define MERGE_ALIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util.h"

#define ALIGN_CERTAIN	0.95
#define ALIGN_WRONG	0.0004		/* expected share of wrong answers over many recordings */

struct align_event {
	uint64_t time_ns;
	uint64_t end_ns;		/* for a launch: when the call returned; 0: unknown */
	uint32_t thread;		/* index in tids */
	uint32_t kind;			/* a stack matches a launch of the same kind only */
	uint32_t label;			/* for a stack; equal labels mean the same call path */
	uint32_t name;			/* the launched kernel; 0: unknown, matches any name */
};

/* The events of one side, sorted by time. */
struct align_side {
	const struct align_event *events;
	uint32_t nr;
	const uint64_t *tids;		/* the ids that the tool gave its threads */
	uint32_t nr_threads;
};

struct align_opts {
	uint64_t tolerance_ns;		/* largest distance between a stack and its launch, after
					 * subtracting the offset */
	uint64_t max_offset_ns;		/* offsets up to this value are tried first */
};

#define ALIGN_STRETCHES	3

/* A part of the recording in which one offset holds. */
struct align_stretch {
	uint32_t nr;			/* number of stacks */
	bool known;			/* an offset fits */
	int64_t offset_ns;		/* the best offset at the first stack */
};

#define ALIGN_NONE	NO_INDEX
#define ALIGN_UNCERTAIN	(NO_INDEX - 1)

struct align {
	/* For each launch: the index of its stack, ALIGN_NONE or ALIGN_UNCERTAIN. */
	uint32_t *match;
	/* For each stack: the index of its launch, ALIGN_NONE or ALIGN_UNCERTAIN. */
	uint32_t *match_back;
	/* For each thread of the launches: its paired thread of the stacks, or NO_INDEX. */
	uint32_t *pair;
	int64_t offset_ns;		/* stacks' clock minus launches' clock at the start */
	double drift_ppm;
	double jitter_ns;		/* mean distance between a stack and its launch after
					 * subtracting the offset */
	uint32_t nr_offsets;		/* number of offsets that explain the recording about
					 * equally well */
	int64_t other_offset_ns;	/* the second best offset, if nr_offsets > 1 */
	/*
	 * If one offset does not fit all stacks, there are several stretches: a clock was set, or
	 * one side lacks a part of the recording. offset_ns is then the offset of one of the
	 * stretches.
	 */
	struct align_stretch stretches[ALIGN_STRETCHES];
	uint32_t nr_stretches;
	bool was_set;			/* a clock seems to have been set during the recording */
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
