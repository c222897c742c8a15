/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * join.h - matches launches and device work by identity alone
 *
 * A launch and its device records carry one correlation id, unique within a process image and an
 * API. The key combines the id, the image and the API. Nothing is ever joined by time. Either side
 * may come first, a launch may own many records (a graph launch has one for every node), and either
 * side may be missing.
 *
 * Memory is proportional to the launches in flight. A launch whose API call can own only one record
 * is forgotten as soon as it has that record. If a second record comes nevertheless, it waits like
 * any record without a launch. After the stream, join__rescan_launch() offers all launches again to
 * the waiting records, so that the second record still finds its launch. The caller makes that pass
 * if join__wants_rescan() returns true.
 */
#ifndef MERGE_JOIN_H
#define MERGE_JOIN_H

#include <stdbool.h>
#include <stdint.h>

#include "model/api.h"
#include "util.h"

/* A launch; the caller chooses the indices. */
struct launch {
	uint64_t time_ns;
	const char *comm;		/* name of the launch's thread at that time, interned */
	uint32_t chain;
	uint32_t thread;
};

/* One device record. */
struct work {
	uint64_t start_ns;
	uint64_t duration_ns;
	uint64_t bytes;			/* for copies and memsets */
	uint32_t leaf;
	uint32_t stream;
	uint32_t maker;			/* the call that made the work, see feature.find_maker();
					 * NO_INDEX: the launch made it, or the call is unknown */
	uint32_t aggregate;		/* for a sink: index in sums.aggregates */
	uint32_t shape : 30;		/* a kernel's index in shapes, or WORK_NO_SHAPE */
	bool is_part : 1;		/* for a sink: --from or --to has cut the work */
	bool began_before : 1;		/* for a sink: the work began before --from, and its bytes
					 * are not counted */
};

#define WORK_NO_SHAPE	(UINT32_MAX >> 2)

enum match_kind {
	MATCH_WORK,			/* a launch and one of its device records */
	MATCH_PENDING,			/* a launch without device records */
	MATCH_ORPHAN,			/* a device record without a launch */
};

/* a result of the join */
struct match {
	enum match_kind kind;
	bool first;			/* MATCH_WORK: this is the launch's first record */
	bool duplicate;			/* MATCH_PENDING: another launch has the same id */
	uint64_t key;
	struct launch launch;
	struct work work;
};

struct join_entry;
struct join_waiting;

/*
 *	if (join__add_work(j, key, &w) > 0)
 *		while ((match = join__next(j)))
 *			...
 *
 * The functions that add something return whether there are matches. Take all matches before you
 * add something again.
 */
struct join {
	struct match match;		/* the match that join__next() returns */
	bool is_new;			/* match has not been returned yet */
	bool first;			/* no record of @serving has been returned yet */
	struct join_waiting *serving;	/* device records for match.launch */
	size_t nr_left;			/* after join__finish(): number of entries that were not
					 * returned yet */
	struct join_entry *left;	/* the first of the nr_left entries */
	struct join_entry *slots;	/* a hash table, by key */
	size_t nr_slots;		/* number of slots: 0 or a power of two */
	size_t nr_entries;		/* number of entries in use */
	unsigned int hash_shift;
	struct join_waiting *free_waiting;
	struct arena arena;		/* memory of waiting records */
	uint64_t spread;		/* multiplier of keys */

	uint64_t nr_launches;
	uint64_t nr_matched;		/* number of launches that own at least one record */
	uint64_t nr_pending;		/* number of launches that own no record */
	uint64_t nr_duplicates;		/* number of launches in nr_pending whose id was already in
					 * use */
	uint64_t nr_works;		/* number of device records */
	uint64_t nr_works_matched;
	uint64_t nr_orphans;		/* number of device records without a launch */
	uint64_t nr_forgotten;		/* number of matched launches that are no longer in the
					 * table */
	uint64_t nr_late;		/* number of records matched by the rescan */
	uint64_t nr_waiting;
};

#define JOIN_KEY(scope, correlation_id)	((uint64_t)(scope) << 32 | (correlation_id))
#define JOIN_KEY_SCOPE(key)		((uint32_t)((key) >> 32))
#define JOIN_KEY_PROC(key)		SCOPE_PROC(JOIN_KEY_SCOPE(key))
#define JOIN_KEY_API(key)		SCOPE_API(JOIN_KEY_SCOPE(key))
#define JOIN_KEY_ID(key)		((uint32_t)(key))

void join__init(struct join *j);
void join__exit(struct join *j);

/**
 * join__add_launch - add a launch
 * @j: the join
 * @key: JOIN_KEY(); a key with correlation id 0 matches nothing
 * @l: copied
 * @one_record: its API call can have at most one device record
 *
 * A second launch under a key that is still in the table is pending at once (and counted in
 * nr_duplicates): the first launch keeps the records, because nothing says which launch they belong
 * to.
 *
 * Return: 1 if join__next() has matches, 0 if not, -ENOMEM, or -EOVERFLOW (more than 2^30 chains).
 */
int join__add_launch(struct join *j, uint64_t key, const struct launch *l, bool one_record);

/*
 * Adds a launch of an earlier file. The earlier file has counted the launch and its first device
 * records; the launch's records in this file are further records. Return: like join__add_launch().
 */
int join__add_earlier(struct join *j, uint64_t key, const struct launch *l);

/*
 * Prefetches the slot of @key, which one of the next records needs. With many launches in flight,
 * cache misses take most of a merge's time. A wrong guess does no harm.
 */
void join__prefetch(const struct join *j, uint64_t key);

/* prefetch this many records ahead */
#define JOIN_PREFETCH	12

/*
 * Adds a device record, which is copied. Return: 1 if join__next() has a match, 0 if not, or
 * -ENOMEM.
 */
int join__add_work(struct join *j, uint64_t key, const struct work *w);

/* Return: whether records wait for launches that may have been forgotten. */
bool join__wants_rescan(const struct join *j);

/*
 * Matches the waiting records with a launch that was already passed to join__add_launch(). Return:
 * 1 if join__next() has matches, or 0.
 */
int join__rescan_launch(struct join *j, uint64_t key, const struct launch *l);

/*
 * Ends the join: nothing can be added any more, and join__next() returns pending launches and
 * orphans, in the order of the keys. Return: 1.
 */
int join__finish(struct join *j);

/* Takes a record of j->serving or, if it is empty, an entry of j->left, for join__next(). */
const struct match *join__next_waiting(struct join *j);

/* Return: the next match, valid until the next call, or NULL if there are no more for now. */
static inline const struct match *join__next(struct join *j)
{
	if (j->is_new) {
		j->is_new = false;
		return &j->match;
	}
	return j->serving || j->nr_left ? join__next_waiting(j) : NULL;
}

#endif /* MERGE_JOIN_H */
