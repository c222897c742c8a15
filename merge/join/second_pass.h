/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * second_pass.h - the input of the second pass over a recording, and the data of its source files
 *
 *	device.c		launches and device work, through the join
 *	place_calls.c		calls of CUDA's API
 *	place_samples.c		CPU samples, and stacks that are unwound here
 *
 * All these files use origin.c (resolves the ids of a record to a call path, a thread and its
 * name), wanted.c (the filter) and tell.h (the sums and the sink).
 */
#ifndef MERGE_SECOND_PASS_H
#define MERGE_SECOND_PASS_H

#include <stdbool.h>
#include <stdint.h>

#include "join/join.h"
#include "join/opts.h"
#include "join/sums.h"
#include "model/attach_span.h"
#include "model/model.h"
#include "read/found.h"
#include "symbols/copied_stacks.h"
#include "util.h"

/* counts of the records that arrived from one process */
struct arrived {
	struct attach_span *attach_span;	/* NULL: the process was recorded from its beginning
						 * to its end */
	uint64_t nr_launches;
	uint64_t first_ns;		/* time of the first launch, by the recording's clock */
	uint64_t launch_ns;		/* timestamp of the last launch with a possible timestamp,
					 * or 0 */
	uint64_t nr_works;
	uint64_t nr_calls;
	uint64_t nr_ranges;		/* number of events of NVTX ranges */
	uint64_t nr_allocs;		/* number of memory events */
	uint32_t nr_threads : 31;
	uint32_t lost_ranges : 1;	/* range events may be missing; set by losses__settle() */
	uint32_t unknown_stream;	/* index of the stream that replaces undefined streams, or
					 * NO_INDEX */
};

/* a sample whose time may later turn out to belong to a feature */
struct waiting_sample {
	struct launch at;
	uint32_t period_ns;
	uint32_t thread_id;
};

/* a launch, for features */
struct placed_launch {
	uint64_t key;			/* JOIN_KEY() */
	const struct launch *launch;
	uint32_t range_id;		/* id of the innermost NVTX range; 0: none */
};

/* where device work is shown; for work of a graph node, also the call that made the node */
struct work_place {
	uint32_t chain, thread;
	const char *comm;
	uint32_t made;			/* the chain of the call that made the work; NO_INDEX: the
					 * launch made it, or the call is unknown */
	uint64_t made_key;		/* JOIN_KEY() of that call */
};

/* a piece of device work, for features */
struct placed_work {
	uint64_t key;			/* JOIN_KEY() of the work's launch */
	const struct work *work;
	const struct launch *launch;	/* NULL: the work is an orphan */
	const struct filter_span *part;	/* the part that the options keep; NULL: the work is left
					 * out */
	uint32_t chain;			/* the work's call path; NO_INDEX: the work is left out */
	const struct work_place *place;
	bool in_time;			/* for work that is left out: whether only FILTER_FROM
					 * or FILTER_TO leaves it out */
	uint32_t aggregate;		/* index in sums.aggregates; NO_INDEX: the work is left
					 * out */
};

/* a CPU sample, for features */
struct placed_sample {
	uint64_t time_ns;		/* the sample's timestamp, or FILTER_TO if that is
					 * earlier */
	uint32_t chain, thread;
};

/* a feature that is awake and has a hook */
struct hook {
	const struct feature *feature;
	void *state;
};

struct hooks {
	unsigned int nr;
	struct hook v[NR_FEATURES + 1];
};

struct unwound_entry;

struct known_kernel {
	uint32_t leaf;			/* NO_INDEX: unknown */
	uint32_t shape;			/* as in struct work */
};

struct second_pass {
	const struct session_opts *opts;
	const struct found *found;
	struct model *model;
	struct sums *sums;
	struct name_keeper *keeper;	/* keeps unwound stacks; NULL: they are not kept */
	struct copied_stacks *unwind;	/* NULL: the recording has no stacks to unwind */
	struct join *join;
	struct hook finder;		/* the feature that finds ranges; NULL: it is asleep */
	struct hook maker;		/* the feature that finds makers; NULL: it is asleep */
	struct hooks launch_hooks, work_hooks, range_hooks, record_hooks, owner_hooks,
		     sample_hooks;
	uint64_t nr_damages;		/* number of damaged places found in the recording so far */
	ARRAY(struct arrived) arrived;	/* for each process, by its index minus found.first_proc */

