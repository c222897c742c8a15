// SPDX-License-Identifier: GPL-3.0-or-later
#include "join/join.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/*
 * The table uses open addressing, in slots of half a cache line. With many launches in flight, each
 * launch and each record costs a cache miss or two, which would be most of a merge's time without
 * prefetching.
 */
enum entry_state {
	ENTRY_ONE,			/* a launch that can own a single record, and has none
					 * yet */
	ENTRY_MANY,			/* a launch that can own many records and has none yet */
	ENTRY_SERVED,			/* a launch that can own many records and has some */
	ENTRY_WAITING,			/* records that arrived before their launch */
};

struct join_entry {
	uint64_t key;			/* 0: free; keys without a correlation id are never added */
	union {
		struct {		/* a launch */
			uint64_t time_ns;
			const char *comm;
		};
		struct {		/* ENTRY_WAITING */
			struct join_waiting *first, *last;
		};
	};
	uint32_t thread;
	uint32_t chain : 30;
	uint32_t state : 2;
};

_Static_assert(sizeof(struct join_entry) == 32 || sizeof(void *) != 8, "two in a cache line");

struct join_waiting {
	struct join_waiting *next;
	struct work work;
};

#define CHAIN_MAX	((1u << 30) - 1)
#define MIN_SLOTS	1024
#define LONG_WALK	1024		/* length of a suspicious search, in slots; consecutive ids
					 * never cause such a long search */
#define GOLDEN		0x9e3779b97f4a7c15ull
#define HUGE_PAGE	(2ul << 20)

void join__init(struct join *j)
{
	memset(j, 0, sizeof(*j));
	j->spread = GOLDEN;
}

void join__exit(struct join *j)
{
	free(j->slots);
	j->slots = NULL;
	j->nr_slots = j->nr_entries = 0;
	arena__free(&j->arena);
}

/*
 * Return: the first slot to search for a key. The key is multiplied by the golden ratio, which
 * spreads ids evenly if they rise in even steps. The slot is the first of a cache line, so that the
 * next slot, which is mostly free, is in the same line.
 */
static size_t join__home(const struct join *j, uint64_t key)
{
	return (key * j->spread >> j->hash_shift) & ~(size_t)1;
}

void join__prefetch(const struct join *j, uint64_t key)
{
	const struct join_entry *home;

	if (!j->nr_slots)
		return;
	home = &j->slots[join__home(j, key)];
	__builtin_prefetch(home);
	__builtin_prefetch(home + 2);
}

/* Return: the slot of @key, or the free slot where @key would be. */
static struct join_entry *join__slot(const struct join *j, uint64_t key)
{
	size_t i = join__home(j, key);

	while (j->slots[i].key && j->slots[i].key != key)
		i = (i + 1) & (j->nr_slots - 1);
	return &j->slots[i];
}

static struct join_entry *join__find(const struct join *j, uint64_t key)
{
	struct join_entry *e = j->nr_slots ? join__slot(j, key) : NULL;

	return e && e->key ? e : NULL;
}

/* Replaces the table by one with @nr_slots slots, a power of two. Return: 0 or -ENOMEM. */
static int join__rebuild(struct join *j, size_t nr_slots, uint64_t spread)
{
	struct join old = *j;
	size_t i, bytes;

	j->nr_slots = nr_slots;
	j->spread = spread;
	j->hash_shift = 64 - __builtin_ctzl(j->nr_slots);
	bytes = j->nr_slots * sizeof(*j->slots);
	j->slots = aligned_alloc(bytes < HUGE_PAGE ? 64 : HUGE_PAGE, bytes);
	if (!j->slots) {
		*j = old;
		return -ENOMEM;
	}
	/* Random accesses to small pages would also cause TLB misses. */
	if (bytes >= HUGE_PAGE)
		madvise(j->slots, bytes, MADV_HUGEPAGE);
	memset(j->slots, 0, bytes);
	for (i = 0; i < old.nr_slots; i++)
		if (old.slots[i].key)
			*join__slot(j, old.slots[i].key) = old.slots[i];
	free(old.slots);
	return 0;
}

/*
 * Return: a new entry with its key set, valid until another entry is made or freed; NULL if memory
 * is short.
 */
