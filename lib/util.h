/* SPDX-License-Identifier: MIT */
/*
 * util.h - large memory, growing arrays, an arena, interned strings, hash tables, stored messages
 *
 * Nothing here prints, exits or aborts. Functions that can fail return -errno, or NULL if memory is
 * short.
 */
#ifndef LIB_UTIL_H
#define LIB_UTIL_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

#define min_t(type, a, b) ({ type a_ = (a), b_ = (b); a_ < b_ ? a_ : b_; })
#define max_t(type, a, b) ({ type a_ = (a), b_ = (b); a_ > b_ ? a_ : b_; })

/* Whether @s ends with @suffix and is longer than @suffix. */
bool has_suffix(const char *s, const char *suffix);

/* ---- memory --------------------------------------------------------------------------------- */

/*
 * malloc() and calloc() for memory that may be large and is accessed at random: in huge pages, if
 * Linux supports them. free() and realloc() work as usual.
 */
void *huge__alloc(size_t bytes);
void *huge__zalloc(size_t nr, size_t elem_bytes);

/* ---- arrays --------------------------------------------------------------------------------- */

/**
 * array__reserve - make room for at least @need elements
 * @v: address of the array's pointer, which does not change on failure
 * @cap: the array's capacity in elements; grows by at least half
 * @need: number of elements wanted
 * @elem_bytes: size of an element
 *
 * Return: 0 or -ENOMEM (also when the size would overflow).
 */
int array__reserve(void *v, size_t *cap, size_t need, size_t elem_bytes);

void array__shrink(void *v, size_t *cap, size_t nr, size_t elem_bytes);

/* A growing array; starts zeroed. array_push(&a, value) returns 0 or -ENOMEM. */
#define ARRAY(type)	struct { type *v; size_t nr, cap; }
#define array_reserve(a, need) \
	((need) <= (a)->cap ? 0 : array__reserve(&(a)->v, &(a)->cap, (need), sizeof(*(a)->v)))
#define array_push(a, value) \
	(array_reserve((a), (a)->nr + 1) ?: ((void)((a)->v[(a)->nr++] = (value)), 0))
/* Visits all elements of an array, which must not grow meanwhile: array_each(&a, e) e->x = 0; */
#define array_each(a, e)	array_each_while(a, e, true)
/* Visits the elements while @condition is true. */
#define array_each_while(a, e, condition) \
	for (typeof(&*(a)->v) e = (a)->v; (size_t)(e - (a)->v) < (a)->nr && (condition); e++)
/* Like qsort(), for an array that may be empty. */
#define array_qsort(a, compare) do {						\
		if ((a)->nr)							\
			qsort((a)->v, (a)->nr, sizeof(*(a)->v), (compare));	\
	} while (0)
/* Frees the memory after the last element. */
#define array_shrink(a)	array__shrink(&(a)->v, &(a)->cap, (a)->nr, sizeof(*(a)->v))
#define array_free(a)	do { free((a)->v); (a)->v = NULL; (a)->nr = (a)->cap = 0; } while (0)

/*
 * Return: how many of the @nr elements of a sorted array meet @condition, an expression that uses
 * an element's index @i. The elements that meet it must come before all others.
 */
#define sorted_count(nr, i, condition) ({	\
	size_t lo_ = 0, hi_ = (nr), i;		\
						\
	while (lo_ < hi_) {			\
		i = lo_ + (hi_ - lo_) / 2;	\
		if (condition)			\
			lo_ = i + 1;		\
		else				\
			hi_ = i;		\
	}					\
	lo_; })

/* Like qsort_r(), but needs only one pass if the array is sorted already, as is usual. */
void array__sort(void *v, size_t nr, size_t elem_bytes,
		 int (*compare)(const void *a, const void *b, void *ctx), void *ctx);

/* An index that stands for "no element". */
#define NO_INDEX	UINT32_MAX

/* Return: the word that fits the number @n, singular or plural. */
#define PLURAL(n, one, many)	((n) == 1 ? (one) : (many))

/* A three-way comparison that cannot overflow, for the comparators of qsort(). */
#define cmp3(a, b)	(((a) > (b)) - ((a) < (b)))

/* Return: a number that the author of an input file cannot know. It differs in each run. */
uint64_t secret(void);

/* ---- arena ---------------------------------------------------------------------------------- */

struct arena_chunk;

/* Memory that is freed all at once; starts zeroed. */
struct arena {
	struct arena_chunk *head;
	size_t used;			/* bytes used in head */
};

/* Return: @size zeroed bytes aligned to 8, valid until arena__free(), or NULL. */
void *arena__alloc(struct arena *a, size_t size);
void arena__free(struct arena *a);

