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

/* Told as it turns out; each returns 0, or -errno to stop. */
struct join_ops {
	/* @first: no record of this launch has been seen before. */
	int (*matched)(void *ctx, uint64_t key, const struct launch *l, const struct work *w,
		       bool first);
	int (*pending)(void *ctx, uint64_t key, const struct launch *l);
	int (*orphan)(void *ctx, uint64_t key, const struct work *w);
};

struct join_entry;
struct join_waiting;

struct join {
	const struct join_ops *ops;
	void *ctx;
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

void join__init(struct join *j, const struct join_ops *ops, void *ctx);
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
 * Return: 0, -ENOMEM, -EOVERFLOW (more than 2^30 chains), or what an op returned.
 */
int join__add_launch(struct join *j, uint64_t key, const struct launch *l, bool one_record);

/*
 * Says that @key comes up in a few records, so that the table is in the cache by then; with many
 * launches in flight that is most of a merge's time. Wrong guesses cost nothing else.
 */
void join__prefetch(const struct join *j, uint64_t key);

/* How many records ahead is worth it. */
#define JOIN_PREFETCH	12

/* One device record, copied. Return: 0, -ENOMEM, or what an op returned. */
int join__add_work(struct join *j, uint64_t key, const struct work *w);

/* Return: whether records wait whose launch may have been forgotten. */
bool join__wants_rescan(const struct join *j);

/* One launch that join__add_launch() has had already. Return: 0, or what an op returned. */
int join__rescan_launch(struct join *j, uint64_t key, const struct launch *l);

/* Everything has been added: tells what is pending and what is an orphan, in order of the keys. */
int join__finish(struct join *j);

#endif /* MERGE_JOIN_H */
