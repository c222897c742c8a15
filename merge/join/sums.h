/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sums.h - the sums of the second pass: the work that each call path and thread caused, and the
 * losses
 */
#ifndef MERGE_SUMS_H
#define MERGE_SUMS_H

#include <stdbool.h>
#include <stdint.h>

#include "join/opts.h"
#include "model/busy.h"
#include "join/times.h"
#include "join/works.h"
#include "model/loss.h"
#include "model/model.h"
#include "stats.h"
#include "util.h"

/* Statistics of all device work of one leaf. */
struct leaf_stats {
	struct stats ns;
	struct stats *bytes;		/* for memcpy and memset; NULL for kernels */
};

/* Return: whether the statistics contain device work, or the time of a part of device work. */
static inline bool leaf_stats__has(const struct leaf_stats *stats)
{
	return stats->ns.nr || stats__total(&stats->ns);
}

/* statistics of all calls of one CUDA API function, recorded with --api */
struct call_stats {
	const char *name;		/* interned */
	struct stats ns;		/* with opts.stats */
};

/* the owner of summed-up work */
struct owner {
	const char *comm;
	uint32_t thread;		/* used with by_thread; NO_INDEX: unknown */
	uint32_t stream;		/* used with by_stream; NO_INDEX for LEAF_PENDING */
};

/* Sums over all work with one call path, one leaf and one owner. */
struct aggregate {
	uint32_t chain;
	uint32_t leaf;
	uint32_t owner;			/* index in aggregates.owners */
	uint32_t spread;		/* index in aggregates.spreads; NO_INDEX: all events have
					 * the same duration, and none has bytes */
	uint64_t nr;			/* number of device records, of launches (for LEAF_PENDING),
					 * or of samples */
	uint64_t sum_ns;
};

struct aggregate_spread {
	uint64_t min_ns, max_ns, whole_ns;	/* durations of uncut work; sum_ns may include parts
						 * of work */
	uint64_t bytes;
};

/* all aggregates, and the hash table to find one */
struct aggregates {
	struct aggregate *v;
	size_t nr, cap;
	ARRAY(struct aggregate_spread) spreads;
	ARRAY(struct owner) owners;
	struct hashes by_key, by_owner;
	uint64_t secret;
	uint32_t last;			/* index of the aggregate changed last */
	uint32_t last_owner;		/* owner of this aggregate */
};

static inline const struct owner *aggregate__owner(const struct aggregates *all,
						   const struct aggregate *a)
{
	return &all->owners.v[a->owner];
}

/*
 * Return: the shortest, longest and total time, and the total bytes, of the uncut work that the
 * aggregate counts.
 */
static inline struct aggregate_spread aggregate__spread(const struct aggregates *all,
							const struct aggregate *a)
{
	uint64_t each;

	if (a->spread != NO_INDEX)
		return all->spreads.v[a->spread];
	each = a->nr ? a->sum_ns / a->nr : 0;
	return (struct aggregate_spread){ each, each, a->sum_ns, 0 };
}

struct sums {
	struct aggregates aggregates;
	ARRAY(struct leaf_stats) leaf_stats;	/* by leaf; leaves at the end may be missing; only
						 * with opts.stats */
	ARRAY(struct call_stats) calls;
	struct idmap call_names;	/* maps an interned name to an index in calls */
	ARRAY(struct busy) busy;	/* for each GPU; with opts.stats or opts.by_time */
	struct works works;		/* device work of all recordings, until features have
					 * finished */
	struct times times;
	struct hashes by_path;		/* for sums__coarser(): finds the first aggregate of each
					 * call path */
	struct loss loss;		/* complete after session__process() */
	uint64_t first_ns, last_ns;	/* start of the earliest launch or work, end of the latest
					 * launch or work */
	uint64_t from_ns, to_ns;	/* set at the end: first_ns and last_ns, cut by the
					 * filter */
	size_t nr_windows;		/* number of capture windows; 0: everything was recorded */
	struct busy windows;		/* when at least one window was open */
	uint64_t nr_works[3];		/* number of kernels, copies and memsets that passed the
					 * filter, by LEAF_KERNEL, LEAF_MEMCPY, LEAF_MEMSET */
	uint64_t nr_left_out;		/* number of device records that the filter left out */
	uint64_t nr_parts;		/* how many of nr_left_out are partly in the sums */
	uint64_t nr_pending_left_out;	/* number of launches that have no device records and that
					 * the filter left out */
	uint64_t nr_samples;		/* number of samples that passed the filter */
	uint64_t own_ns;		/* CPU time of the shim's threads, which is left out */
	uint64_t nr_calls;		/* number of calls that passed the filter */
	uint64_t nr_accounts;		/* number of threads that passed the filter and have an
					 * account of their whole lifetime */
	const struct model *model;
};

