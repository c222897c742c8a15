/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sums.h - the sums of the second pass: the work that each call path and thread caused, and the
 * losses
 */
#ifndef MERGE_SUMS_H
#define MERGE_SUMS_H

#include <stdbool.h>
#include <stdint.h>

#include "join/metric_sums.h"
#include "join/opts.h"
#include "join/stall_sums.h"
#include "model/busy.h"
#include "join/times.h"
#include "model/heap.h"
#include "model/idle.h"
#include "model/loss.h"
#include "model/model.h"
#include "stats.h"
#include "util.h"

/* Statistics of all device work of one leaf. */
struct leaf_stats {
	struct stats ns;
	struct stats *bytes;		/* of copies and sets; NULL: of kernels */
};

/* Return: whether any work of the leaf is in it, perhaps only a part of its time. */
static inline bool leaf_stats__has(const struct leaf_stats *stats)
{
	return stats->ns.nr || stats__total(&stats->ns);
}

/* Statistics of all calls of one function of CUDA's API, recorded with --api. */
struct call_stats {
	const char *name;		/* interned */
	struct stats ns;		/* with opts.stats */
};

/* Whose work it is that is summed up. */
struct owner {
	const char *comm;
	uint32_t thread;		/* with by_thread; NO_INDEX: unknown */
	uint32_t stream;		/* with by_stream; NO_INDEX: of LEAF_PENDING */
};

/* The sum of the work of one leaf that a call path caused under one thread name. */
struct aggregate {
	uint32_t chain;
	uint32_t leaf;
	uint32_t owner;			/* index in aggregates.owners */
	uint32_t spread;		/* index in aggregates.spreads; NO_INDEX: all take as long, and
					 * none has bytes */
	uint64_t nr;			/* device records; launches for LEAF_PENDING; samples */
	uint64_t sum_ns;
};

struct aggregate_spread {
	uint64_t min_ns, max_ns, whole_ns;	/* of whole works, also if the sum has parts */
	uint64_t bytes;
};

/* All aggregates, and the index to find one. */
struct aggregates {
	struct aggregate *v;
	size_t nr, cap;
	ARRAY(struct aggregate_spread) spreads;
	ARRAY(struct owner) owners;
	struct hashes by_key, by_owner;
	uint64_t secret;
	uint32_t last;			/* index of the aggregate that was added to last */
	uint32_t last_owner;		/* its member */
};

static inline const struct owner *aggregate__owner(const struct aggregates *all,
						   const struct aggregate *a)
{
	return &all->owners.v[a->owner];
}

/* Return: the shortest, longest and whole time, and all bytes, of the works that are counted in it. */
static inline struct aggregate_spread aggregate__spread(const struct aggregates *all,
							const struct aggregate *a)
{
	uint64_t each;

	if (a->spread != NO_INDEX)
		return all->spreads.v[a->spread];
	each = a->nr ? a->sum_ns / a->nr : 0;
	return (struct aggregate_spread){ each, each, a->sum_ns, 0 };
}

/* The life of a thread, recorded with --off-cpu. */
struct thread_account {
	const struct xpu_record_account *rec;
	struct xpu_thread_time time;	/* the record's times, with negative ones mended */
	uint32_t thread;
	const char *comm;		/* at its end */
};

struct sums {
	struct aggregates aggregates;
	ARRAY(struct leaf_stats) leaf_stats;	/* by leaf, for the first leaves; with opts.stats */
	ARRAY(struct call_stats) calls;
	struct idmap call_names;	/* interned name: index in calls */
	ARRAY(struct thread_account) accounts;
	struct idles idles;
	ARRAY(struct busy) busy;	/* by GPU; with opts.stats or opts.by_time */
	struct metric_sums metrics;
	struct stall_sums stalls;
	struct times times;
	struct hashes by_path;		/* for sums__coarser(): of the first aggregate of each call path */
	ARRAY(struct heap) heaps;	/* of the recordings with events of memory */
	ARRAY(struct heap_sum) memory_made;	/* by aggregate, with opts.memory_made: in all */
	struct loss loss;		/* complete after session__process() */
	uint64_t first_ns, last_ns;	/* earliest launch or work, end of the latest */
	uint64_t from_ns, to_ns;	/* after session__process(): as much as the filter passes */
	size_t nr_windows;		/* of --capture; 0: everything in between was recorded */
	struct busy windows;		/* when one of them was open, at least */
	uint64_t nr_works[3];		/* by LEAF_KERNEL, LEAF_MEMCPY, LEAF_MEMSET: works that
					 * passed the filter */
	uint64_t nr_left_out;		/* by the filter: device records, and ... */
	uint64_t nr_parts;		/* ... of these, the ones that a part of is within */
	uint64_t nr_pending_left_out;	/* ... launches without any */
	uint64_t off_unsure_ns;		/* by how much the times off the CPU may differ from the
					 * truth: sums of short times that the filter has cut */
	uint64_t nr_samples;		/* that passed the filter */
	uint64_t own_ns;		/* CPU time of the shim's threads, which is left out */
	uint64_t nr_calls;		/* that passed the filter */
	const struct model *model;
};

