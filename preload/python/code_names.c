// SPDX-License-Identifier: MIT
#include "python/code_names.h"

#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>

#include "wire/wire.h"
#include "xpu_utf8.h"

#define MAX_STRING	(64 * 1024)	/* longest name in bytes; records have room for less */
#define MAX_KEPT	(64u << 20)	/* maximum number of bytes of all names and line tables in
					 * this process */
#define CHUNK_BYTES	(1u << 20)
#define BUCKETS		4096		/* a power of two */

struct chunk {
	atomic_size_t used;
	uint8_t data[CHUNK_BYTES - sizeof(size_t)];
};

static struct chunk *_Atomic chunk;
static atomic_size_t nr_kept_bytes;
static struct known *_Atomic buckets[BUCKETS];
static struct known *_Atomic unsent;
static atomic_uint last_id;

static void *keep__alloc(size_t bytes)
{
	struct chunk *c, *fresh;
	void *large;
	size_t used;

	bytes = (bytes + 15) & ~15ul;
	if (atomic_fetch_add(&nr_kept_bytes, bytes) + bytes > MAX_KEPT)
		goto give_back;		/* a smaller block may still fit into the chunk */
	if (bytes > sizeof(c->data) / 4) {
		large = memory__map(bytes);
		if (!large)
			goto give_back;
		return large;
	}
	for (;;) {
		c = atomic_load(&chunk);
		if (c) {
			used = atomic_fetch_add(&c->used, bytes);
			if (used + bytes <= sizeof(c->data))
				return c->data + used;
		}
		fresh = memory__map(sizeof(*fresh));
		if (!fresh)
			goto give_back;
		if (!atomic_compare_exchange_strong(&chunk, &c, fresh))
			munmap(fresh, sizeof(*fresh));
	}
give_back:
	atomic_fetch_sub(&nr_kept_bytes, bytes);
	return NULL;
}

static const void *keep__copy(const void *data, size_t bytes)
{
	void *copy = keep__alloc(bytes ? bytes : 1);

	return copy ? memcpy(copy, data, bytes) : NULL;
}

static uint64_t mix(uint64_t hash, const uint8_t *data, size_t bytes)
{
	uint64_t word;

	for (; bytes; data += bytes < 8 ? bytes : 8, bytes -= bytes < 8 ? bytes : 8) {
		word = 0;
		memcpy(&word, data, bytes < 8 ? bytes : 8);
		hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
		hash ^= hash >> 32;
	}
	return hash;
}

/* ---- strings --------------------------------------------------------------------------------- */

static const struct text no_text = { .utf8 = "?" };

struct text text__read(uint64_t str)
{
	struct text t;
	uint32_t state;
	uint64_t data;

	if (!readable(str, L.compact_bytes) || load64(str + OB_TYPE) != py.unicode_type)
		return no_text;
	state = load32(str + STR_STATE);
	t.length = load64(str + STR_LENGTH);
	t.hash = load64(str + STR_HASH);
	t.shape = state & STATE_SHAPE;
	t.utf8 = NULL;
	data = str + (state & STATE_ASCII ? L.ascii_bytes : L.compact_bytes);
	if (!(state & STATE_COMPACT) || t.length > MAX_STRING / 4 ||
	    (STATE_KIND(state) != 1 && STATE_KIND(state) != 2 && STATE_KIND(state) != 4))
		return no_text;
	t.bytes = t.length * STATE_KIND(state);
	t.raw = (const uint8_t *)(uintptr_t)data;
	return readable(data, t.bytes) ? t : no_text;
}

static uint32_t text__char(const struct text *t, size_t i)
{
	uint16_t c2;
	uint32_t c4;

	switch (STATE_KIND(t->shape)) {
	case 1:
		return t->raw[i];
	case 2:
		memcpy(&c2, t->raw + 2 * i, sizeof(c2));
		return c2;
	default:
		memcpy(&c4, t->raw + 4 * i, sizeof(c4));
		return c4;
	}
}

/* Copies the string of @t, so that it stays valid. Return: whether there was enough memory. */
static bool text__keep(struct text *t)
{
	char *utf8, *to;
	size_t i;

	if (!t->raw)
		return true;
	t->raw = keep__copy(t->raw, t->bytes);
	utf8 = keep__alloc(t->length * 4 + 1);
	if (!t->raw || !utf8)
		return false;
	for (i = 0, to = utf8; i < t->length; i++)
		to = utf8__put_python(to, text__char(t, i));
	*to = '\0';
	t->utf8 = utf8;
	return true;
}

static bool text__equal(const struct text *a, const struct text *b)
{
	if (!a->raw || !b->raw)
		return a->raw == b->raw;
	return a->length == b->length && a->shape == b->shape && !memcmp(a->raw, b->raw, a->bytes);
}

/* ---- code objects ---------------------------------------------------------------------------- */

/*
 * Return: the known object that equals @want, or NULL. All members are compared, so two different
 * code objects are very unlikely to count as equal.
 */
static struct known *known__find(struct known *from, const struct known *want)
{
	for (; from; from = from->next)
		if (from->hash == want->hash && from->first_line == want->first_line &&
		    from->table_bytes == want->table_bytes &&
		    text__equal(&from->name, &want->name) &&
		    text__equal(&from->filename, &want->filename) &&
		    (!want->table || !memcmp(from->table, want->table, want->table_bytes)))
			return from;
	return NULL;
}

const struct known *known__intern(struct known *want)
{
	struct known *_Atomic *bucket;
	struct known *first, *k;
	uint64_t hash = want->first_line;

	hash = mix(hash, want->name.raw, want->name.raw ? want->name.bytes : 0);
	hash = mix(hash, want->filename.raw, want->filename.raw ? want->filename.bytes : 0);
	hash = mix(hash, want->table, want->table_bytes);
	want->hash = hash;
	bucket = &buckets[hash % BUCKETS];
	first = atomic_load(bucket);
	k = known__find(first, want);
	if (k)
		return k;

	k = keep__alloc(sizeof(*k));
	if (!k)
		return NULL;
	*k = *want;
	if (!text__keep(&k->name) || !text__keep(&k->filename))
		return NULL;
	if (k->table) {
		k->table = keep__copy(k->table, k->table_bytes);
		if (!k->table)
			return NULL;
	}
	k->id = atomic_fetch_add(&last_id, 1) + 1;
	do {
		struct known *other = known__find(first, want);

		if (other)
			return other;		/* another thread added the object meanwhile */
		k->next = first;
	} while (!atomic_compare_exchange_weak(bucket, &first, k));
	k->next_unsent = atomic_load(&unsent);
	while (!atomic_compare_exchange_weak(&unsent, &k->next_unsent, k))
		;
	return k;
}

bool known__drain(void)
{
	struct known *k, *next, *oldest = NULL, *all = atomic_exchange(&unsent, NULL);

	for (k = all; k; k = next) {
		next = k->next_unsent;
		k->next_unsent = oldest;
		oldest = k;
	}
	for (k = oldest; k; k = k->next_unsent)
		wire__pycode(k->id, k->name.utf8, k->filename.utf8, k->first_line);
	return all != NULL;
}
