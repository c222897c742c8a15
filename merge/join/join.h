/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * join.h - which launch caused which device work, by identity alone
 *
 * A launch and its device records carry the same correlation id, unique within a process image; the
 * key is that pair. Nothing is ever joined by time. Either side may come first, a launch may own
 * many records (a graph launch has one for every node), and either side may be missing.
 *
 * Memory follows what is in flight. A launch whose API call can own only one record is forgotten
 * as soon as it has it. Should a second one come all the same, it waits like any record without a
 * launch; after the stream, join__rescan_launch() shows all launches once more to those that wait,
 * so it still finds its own. The caller does that pass when join__wants_rescan() says so.
 */
#ifndef MERGE_JOIN_H
#define MERGE_JOIN_H

#include <stdbool.h>
#include <stdint.h>

#include "util.h"

/* What is known of a launch; the indices are the caller's. */
struct launch {
	uint64_t time_ns;
	const char *comm;		/* of its thread at the time, interned */
	uint32_t chain;
	uint32_t thread;
};

/* One device record. */
struct work {
	uint64_t start_ns;
	uint64_t duration_ns;
	uint64_t bytes;			/* MEMCPY, MEMSET */
	uint32_t leaf;
	uint32_t stream;
	uint32_t node;			/* of a CUDA graph; NO_INDEX: of none that is known */
};

enum match_kind {
	MATCH_WORK,			/* a launch, and a device record of it */
	MATCH_PENDING,			/* a launch without any */
	MATCH_ORPHAN,			/* a device record without a launch */
};

/* What the join has found out. */
struct match {
	enum match_kind kind;
	bool first;			/* MATCH_WORK: it is the launch's first record */
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
 * A call that adds says whether there are matches; all are taken before the next such call.
 */
struct join {
	struct match match;		/* the one that join__next() tells of */
	bool is_new;			/* it is not told yet */
	bool first;			/* of the serving: none has been told of yet */
	struct join_waiting *serving;	/* device records for match.launch */
	size_t nr_left;			/* join__finish(): entries that are not told yet, ... */
	struct join_entry *left;	/* ... the first of them */
	struct join_entry *slots;	/* by key */
	size_t nr_slots;		/* 0 or a power of two */
	size_t nr_entries;		/* in use */
	unsigned int hash_shift;
	struct join_waiting *free_waiting;
	struct arena arena;		/* of those that wait */
	uint64_t spread;		/* what keys are multiplied by */

	uint64_t nr_launches;
	uint64_t nr_matched;		/* launches that own at least one record */
	uint64_t nr_pending;		/* launches that own none */
	uint64_t nr_duplicates;		/* of the pending: their id was already in use */
	uint64_t nr_works;		/* device records */
	uint64_t nr_works_matched;
	uint64_t nr_orphans;		/* device records without a launch */
	uint64_t nr_forgotten;		/* matched launches that are no longer in the table */
	uint64_t nr_late;		/* records matched by the rescan */
	uint64_t nr_waiting;
};

#define JOIN_KEY(proc, correlation_id)	((uint64_t)(proc) << 32 | (correlation_id))
#define JOIN_KEY_PROC(key)		((uint32_t)((key) >> 32))
#define JOIN_KEY_ID(key)		((uint32_t)(key))

void join__init(struct join *j);
void join__exit(struct join *j);

/**
 * join__add_launch - one launch
 * @j: the join
 * @key: JOIN_KEY(); correlation id 0 means none and matches nothing
 * @l: copied
 * @one_record: its API call can own one device record at most
 *
 * A second launch under a key that is still in the table is pending at once (and counted in
 * nr_duplicates): the first keeps the records, since nothing says which launch they are of.
 *
 * Return: 1 if join__next() has matches, 0, -ENOMEM, or -EOVERFLOW (more than 2^30 chains).
 */
int join__add_launch(struct join *j, uint64_t key, const struct launch *l, bool one_record);

/*
 * Says that @key comes up in a few records, so that the table is in the cache by then; with many
 * launches in flight that is most of a merge's time. Wrong guesses cost nothing else.
 */
void join__prefetch(const struct join *j, uint64_t key);

/* How many records ahead is worth it. */
#define JOIN_PREFETCH	12

/* One device record, copied. Return: 1 if join__next() has a match, 0, or -ENOMEM. */
int join__add_work(struct join *j, uint64_t key, const struct work *w);

/* Return: whether records wait whose launch may have been forgotten. */
bool join__wants_rescan(const struct join *j);

/* One launch that join__add_launch() has had already. Return: 1 if join__next() has matches, or 0. */
int join__rescan_launch(struct join *j, uint64_t key, const struct launch *l);

/*
 * Everything has been added: what is pending and what is an orphan comes up, in order of the keys.
 * Return: 1: join__next() tells; nothing can be added any more.
 */
int join__finish(struct join *j);

/* Return: the next match, good until the next call; NULL: there are no more for now. */
const struct match *join__next(struct join *j);

#endif /* MERGE_JOIN_H */
