// SPDX-License-Identifier: MIT
#include "util.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#define HUGE_BYTES	(2ul << 20)

bool has_suffix(const char *s, const char *suffix)
{
	size_t n = strlen(s), m = strlen(suffix);

	return n > m && !strcmp(s + n - m, suffix);
}

/* ---- memory --------------------------------------------------------------------------------- */

void *huge__alloc(size_t bytes)
{
	size_t padded = (bytes + HUGE_BYTES - 1) & ~(HUGE_BYTES - 1);
	void *p;

	if (bytes < HUGE_BYTES || padded < bytes)
		return malloc(bytes);
	p = aligned_alloc(HUGE_BYTES, padded);
	if (p)
		madvise(p, padded, MADV_HUGEPAGE);
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
	if (want < 16)
		want = 16;
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
			 * A large allocation gets a chunk of its own behind the one being filled.
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
	const char *s;			/* NULL: free */
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

/* Return: the slot that has the string, or the free slot where it belongs. */
static struct strpool_slot *strpool__slot(const struct strpool *p, const char *s, uint32_t len,
					  uint32_t hash)
{
	size_t i;

	for (i = hash;; i++) {
		struct strpool_slot *slot = &p->slots[i & (p->nr_slots - 1)];

		if (!slot->s ||
		    (slot->hash == hash && slot->len == len && !memcmp(slot->s, s, len)))
			return slot;
	}
}

static int strpool__grow(struct strpool *p)
{
	struct strpool old = *p;
	size_t i, k;

	p->nr_slots = old.nr_slots ? old.nr_slots * 2 : 64;
	p->slots = huge__zalloc(p->nr_slots, sizeof(*p->slots));
	if (!p->slots) {
		*p = old;
		return -ENOMEM;
	}
	for (i = 0; i < old.nr_slots; i++) {
		if (!old.slots[i].s)
			continue;
		/* All strings in the pool differ, so none need be compared. */
		for (k = old.slots[i].hash; p->slots[k & (p->nr_slots - 1)].s; k++)
			;
		p->slots[k & (p->nr_slots - 1)] = old.slots[i];
	}
	free(old.slots);
	return 0;
}

const char *strpool__intern(struct strpool *p, const char *s, size_t len)
{
	uint32_t hash = string__hash(s, len);
	struct strpool_slot *slot;
	uint32_t id = p->nr;
	char *copy;

	if (len > INT32_MAX || (p->nr >= p->nr_slots / 2 && strpool__grow(p)))
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
	size_t i = idmap__hash(m, key);

	while (m->slots[i & (m->nr_slots - 1)].used)
		i++;
	m->slots[i & (m->nr_slots - 1)] = (struct idmap_slot){ key, value, 1 };
}

int idmap__put(struct idmap *m, uint64_t key, uint32_t value)
{
	struct idmap old = *m;
	size_t i;

	if (m->nr >= m->nr_slots / 2) {
		m->nr_slots = old.nr_slots ? old.nr_slots * 2 : 16;
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

/* ---- hash index ----------------------------------------------------------------------------- */

static void hashes__insert(struct hashes *h, struct hashes_slot new)
{
	size_t i = new.hash;

	while (h->slots[i & (h->nr_slots - 1)].index != NO_INDEX)
		i++;
	h->slots[i & (h->nr_slots - 1)] = new;
}

static int hashes__grow(struct hashes *h)
{
	struct hashes old = *h;
	size_t i;

	h->nr_slots = old.nr_slots ? old.nr_slots * 2 : 64;
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
	int err = h->nr < h->nr_slots / 2 ? 0 : hashes__grow(h);

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

void msgs__free(struct msgs *m)
{
	size_t i;

	for (i = 0; i < m->lines.nr; i++)
		free(m->lines.v[i]);
	array_free(&m->lines);
	m->nr_dropped = 0;
}
