// SPDX-License-Identifier: MIT
#include "util.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#define HUGE_BYTES	(2ul << 20)
#define ARRAY_FIRST_BYTES	24	/* malloc() takes 32 bytes for them */

bool has_suffix(const char *s, const char *suffix)
{
	size_t n = strlen(s), m = strlen(suffix);

	return n > m && !strcmp(s + n - m, suffix);
}

/* ---- memory --------------------------------------------------------------------------------- */

void *huge__alloc(size_t bytes)
{
	void *p;

	if (bytes < HUGE_BYTES)
		return malloc(bytes);
	if (posix_memalign(&p, HUGE_BYTES, bytes))
		return NULL;
	madvise(p, bytes & ~(HUGE_BYTES - 1), MADV_HUGEPAGE);	/* the remaining bytes have small
								 * pages */
	return p;
}

void *huge__zalloc(size_t nr, size_t elem_bytes)
{
	size_t bytes;
	void *p;

	if (__builtin_mul_overflow(nr, elem_bytes, &bytes) || bytes < HUGE_BYTES)
		return calloc(nr, elem_bytes);
	p = huge__alloc(bytes);
	return p ? memset(p, 0, bytes) : NULL;
}

/* ---- arrays --------------------------------------------------------------------------------- */

int array__reserve(void *v, size_t *cap, size_t need, size_t elem_bytes)
{
	size_t want = *cap + *cap / 2, bytes;
	void **array = v, *grown;

	if (want < need)
		want = need;
	/* Start small: each of many processes may have several arrays of a few elements. */
	if (want < ARRAY_FIRST_BYTES / elem_bytes)
		want = ARRAY_FIRST_BYTES / elem_bytes;
	if (__builtin_mul_overflow(want, elem_bytes, &bytes))
		return -ENOMEM;
	grown = realloc(*array, bytes);
	if (!grown)
		return -ENOMEM;
	*array = grown;
	*cap = want;
	return 0;
}

void array__shrink(void *v, size_t *cap, size_t nr, size_t elem_bytes)
{
	void **array = v, *less = nr ? realloc(*array, nr * elem_bytes) : NULL;

	if (!less)
		return;
	*array = less;
	*cap = nr;
}

void array__sort(void *v, size_t nr, size_t elem_bytes,
		 int (*compare)(const void *a, const void *b, void *ctx), void *ctx)
{
	const char *p = v;
	size_t i;

	for (i = 1; i < nr; i++, p += elem_bytes)
		if (compare(p, p + elem_bytes, ctx) > 0)
			break;
	if (i < nr)
		qsort_r(v, nr, elem_bytes, compare, ctx);
}

/* ---- arena ---------------------------------------------------------------------------------- */

#define ARENA_CHUNK	(64 * 1024 - 64)

struct arena_chunk {
	struct arena_chunk *next;
	size_t bytes;
	uint64_t payload[];
};

void *arena__alloc(struct arena *a, size_t size)
{
	struct arena_chunk *chunk = a->head;
	size_t bytes;
	void *p;

	if (size > SIZE_MAX / 2)
		return NULL;
	size = (size + 7) & ~(size_t)7;
	if (!chunk || size > chunk->bytes - a->used) {
		bytes = size > ARENA_CHUNK / 4 ? size : ARENA_CHUNK;
		chunk = calloc(1, sizeof(*chunk) + bytes);
		if (!chunk)
			return NULL;
		chunk->bytes = bytes;
		if (bytes == size && a->head) {
			/*
			 * A large allocation gets its own chunk, after the chunk that is being
			 * filled.
			 */
			chunk->next = a->head->next;
			a->head->next = chunk;
			return chunk->payload;
		}
		chunk->next = a->head;
		a->head = chunk;
		a->used = 0;
	}
	p = (char *)chunk->payload + a->used;
	a->used += size;
	return p;
}

void arena__free(struct arena *a)
{
	struct arena_chunk *chunk = a->head, *next;

	for (; chunk; chunk = next) {
		next = chunk->next;
		free(chunk);
	}
	a->head = NULL;
	a->used = 0;
}

/* ---- interned strings ----------------------------------------------------------------------- */

struct strpool_slot {
	const char *s;			/* NULL: the slot is free */
	uint32_t len;
	uint32_t hash;
};