/*
 * Initializes the sums. If @opts->times_by_path is set, one sum over time may cover several threads
 * and NVTX ranges of a call path.
 */
void sums__init(struct sums *s, const struct model *model, const struct session_opts *opts);
void sums__exit(struct sums *s);

/* Return: the total time that was recorded and passes the filter. */
static inline uint64_t sums__span_ns(const struct sums *s)
{
	return s->nr_windows ? busy__ns(&s->windows) : s->to_ns - s->from_ns;
}

/* Extends s->first_ns and s->last_ns to an event's times, on the common clock. */
void sums__see_time(struct sums *s, uint64_t from_ns, uint64_t to_ns);

/* Finds or adds an owner. Return: 0 or -ENOMEM. */
int aggregates__owner(struct aggregates *all, const struct owner *owner, uint32_t *idx);

/*
 * Finds or adds a CUDA API function by its interned name; a name of NULL means that memory was
 * short. Return: 0 or -ENOMEM.
 */
int sums__call(struct sums *s, const char *name, uint32_t *idx);

/**
 * sums__place - find or add the sum for (chain, leaf, comm), and for thread and stream if @opts
 * requires it
 * @stream: NO_INDEX if the work has no stream
 *
 * Return: 0 or -ENOMEM; s->aggregates.last is the index of the sum.
 */
int sums__place(struct sums *s, const struct session_opts *opts, uint32_t chain, const char *comm,
		uint32_t thread, uint32_t leaf, uint32_t stream);

/**
 * sums__add - add to the sum for (chain, leaf, comm), and for thread and stream if @opts requires
 * it
 * @w: the time and bytes to add; NULL: only count
 * @part: the part to add, with nr 1 if the work is counted and 0 otherwise; NULL: the whole work
 *
 * Return: 0 or -ENOMEM.
 */
int sums__add(struct sums *s, const struct session_opts *opts, uint32_t chain, const char *comm,
	      uint32_t thread, uint32_t leaf, const struct work *w, const struct filter_span *part);

/*
 * Adds @nr events to the sum that sums__place() found last. @ns: total time of the events; @max_ns:
 * time of the longest event. @nr is 0 for a part of an event if another part counts the event.
 * Return: 0 or -ENOMEM.
 */
int sums__add_sum(struct sums *s, uint64_t nr, uint64_t ns, uint64_t max_ns);

/*
 * With times.wanted, adds the times of the events for which sums__add() or sums__place() was called
 * last. Return: 0 or -ENOMEM.
 */
static inline int sums__when(struct sums *s, uint64_t from_ns, uint64_t to_ns,
			     const struct bin_value *value)
{
	return times__sum(&s->times, s->aggregates.last, from_ns, to_ns, value);
}

/* a part of an aggregate's time */
struct sums_part {
	const struct leaf_place *place;
	double weight;
};

/*
 * Splits an aggregate by place and reason, in proportion to the weights. The total time and the
 * number of events do not change. The first part stays at index @at. Return: 0 or -ENOMEM.
 */
int sums__split(struct sums *s, struct model *m, size_t at, const struct sums_part *parts,
		size_t nr);

/*
 * Gives @part, which was split off @whole, its own spread: a copy of the spread of @whole, with the
 * total time reduced to the part's share. Return: 0 or -ENOMEM.
 */
int sums__split_spread(struct sums *s, const struct aggregate *whole, struct aggregate *part);

#endif /* MERGE_SUMS_H */
