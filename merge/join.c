// SPDX-License-Identifier: GPL-3.0-or-later
#include "join.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static unsigned int join__hash(uint64_t key)
{
	return idmap__hash(key) >> 16;
}

#define HASH_NONFATAL_OOM	1
#define uthash_nonfatal_oom(e)	(oom = true)
/* uthash takes the low bits; correlation ids count up, often by a power of two. */
#define HASH_FUNCTION(keyptr, keylen, hashv)						\
	do {										\
		uint64_t key_;								\
		(void)(keylen);								\
		memcpy(&key_, (keyptr), sizeof(key_));					\
		(hashv) = join__hash(key_);						\
	} while (0)
#include <uthash.h>

/* Short chains: with many launches in flight, each step along one is a cache miss. */
#undef HASH_BKT_CAPACITY_THRESH
#define HASH_BKT_CAPACITY_THRESH 8U

#define SLAB_ENTRIES	256

struct join_waiting {
	struct join_waiting *next;
	struct work work;
};

struct join_entry {
	/* What a search looks at is in one cache line: the hash is the handle's last member. */
	UT_hash_handle hh;
	uint64_t key;
	struct launch launch;
	struct join_waiting *first, **last;	/* records that came before their launch */
	struct join_entry *next_free;
	bool has_launch;
	bool has_record;
	bool one_record;
} __attribute__((aligned(64)));

_Static_assert(sizeof(UT_hash_handle) + sizeof(uint64_t) <= 64 || sizeof(void *) != 8,
	       "a search reads one cache line an entry");

void join__init(struct join *j, const struct join_ops *ops, void *ctx)
{
	memset(j, 0, sizeof(*j));
	j->ops = ops;
	j->ctx = ctx;
}

void join__exit(struct join *j)
{
	HASH_CLEAR(hh, j->entries);
	arena__free(&j->arena);
}

void join__prefetch(const struct join *j, uint64_t key)
{
	const UT_hash_table *tbl = j->entries ? j->entries->hh.tbl : NULL;

	if (tbl)
		__builtin_prefetch(&tbl->buckets[join__hash(key) & (tbl->num_buckets - 1)]);
}

static struct join_entry *join__find(const struct join *j, uint64_t key)
{
	struct join_entry *e;

	HASH_FIND(hh, j->entries, &key, sizeof(key), e);
	return e;
}

/* Makes SLAB_ENTRIES free entries, on cache line boundaries. */
static int join__grow(struct join *j)
{
	size_t align = _Alignof(struct join_entry), i;
	struct join_entry *slab;
	uintptr_t at;

	at = (uintptr_t)arena__alloc(&j->arena, SLAB_ENTRIES * sizeof(*slab) + align);
	if (!at)
		return -ENOMEM;
	slab = (void *)((at + align - 1) & ~(align - 1));
	for (i = 0; i < SLAB_ENTRIES; i++) {
		slab[i].next_free = j->free_entries;
		j->free_entries = &slab[i];
	}
	return 0;
}

static struct join_entry *join__new_entry(struct join *j, uint64_t key)
{
	struct join_entry *e;
	bool oom = false;

	if (!j->free_entries && join__grow(j))
		return NULL;
	e = j->free_entries;
	j->free_entries = e->next_free;
	memset(e, 0, sizeof(*e));
	e->key = key;
	e->last = &e->first;
	HASH_ADD(hh, j->entries, key, sizeof(e->key), e);
	return oom ? NULL : e;
}

static void join__free_entry(struct join *j, struct join_entry *e)
{
	HASH_DEL(j->entries, e);
	e->next_free = j->free_entries;
	j->free_entries = e;
}

static int join__matched(struct join *j, uint64_t key, const struct launch *l,
			 const struct work *w, bool first)
{
	j->nr_works_matched++;
	j->nr_matched += first;
	return j->ops->matched(j->ctx, key, l, w, first);
}