static struct join_entry *join__new_entry(struct join *j, uint64_t key)
{
	size_t nr_slots = j->nr_slots ? j->nr_slots * 2 : MIN_SLOTS;
	struct join_entry *e;

	if (j->nr_entries >= j->nr_slots / 4 * 3 && join__rebuild(j, nr_slots, j->spread))
		return NULL;
	e = join__slot(j, key);
	/* Somebody chose ids that collide. With a secret multiplier, nobody can choose such ids. */
	if (((e - j->slots - join__home(j, key)) & (j->nr_slots - 1)) > LONG_WALK &&
	    j->spread == GOLDEN) {
		if (join__rebuild(j, j->nr_slots, secret() | 1))
			return NULL;
		e = join__slot(j, key);
	}
	e->key = key;
	j->nr_entries++;
	return e;
}

/* Frees @e and moves later entries up, so that searches still find every entry. */
static void join__free_entry(struct join *j, struct join_entry *e)
{
	size_t mask = j->nr_slots - 1, gap = e - j->slots, i = gap;

	j->nr_entries--;
	for (;;) {
		i = (i + 1) & mask;
		e = &j->slots[i];
		if (!e->key)
			break;
		if (((i - join__home(j, e->key)) & mask) >= ((i - gap) & mask)) {
			j->slots[gap] = *e;
			gap = i;
		}
	}
	j->slots[gap].key = 0;
}

static struct launch join_entry__launch(const struct join_entry *e)
{
	return (struct launch){ e->time_ns, e->comm, e->chain, e->thread };
}

/*
 * Makes a match for a launch without work. Return: 1, so that the caller lets join__next() return
 * this match.
 */
static int join__tell_pending(struct join *j, uint64_t key, const struct launch *l)
{
	j->nr_pending++;
	j->match = (struct match){ .kind = MATCH_PENDING, .key = key, .launch = *l };
	j->is_new = true;
	return 1;
}

/*
 * Matches @l with the records that wait at @e. Return: 1, so that the caller lets join__next()
 * return the matches.
 */
static int join__serve_waiting(struct join *j, struct join_entry *e, const struct launch *l,
			       bool first)
{
	j->serving = e->first;
	e->first = NULL;
	j->first = first;
	j->match = (struct match){ .kind = MATCH_WORK, .key = e->key, .launch = *l };
	return 1;
}

int join__add_launch(struct join *j, uint64_t key, const struct launch *l, bool one_record)
{
	struct join_entry *e;
	bool served;

	j->nr_launches++;
	if (l->chain > CHAIN_MAX)
		return -EOVERFLOW;
	if (!JOIN_KEY_ID(key))
		return join__tell_pending(j, key, l);
	e = join__find(j, key);
	if (e && e->state != ENTRY_WAITING) {
		j->nr_duplicates++;
		join__tell_pending(j, key, l);
		j->match.duplicate = true;
		return 1;
	}
	served = e != NULL;
	if (served) {
		join__serve_waiting(j, e, l, true);
		if (one_record) {
			join__free_entry(j, e);
			j->nr_forgotten++;
			return 1;
		}
	} else {
		e = join__new_entry(j, key);
		if (!e)
			return -ENOMEM;
	}
	e->time_ns = l->time_ns;
	e->comm = l->comm;
	e->chain = l->chain;
	e->thread = l->thread;
	e->state = served ? ENTRY_SERVED : one_record ? ENTRY_ONE : ENTRY_MANY;
	return served;
}

int join__add_earlier(struct join *j, uint64_t key, const struct launch *l)
{
	struct join_entry *e;
	int waits = 0;

	if (l->chain > CHAIN_MAX)
		return -EOVERFLOW;
	if (!JOIN_KEY_ID(key))
		return 0;
	e = join__find(j, key);
	if (e && e->state != ENTRY_WAITING)
		return 0;
	if (e) {
		waits = join__serve_waiting(j, e, l, false);
	} else {
		e = join__new_entry(j, key);
		if (!e)
			return -ENOMEM;
	}
	e->time_ns = l->time_ns;
	e->comm = l->comm;
	e->chain = l->chain;
	e->thread = l->thread;
	e->state = ENTRY_SERVED;
	return waits;
}