/* @opts: with times_by_path, times of the threads and NVTX ranges of a call path may become one */
void sums__init(struct sums *s, const struct model *model, const struct session_opts *opts);
void sums__exit(struct sums *s);

/* Return: the time in which something could be recorded, and that the filter passes. */
static inline uint64_t sums__span_ns(const struct sums *s)
{
	return s->nr_windows ? busy__ns(&s->windows) : s->to_ns - s->from_ns;
}

/* Extends s->first_ns and s->last_ns to an event's times, on the common clock. */
void sums__see_time(struct sums *s, uint64_t from_ns, uint64_t to_ns);

/* Finds or adds whose work it is. Return: 0 or -ENOMEM. */
int aggregates__owner(struct aggregates *all, const struct owner *owner, uint32_t *idx);

/*
 * Finds or adds a function of CUDA's API by its interned name; NULL is taken for want of memory. Return: 0 or
 * -ENOMEM.
 */
int sums__call(struct sums *s, const char *name, uint32_t *idx);

/**
 * sums__place - find or add the sum of (chain, leaf, comm), and of thread and stream if @opts asks
 * for them
 * @stream: NO_INDEX if it has none
 *
 * Return: 0 or -ENOMEM; s->aggregates.last is its index.
 */
int sums__place(struct sums *s, const struct session_opts *opts, uint32_t chain, const char *comm,
		uint32_t thread, uint32_t leaf, uint32_t stream);

/**
 * sums__add - add to the sum of (chain, leaf, comm), and of thread and stream if @opts asks for
 * them
 * @w: its time and bytes; NULL: only count it
 * @part: the part of the time that is added, and 1 or 0: whether it is counted; NULL: all of it
 *
 * Return: 0 or -ENOMEM.
 */
int sums__add(struct sums *s, const struct session_opts *opts, uint32_t chain, const char *comm,
	      uint32_t thread, uint32_t leaf, const struct work *w, const struct filter_span *part);

/*
 * Adds @nr allocations of @bytes together to the sum of (chain, leaf, comm). Return: 0 or -ENOMEM.
 */
int sums__add_memory(struct sums *s, const struct session_opts *opts, uint32_t chain, const char *comm,
		     uint32_t thread, uint32_t leaf, const struct heap_sum *sum);

/*
 * Adds @nr events, which took @ns together, and @max_ns at most, to the sum that sums__place() has just
 * found.
 * @nr is 0 for a part of an event that another window of time counts. Return: 0 or -ENOMEM.
 */
int sums__add_sum(struct sums *s, uint64_t nr, uint64_t ns, uint64_t max_ns);

/*
 * Says when the event was, or the events, that sums__add() or sums__place() was called for last, with
 * times.wanted. Return: 0 or -ENOMEM.
 */
static inline int sums__when(struct sums *s, uint64_t from_ns, uint64_t to_ns,
			     const struct bin_value *value)
{
	return times__sum(&s->times, s->aggregates.last, from_ns, to_ns, value);
}

/*
 * Splits the aggregates of kernels that have PC samples by place and reason, in proportion to their
 * samples; the sums of time and of works stay. Return: 0 or -ENOMEM.
 */
int sums__split_kernels(struct sums *s, struct model *m);

/*
 * Splits the aggregates of NCCL's kernels: time that they waited for other ranks, as far as the filter
 * passes it, is a leaf of its own. Return: 0 or -ENOMEM.
 */
int sums__split_nccl(struct sums *s, struct model *m, const struct filter *filter);

#endif /* MERGE_SUMS_H */