/* Gives the records that wait at @e to @l. */
static int join__serve_waiting(struct join *j, struct join_entry *e, const struct launch *l,
			       bool first)
{
	struct join_waiting *w;
	int err = 0;

	while (!err && (w = e->first)) {
		err = join__matched(j, e->key, l, &w->work, first);
		first = false;
		e->first = w->next;
		w->next = j->free_waiting;
		j->free_waiting = w;
		j->nr_waiting--;
	}
	e->last = &e->first;
	return err;
}

int join__add_launch(struct join *j, uint64_t key, const struct launch *l, bool one_record)
{
	struct join_entry *e;
	int err;

	j->nr_launches++;
	if (!JOIN_KEY_ID(key)) {
		j->nr_pending++;
		return j->ops->pending(j->ctx, key, l);
	}
	e = join__find(j, key);
	if (e && e->has_launch) {
		j->nr_duplicates++;
		j->nr_pending++;
		return j->ops->pending(j->ctx, key, l);
	}
	if (e) {
		err = join__serve_waiting(j, e, l, true);
		if (err)
			return err;
		e->has_record = true;
		if (one_record) {
			join__free_entry(j, e);
			j->nr_forgotten++;
			return 0;
		}
	} else {
		e = join__new_entry(j, key);
		if (!e)
			return -ENOMEM;
	}
	e->launch = *l;
	e->has_launch = true;
	e->one_record = one_record;
	return 0;
}

static int join__wait(struct join *j, struct join_entry *e, uint64_t key, const struct work *w)
{
	struct join_waiting *waiting = j->free_waiting;

	if (!e) {
		e = join__new_entry(j, key);
		if (!e)
			return -ENOMEM;
	}
	if (waiting)
		j->free_waiting = waiting->next;
	else
		waiting = arena__alloc(&j->arena, sizeof(*waiting));
	if (!waiting)
		return -ENOMEM;
	waiting->work = *w;
	waiting->next = NULL;
	*e->last = waiting;
	e->last = &waiting->next;
	j->nr_waiting++;
	return 0;
}

int join__add_work(struct join *j, uint64_t key, const struct work *w)
{
	struct join_entry *e;
	bool first;
	int err;

	j->nr_works++;
	if (!JOIN_KEY_ID(key)) {
		j->nr_orphans++;
		return j->ops->orphan(j->ctx, key, w);
	}
	e = join__find(j, key);
	if (!e || !e->has_launch)
		return join__wait(j, e, key, w);
	first = !e->has_record;
	e->has_record = true;
	err = join__matched(j, key, &e->launch, w, first);
	if (!err && e->one_record) {
		join__free_entry(j, e);
		j->nr_forgotten++;
	}
	return err;
}

bool join__wants_rescan(const struct join *j)
{
	return j->nr_waiting && j->nr_forgotten;
}

int join__rescan_launch(struct join *j, uint64_t key, const struct launch *l)
{
	struct join_entry *e = join__find(j, key);
	uint64_t nr_waiting = j->nr_waiting;
	int err;

	if (!e || !e->first)
		return 0;
	/* It was counted when its first record came. */
	err = join__serve_waiting(j, e, l, false);
	j->nr_late += nr_waiting - j->nr_waiting;
	return err;
}

int join__finish(struct join *j)
{
	struct join_entry *e, *tmp;
	struct join_waiting *w;
	int err;

	HASH_ITER(hh, j->entries, e, tmp) {
		if (e->has_launch && !e->has_record) {
			j->nr_pending++;
			err = j->ops->pending(j->ctx, e->key, &e->launch);
			if (err)
				return err;
		}
		for (w = e->first; w; w = w->next) {
			j->nr_orphans++;
			j->nr_waiting--;
			err = j->ops->orphan(j->ctx, e->key, &w->work);
			if (err)
				return err;
		}
		join__free_entry(j, e);
	}
	return 0;
}
