/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * second_pass.h - what the second pass over a recording is handed, and what its parts keep
 *
 *	device.c		launches and device work, through the join
 *	calls.c			calls of CUDA's API
 *	samples.c		CPU samples, and stacks that are unwound here
 *	off.c			off-CPU time; then waits, and accounts of threads
 *	ranges.c		which NVTX ranges were open when, and how long each was
 *
 * All of them use origin.c (which call path, thread and thread's name the ids of a record mean),
 * wanted.c (the filter) and tell.c (the sums and the sink).
 */
#ifndef MERGE_SECOND_PASS_H
#define MERGE_SECOND_PASS_H

#include <stdbool.h>
#include <stdint.h>

#include "join/join.h"
#include "join/opts.h"
#include "join/sums.h"
#include "model/model.h"
#include "model/waits.h"
#include "model/window.h"
#include "read/found.h"
#include "symbols/copied_stacks.h"
#include "util.h"

/* What of one process's has arrived. */
struct arrived {
	struct window window;
	uint64_t nr_launches;
	uint64_t nr_works;
	uint64_t nr_calls;
	uint64_t nr_ranges;		/* events of them */
	uint32_t nr_threads;
	uint32_t unknown_stream;	/* stands for those that no record defines, or NO_INDEX */
};

/* A kernel's name as it was looked up last, by its index in found.string_defs. */
struct kernel_leaf {
	uint32_t leaf, gpu;		/* NO_INDEX: not looked up yet */
};

/* Where and by whom a graph node was made, by its index in found.graphs. */
struct node_origin {
	bool known;
	uint32_t chain;
	uint32_t thread;
	const char *comm;
};

/* A sample in a call of which it turns out later whether it was a wait. */
struct waiting_sample {
	struct launch at;
	uint32_t period_ns;
	const struct wait *wait;
};

struct unwound_entry;

struct second_pass {
	const struct session_opts *opts;
	const struct found *found;
	struct model *model;
	struct sums *sums;
	struct copied_stacks *unwind;
	struct join *join;
	struct waits waits;
	uint64_t nr_damages;		/* of the recording, so far */
	ARRAY(struct arrived) arrived;	/* by process, from found.first_proc on */

	struct {			/* device.c */
		ARRAY(struct kernel_leaf) kernels;
		ARRAY(struct node_origin) nodes;
	} device;
	struct {			/* calls.c */
		struct idmap tids[2];	/* (proc, tid): threads that the first pass has not
					 * found; [1]: tid as its own pid namespace has it */
		struct idmap stats;	/* (proc, cbid), perhaps with XPU_CALL_RUNTIME */
	} calls;
	struct {			/* samples.c */
		struct unwound_entry *unwound;
		ARRAY(char) unwound_key;	/* to look one up */
		ARRAY(struct waiting_sample) waiting;
	} samples;
};

void second_pass__init(struct second_pass *p, const struct session_opts *opts,
		       const struct found *found, struct model *model, struct sums *sums,
		       struct join *join, struct copied_stacks *unwind);
/* After samples__exit(). */
void second_pass__exit(struct second_pass *p);

/* Makes room for what arrives of all processes up to @proc. Return: 0 or -ENOMEM. */
int second_pass__expect(struct second_pass *p, uint32_t proc);

/* What of @proc has arrived; good until the next one is asked for. Return: 0 or -ENOMEM. */
static inline int second_pass__arrived(struct second_pass *p, uint32_t proc,
				       struct arrived **arrived)
{
	size_t i = proc - p->found->first_proc;
	int err = p->arrived.nr <= i ? second_pass__expect(p, proc) : 0;

	if (!err)
		*arrived = &p->arrived.v[i];
	return err;
}

/* Before the pass: the processes that were not recorded from their beginning or to their end. */
int second_pass__open_windows(struct second_pass *p);

/* Return: whether the process was still there when the recording that had found it there ended. */
bool second_pass__outlived(const struct second_pass *p, uint32_t proc);

#endif /* MERGE_SECOND_PASS_H */