static uint32_t string__hash(const char *s, size_t len)
{
	uint64_t hash = len, word;

	for (; len >= sizeof(word); s += sizeof(word), len -= sizeof(word)) {
		memcpy(&word, s, sizeof(word));
		hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
		hash ^= hash >> 32;
	}
	word = 0;
	memcpy(&word, s, len);
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
	return hash >> 32;
}

/* Return: the slot that has the string, or the free slot where the string belongs. */
static struct strpool_slot *strpool__slot(const struct strpool *p, const char *s, uint32_t len,
					  uint32_t hash)
{
	size_t i;

	for (i = slots__home(hash, p->nr_slots);; i = slots__next(i, p->nr_slots)) {
		struct strpool_slot *slot = &p->slots[i];

		if (!slot->s ||
		    (slot->hash == hash && slot->len == len && !memcmp(slot->s, s, len)))
			return slot;
	}
}

static int strpool__grow(struct strpool *p)
{
	struct strpool old = *p;
	size_t i, k;

	p->nr_slots = slots__more(old.nr_slots);
	p->slots = huge__zalloc(p->nr_slots, sizeof(*p->slots));
	if (!p->slots) {
		*p = old;
		return -ENOMEM;
	}
	for (i = 0; i < old.nr_slots; i++) {
		if (!old.slots[i].s)
			continue;
		/* All strings in the pool differ, so comparing them is not needed. */
		k = slots__home(old.slots[i].hash, p->nr_slots);
		while (p->slots[k].s)
			k = slots__next(k, p->nr_slots);
		p->slots[k] = old.slots[i];
	}
	free(old.slots);
	return 0;
}

const char *strpool__intern(struct strpool *p, const char *s, size_t len)
{
	struct strpool_slot *slot;
	uint32_t id = p->nr, hash;
	char *copy;

	s = len ? s : "";		/* @s may be NULL if @len is 0 */
	hash = string__hash(s, len);
	if (len > INT32_MAX || (slots__full(p->nr, p->nr_slots) && strpool__grow(p)))
		return NULL;
	slot = strpool__slot(p, s, len, hash);
	if (slot->s)
		return slot->s;
	copy = arena__alloc(&p->arena, sizeof(id) + len + 1);
	if (!copy)
		return NULL;
	memcpy(copy, &id, sizeof(id));
	copy += sizeof(id);
	memcpy(copy, s, len);
	*slot = (struct strpool_slot){ copy, len, hash };
	p->nr++;
	return copy;
}

bool strpool__owns(const struct strpool *p, const char *s)
{
	size_t len = strlen(s);

	return p->nr_slots && strpool__slot(p, s, len, string__hash(s, len))->s == s;
}

const char *strpool__internf(struct strpool *p, const char *fmt, ...)
{
	const char *s = NULL;
	va_list args;
	char *buf;
	int len;

	va_start(args, fmt);
	len = vasprintf(&buf, fmt, args);
	va_end(args);
	if (len < 0)
		return NULL;
	s = strpool__intern(p, buf, len);
	free(buf);
	return s;
}

void strpool__free(struct strpool *p)
{
	free(p->slots);
	arena__free(&p->arena);
	memset(p, 0, sizeof(*p));
}

/* ---- id map --------------------------------------------------------------------------------- */

static void idmap__insert(struct idmap *m, uint64_t key, uint32_t value)
{
	size_t i = idmap__home(m, key);

	while (m->slots[i].used)
		i = slots__next(i, m->nr_slots);
	m->slots[i] = (struct idmap_slot){ key, value, 1 };
}

int idmap__put(struct idmap *m, uint64_t key, uint32_t value)
{
	struct idmap old = *m;
	size_t i;

	if (slots__full(m->nr, m->nr_slots)) {
		m->nr_slots = slots__more(old.nr_slots);
		m->secret = secret();
		m->slots = huge__zalloc(m->nr_slots, sizeof(*m->slots));
		if (!m->slots) {
			*m = old;
			return -ENOMEM;
		}
		for (i = 0; i < old.nr_slots; i++)
			if (old.slots[i].used)
				idmap__insert(m, old.slots[i].key, old.slots[i].value);
		free(old.slots);
	}
	idmap__insert(m, key, value);
	m->nr++;
	return 0;
}

uint32_t *idmap__find(const struct idmap *m, uint64_t key)
{
	size_t i;

	if (!m->nr_slots)
		return NULL;
	for (i = idmap__home(m, key); m->slots[i].used; i = slots__next(i, m->nr_slots))
		if (m->slots[i].key == key)
			return &m->slots[i].value;
	return NULL;
}