/* ---- hash tables ---------------------------------------------------------------------------- */

/*
 * Return: whether a table must grow. To save memory, large tables with open addressing stay between
 * 3/5 and 3/4 full: there may be a million names, and each name may be in several tables.
 */
static inline bool slots__full(size_t nr, size_t nr_slots)
{
	return nr >= nr_slots / 4 * 3;
}

/* Return: the number of slots of the table that replaces a full table of @nr_slots slots. */
static inline size_t slots__more(size_t nr_slots)
{
	return nr_slots < 4096 ? max_t(size_t, 2 * nr_slots, 16) : nr_slots / 4 * 5;
}

/*
 * Return: the slot where the search for a hash begins. The search for a higher hash never begins at
 * a lower slot, so copying fills a larger table from one end to the other.
 */
static inline size_t slots__home(uint32_t hash, size_t nr_slots)
{
	return (uint64_t)hash * nr_slots >> 32;
}

static inline size_t slots__next(size_t i, size_t nr_slots)
{
	return i + 1 < nr_slots ? i + 1 : 0;
}

/* ---- interned strings ----------------------------------------------------------------------- */

struct strpool_slot;

/* Stores one copy of each distinct string, so equal strings have equal pointers. Starts zeroed. */
struct strpool {
	struct strpool_slot *slots;	/* open addressing, so that lookups touch little memory */
	size_t nr_slots;
	size_t nr;
	struct arena arena;
};

/* Return: the pool's own copy of @s[0..@len), with a NUL, valid until strpool__free(); or NULL. */
const char *strpool__intern(struct strpool *p, const char *s, size_t len);
/*
 * Return: the number of a string of the pool. Strings are numbered from 0 in the order in which
 * they are added.
 * @copy: the pool's own copy.
 */
static inline uint32_t strpool__id(const char *copy)
{
	uint32_t id;

	memcpy(&id, copy - sizeof(id), sizeof(id));
	return id;
}

/*
 * Return: whether @s is the pool's own copy of its text (up to the first NUL), and not another
 * copy.
 */
bool strpool__owns(const struct strpool *p, const char *s);