static int join__wait(struct join *j, struct join_entry *e, uint64_t key, const struct work *w)
{
	struct join_waiting *waiting = j->free_waiting;

	if (waiting)
		j->free_waiting = waiting->next;
	else
		waiting = arena__alloc(&j->arena, sizeof(*waiting));
	if (!waiting)
		return -ENOMEM;
	waiting->work = *w;
	waiting->next = NULL;
	j->nr_waiting++;
	if (e) {
		e->last->next = waiting;
	} else {
		e = join__new_entry(j, key);
		if (!e)
			return -ENOMEM;
		e->state = ENTRY_WAITING;
		e->first = waiting;
	}
	e->last = waiting;
	return 0;
}

int join__add_work(struct join *j, uint64_t key, const struct work *w)
{
	struct join_entry *e = NULL;

	j->nr_works++;
	if (JOIN_KEY_ID(key)) {
		e = join__find(j, key);
		if (!e || e->state == ENTRY_WAITING)
			return join__wait(j, e, key, w);
	}
	j->match.key = key;
	j->match.work = *w;
	j->is_new = true;
	if (!e) {
		j->nr_orphans++;
		j->match.kind = MATCH_ORPHAN;
		return 1;
	}
	j->nr_works_matched++;
	j->match.kind = MATCH_WORK;
	j->match.launch = join_entry__launch(e);
	j->match.first = e->state != ENTRY_SERVED;
	j->nr_matched += j->match.first;
	if (e->state == ENTRY_ONE) {
		join__free_entry(j, e);
		j->nr_forgotten++;
	} else {
		e->state = ENTRY_SERVED;
	}
	return 1;
}

bool join__wants_rescan(const struct join *j)
{
	return j->nr_waiting && j->nr_forgotten;
}

int join__rescan_launch(struct join *j, uint64_t key, const struct launch *l)
{
	struct join_entry *e = join__find(j, key);
	struct join_waiting *w;

	if (!e || e->state != ENTRY_WAITING)
		return 0;
	for (w = e->first; w; w = w->next)
		j->nr_late++;
	/* The launch was already counted when its first record arrived. */
	return join__serve_waiting(j, e, l, false);
}

static int join_entry__cmp(const void *va, const void *vb)
{
	const struct join_entry *a = va, *b = vb;

	return cmp3(a->key, b->key);
}

int join__finish(struct join *j)
{
	size_t i, nr = 0;

	for (i = 0; i < j->nr_slots; i++)
		if (j->slots[i].key && j->slots[i].state != ENTRY_SERVED)
			j->slots[nr++] = j->slots[i];
	if (nr)
		qsort(j->slots, nr, sizeof(*j->slots), join_entry__cmp);
	/* The remaining entries are a sorted array, no longer a table. */
	j->nr_slots = j->nr_entries = 0;
	j->left = j->slots;
	j->nr_left = nr;
	return 1;
}

/* Return: the next match from the entries that join__finish() left. */
static const struct match *join__next_left(struct join *j)
{
	struct match *m = &j->match;

	for (; j->nr_left; j->left++, j->nr_left--) {
		struct join_entry *e = j->left;

		m->key = e->key;
		if (e->state != ENTRY_WAITING) {
			j->nr_pending++;
			m->kind = MATCH_PENDING;
			m->launch = join_entry__launch(e);
			j->left++;
			j->nr_left--;
			return m;
		}
		if (e->first) {
			j->nr_orphans++;
			j->nr_waiting--;
			m->kind = MATCH_ORPHAN;
			m->work = e->first->work;
			e->first = e->first->next;
			return m;
		}
	}
	return NULL;
}

const struct match *join__next_waiting(struct join *j)
{
	struct join_waiting *w = j->serving;

	if (!w)
		return join__next_left(j);
	j->nr_works_matched++;
	j->nr_matched += j->first;
	j->nr_waiting--;
	j->match.first = j->first;
	j->match.work = w->work;
	j->first = false;
	j->serving = w->next;
	w->next = j->free_waiting;
	j->free_waiting = w;
	return &j->match;
}