int idmap__add(struct idmap *m, uint64_t key, uint32_t value)
{
	uint32_t known;

	if (idmap__get(m, key, &known))
		return 0;
	return idmap__put(m, key, value) ?: 1;
}

void idmap__free(struct idmap *m)
{
	free(m->slots);
	memset(m, 0, sizeof(*m));
}

/* ---- ids that each process numbers from 1 ---------------------------------------------------- */

/*
 * A list may skip this many ids: threads that define things at the same time send their definitions
 * in any order.
 */
#define IDS_GAP		16

int ids__add(struct ids *ids, uint32_t proc, uint32_t id, uint32_t index)
{
	static const struct ids_list none;
	struct ids_list *list;
	uint32_t known;
	int err = 0;

	if (ids__get(ids, proc, id, &known))
		return 0;
	while (!err && ids->lists.nr <= proc)
		err = array_push(&ids->lists, none);
	if (err)
		return err;
	list = &ids->lists.v[proc];
	if (id > list->nr + IDS_GAP)
		return idmap__add(&ids->rest, ID_KEY(proc, id), index);
	while (!err && list->nr < id)
		err = array_push(list, NO_INDEX);
	if (err)
		return err;
	list->v[id - 1] = index;
	return 1;
}

void ids__free(struct ids *ids)
{
	size_t i;

	for (i = 0; i < ids->lists.nr; i++)
		array_free(&ids->lists.v[i]);
	array_free(&ids->lists);
	idmap__free(&ids->rest);
}

/* ---- hash index ----------------------------------------------------------------------------- */

static void hashes__insert(struct hashes *h, struct hashes_slot new)
{
	size_t i = slots__home(new.hash, h->nr_slots);

	while (h->slots[i].index != NO_INDEX)
		i = slots__next(i, h->nr_slots);
	h->slots[i] = new;
}

static int hashes__grow(struct hashes *h)
{
	struct hashes old = *h;
	size_t i;

	h->nr_slots = slots__more(old.nr_slots);
	h->slots = huge__alloc(h->nr_slots * sizeof(*h->slots));
	if (!h->slots) {
		*h = old;
		return -ENOMEM;
	}
	memset(h->slots, 0xff, h->nr_slots * sizeof(*h->slots));
	for (i = 0; i < old.nr_slots; i++)
		if (old.slots[i].index != NO_INDEX)
			hashes__insert(h, old.slots[i]);
	free(old.slots);
	return 0;
}

int hashes__add(struct hashes *h, uint32_t hash, uint32_t index)
{
	int err = slots__full(h->nr, h->nr_slots) ? hashes__grow(h) : 0;

	if (err)
		return err;
	hashes__insert(h, (struct hashes_slot){ hash, index });
	h->nr++;
	return 0;
}

void hashes__free(struct hashes *h)
{
	free(h->slots);
	memset(h, 0, sizeof(*h));
}

uint64_t secret(void)
{
	const void *random = (const void *)getauxval(AT_RANDOM);
	uint64_t value = 0;

	if (random)
		memcpy(&value, random, sizeof(value));
	return value;
}

/* ---- messages ------------------------------------------------------------------------------- */

void msgs__add(struct msgs *m, const char *fmt, ...)
{
	char *line = NULL;
	va_list args;
	int len;

	if (m->lines.nr < MSGS_MAX) {
		va_start(args, fmt);
		len = vasprintf(&line, fmt, args);
		va_end(args);
		if (len >= 0 && !array_push(&m->lines, line))
			return;
		if (len >= 0)
			free(line);
	}
	m->nr_dropped++;
}

void msgs__move(struct msgs *m, struct msgs *from)
{
	size_t i;

	m->nr_dropped += from->nr_dropped;
	for (i = 0; i < from->lines.nr; i++) {
		if (m->lines.nr < MSGS_MAX && !array_push(&m->lines, from->lines.v[i]))
			continue;
		free(from->lines.v[i]);
		m->nr_dropped++;
	}
	array_free(&from->lines);
	from->nr_dropped = 0;
}

void msgs__free(struct msgs *m)
{
	size_t i;

	for (i = 0; i < m->lines.nr; i++)
		free(m->lines.v[i]);
	array_free(&m->lines);
	m->nr_dropped = 0;
}