const char *strpool__internf(struct strpool *p, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void strpool__free(struct strpool *p);

/* ---- id map --------------------------------------------------------------------------------- */

struct idmap_slot {
	uint64_t key;
	uint32_t value;
	uint32_t used;
};

/*
 * Maps 64-bit ids to 32-bit indices, with open addressing. The ids come from a file and need not be
 * dense: the map's size depends on the number of ids, never on their values. The file's author
 * cannot know which ids share a slot. Starts zeroed.
 */
struct idmap {
	struct idmap_slot *slots;
	size_t nr_slots;
	size_t nr;
	uint64_t secret;		/* differs in each run; set when the first slots are
					 * allocated */
};

/* Makes one id from two 32-bit ids. For ids of a process, the upper half is the process's index. */
#define ID_KEY(high, low)	((uint64_t)(high) << 32 | (low))

static inline size_t idmap__home(const struct idmap *m, uint64_t key)
{
	unsigned __int128 product = (unsigned __int128)(key ^ m->secret) * 0x9e3779b97f4a7c15ull;

	return slots__home(((uint64_t)product ^ (uint64_t)(product >> 64)) >> 32, m->nr_slots);
}

/* Return: whether the map has @key. Sets *@value to its value. */
static inline bool idmap__get(const struct idmap *m, uint64_t key, uint32_t *value)
{
	size_t i;

	if (!m->nr_slots)
		return false;
	for (i = idmap__home(m, key);; i = slots__next(i, m->nr_slots)) {
		const struct idmap_slot *slot = &m->slots[i];

		if (!slot->used)
			return false;
		if (slot->key == key) {
			*value = slot->value;
			return true;
		}
	}
}

/*
 * Return: a pointer to the value of @key, valid until the next key is added; NULL if the map lacks
 * @key.
 */
uint32_t *idmap__find(const struct idmap *m, uint64_t key);

/* Adds @key, which the map must not have. Return: 0 or -ENOMEM. */
int idmap__put(struct idmap *m, uint64_t key, uint32_t value);

/* Adds @key unless the map has it. Return: 1 if it was added, 0 if not, or -ENOMEM. */
int idmap__add(struct idmap *m, uint64_t key, uint32_t value);
void idmap__free(struct idmap *m);

/* ---- ids that each process numbers from 1 ---------------------------------------------------- */

/*
 * Maps ids to indices. Each process numbers its definitions from 1. The ids come from a file, so
 * ids far out of order are accepted, too, but take more memory. Starts zeroed.
 */
struct ids_list {
	uint32_t *v;			/* indexed by id - 1; NO_INDEX: unknown, or in rest */
	size_t nr, cap;
};

struct ids {
	ARRAY(struct ids_list) lists;	/* by process */
	struct idmap rest;
};

static inline bool ids__get(const struct ids *ids, uint32_t proc, uint32_t id, uint32_t *index)
{
	const struct ids_list *list = proc < ids->lists.nr ? &ids->lists.v[proc] : NULL;

	if (list && id && id <= list->nr && list->v[id - 1] != NO_INDEX) {
		*index = list->v[id - 1];
		return true;
	}
	return idmap__get(&ids->rest, ID_KEY(proc, id), index);
}

/* Adds an id (not 0) unless it exists. Return: 1 if it was added, 0 if not, or -ENOMEM. */
int ids__add(struct ids *ids, uint32_t proc, uint32_t id, uint32_t index);
void ids__free(struct ids *ids);

/* ---- hash index ----------------------------------------------------------------------------- */

/*
 * Finds elements of an array by the hashes of their keys. The keys stay in the array: the table has
 * only hashes and indices. Starts zeroed.
 *
 *	err = hashes_get(&h, hash, &array, i, array.v[i].key == key, ((struct element){ key }));
 */
struct hashes {
	struct hashes_slot {
		uint32_t hash;
		uint32_t index;		/* NO_INDEX: free */
	} *slots;
	size_t nr_slots;
	size_t nr;
};

/* Return: a hash whose collisions the author of an input file cannot know. */
static inline uint32_t hash__mix(uint64_t a, uint64_t b, uint64_t secret)
{
	unsigned __int128 product = (unsigned __int128)(a ^ secret) * (b ^ 0x9e3779b97f4a7c15ull);
	uint64_t folded = (uint64_t)product ^ (uint64_t)(product >> 64);

	return (folded * 0x9e3779b97f4a7c15ull) >> 32;
}

#define HASHES_START	SIZE_MAX

/* Return: whether another element has the hash @hash. Sets *@index to its index. */
static inline bool hashes__next(const struct hashes *h, uint32_t hash, size_t *at, uint32_t *index)
{
	size_t i = *at == HASHES_START ? slots__home(hash, h->nr_slots) : *at;

	for (; h->nr_slots && h->slots[i].index != NO_INDEX; i = slots__next(i, h->nr_slots)) {
		if (h->slots[i].hash != hash)
			continue;
		*index = h->slots[i].index;
		*at = slots__next(i, h->nr_slots);
		return true;
	}
	return false;
}

/*
 * Return: whether an element with the hash @hash meets @condition, an expression that uses the
 * element's index @i. Sets @i to the element's index.
 */
#define hashes_find(h, hash, i, condition) ({				\
	size_t at_ = HASHES_START;					\
	bool found_ = false;						\
									\
	while (!found_ && hashes__next((h), (hash), &at_, &(i)))	\
		found_ = (condition);					\
	found_; })

/* Adds @value to @array, and its index to @h. Return: 0 or -ENOMEM. */
#define hashes_push(h, hash, array, value) \
	(array_reserve((array), (array)->nr + 1) ?: \
	 hashes__add((h), (hash), (array)->nr) ?: array_push((array), value))

/*
 * Finds an element, or adds @value if no element meets @condition. Sets @i to the element's index.
 * Return: 0 or -ENOMEM.
 */
#define hashes_get(h, hash, array, i, condition, value) \
	(hashes_find((h), (hash), (i), (condition)) ? 0 : \
	 ((i) = (array)->nr, hashes_push((h), (hash), (array), (value))))

/* Adds an element. Return: 0 or -ENOMEM. */
int hashes__add(struct hashes *h, uint32_t hash, uint32_t index);
void hashes__free(struct hashes *h);

/* ---- messages ------------------------------------------------------------------------------- */

/*
 * Lines for the user, stored until they are printed: merging never writes to stderr itself, because
 * it also runs inside a fuzzer. Only the first MSGS_MAX lines are stored; the other lines are
 * counted.
 */
#define MSGS_MAX	64

struct msgs {
	ARRAY(char *) lines;
	uint64_t nr_dropped;
};

void msgs__add(struct msgs *m, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Return: -EINVAL. */
#define msgs__refuse(...)	(msgs__add(__VA_ARGS__), -EINVAL)
/* Moves the lines of @from to the end of @m. */
void msgs__move(struct msgs *m, struct msgs *from);
void msgs__free(struct msgs *m);

#endif /* LIB_UTIL_H */