	struct {			/* for device.c */
		/* the latest lookup of each name, by index in found.string_defs */
		ARRAY(struct known_kernel) kernels;
	} device;
	struct {			/* for place_calls.c */
		struct idmap tids[2];	/* maps (proc, tid) to a thread that the first pass did not
					 * find; [1] is for tids in the process's own pid
					 * namespace */
		struct idmap stats;	/* maps (proc, cbid), perhaps with XPU_CALL_RUNTIME, to an
					 * index in sums.calls */
	} calls;
	struct {			/* for place_samples.c */
		struct unwound_entry *unwound;
		ARRAY(char) unwound_key;	/* the key for looking up an unwound chain */
		ARRAY(struct waiting_sample) waiting;
	} samples;
};

void second_pass__init(struct second_pass *p, const struct session_opts *opts,
		       const struct found *found, struct model *model, struct sums *sums,
		       struct join *join, struct copied_stacks *unwind);
/* Call this after samples__exit(). */
void second_pass__exit(struct second_pass *p);

/* Adds empty counts for all processes up to @proc that have no counts. Return: 0 or -ENOMEM. */
int second_pass__expect(struct second_pass *p, uint32_t proc);

/* Sets *@arrived to the counts of @proc, valid until the next call. Return: 0 or -ENOMEM. */
static inline int second_pass__arrived(struct second_pass *p, uint32_t proc,
				       struct arrived **arrived)
{
	size_t i = proc - p->found->first_proc;
	int err = p->arrived.nr <= i ? second_pass__expect(p, proc) : 0;

	if (!err)
		*arrived = &p->arrived.v[i];
	return err;
}

/* Fills the lists of hooks, after begin() of all features. */
void second_pass__add_hooks(struct second_pass *p);

/*
 * Opens an attach span for each process that was not recorded from its beginning, or not to its
 * end. Called before the pass.
 */
int second_pass__open_attach_spans(struct second_pass *p);

/**
 * second_pass__range - find the NVTX range with an id
 * @proc: the process that uses the id
 * @range_id: the id in the records, 0 for no range
 * @range: set to the range's index in ranges.list
 *
 * Return: the number of undefined ids, or -ENOMEM.
 */
int second_pass__range(struct second_pass *p, uint32_t proc, uint32_t range_id, uint32_t *range);

/*
 * second_pass__find_maker - find the call that made a record's device work before a launch ran it
 * @maker: set to the call's number, or NO_INDEX
 *
 * Return: 0 or -ENOMEM.
 */
int second_pass__find_maker(struct second_pass *p, uint32_t proc, const struct xpu_record *rec,
			    uint32_t *maker);

/* Return: the range that was open on a thread at @time_ns, on the common clock. */
uint32_t second_pass__range_at(const struct second_pass *p, uint32_t thread, uint64_t time_ns);

/**
 * second_pass__in_range - find the chain of a call path in an NVTX range
 * @proc: the process that uses the id
 * @range_id: the id in the records, 0 for no range
 * @chain: with opts.by_range, replaced by the chain of the same call path in the range
 *
 * Return: the number of undefined ids, or -ENOMEM.
 */
int second_pass__in_range(struct second_pass *p, uint32_t proc, uint32_t range_id,
			  uint32_t *chain);

/*
 * Return: whether the process ran before the recording began and still ran when the recording
 * ended.
 */
bool second_pass__outlived(const struct second_pass *p, uint32_t proc);

/* Return: whether the process ended before it sent its last records: somebody killed it. */
bool second_pass__cut_off(const struct second_pass *p, uint32_t proc);

#endif /* MERGE_SECOND_PASS_H */
