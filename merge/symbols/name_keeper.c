// SPDX-License-Identifier: GPL-3.0-or-later
#include "symbols/name_keeper.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "now.h"
#include "symbols/copied_stacks.h"
#include "varint.h"

#define RECORD_BYTES	(256u << 10)	/* a record ends after this many bytes */
#define FLUSH_NS	100000000ull	/* time between two writes, while names are looked up */

/* Key of a kept place, so that no place is kept twice. */
struct kept_key {
	UT_hash_handle hh;
	struct kept_place_key {
		const struct dso_key *key;
		uint64_t offset;
	} place;
};

void name_keeper__exit(struct name_keeper *k)
{
	struct kept_key *e, *next;
	size_t i;

	HASH_ITER(hh, k->known, e, next) {
		HASH_DEL(k->known, e);
		free(e);
	}
	for (i = 0; i < k->generated.nr; i++)
		free((void *)k->generated.v[i]);
	array_free(&k->generated);
	recorded_names__exit(&k->stacks);
	array_free(&k->places);
	array_free(&k->lines);
	array_free(&k->data);
}

/* Return: 1 if the place is new, 0 if it was kept before, or -ENOMEM. */
static int name_keeper__meet(struct name_keeper *k, const struct dso_key *key, uint64_t offset)
{
	const struct kept_place_key place = { key, offset };
	struct kept_key *e;

	HASH_FIND(hh, k->known, &place, sizeof(place), e);
	if (e)
		return 0;
	return HASH_NEW(k->known, place, place) ? 1 : -ENOMEM;
}

int name_keeper__add(struct name_keeper *k, struct dso *dso, const struct recorded_place *place,
		     bool pending)
{
	struct kept_place kept = { dso->key, dso, *place, pending };
	int err = name_keeper__meet(k, dso->key, place->offset);

	kept.place.has_lines = !pending;
	return err > 0 ? array_push(&k->places, kept) : err;
}

int name_keeper__add_generated(struct name_keeper *k, uint32_t pid, uint64_t time_ns,
			       uint64_t addr, const char *name)
{
	struct kept_place kept = {
		.place = { .offset = addr, .vaddr = addr, .name = name, .has_lines = true },
	};
	struct dso_key *key;
	size_t i;
	int err;

	for (i = 0; i < k->generated.nr; i++)
		if (k->generated.v[i]->dev_major == pid && k->generated.v[i]->ino == time_ns)
			break;
	if (i == k->generated.nr) {
		key = calloc(1, sizeof(*key));
		if (!key)
			return -ENOMEM;
		*key = dso_key__generated(pid, time_ns);
		err = array_push(&k->generated, key);
		if (err) {
			free(key);
			return err;
		}
	}
	kept.key = k->generated.v[i];
	err = name_keeper__meet(k, kept.key, addr);
	return err > 0 ? array_push(&k->places, kept) : err;
}

int name_keeper__add_stack(struct name_keeper *k, const struct xpu_record_stack *rec,
			   const uint64_t *frames, uint16_t nr, uint16_t flags)
{
	struct recorded_stack s = {
		.thread_id = rec->thread_id, .time_ns = rec->time_ns, .flags = flags, .nr = nr,
		.first = k->stacks.words.nr,
	};
	size_t nr_stacks = k->stacks.stacks.nr;
	const struct recorded_stack *last = nr_stacks ? &k->stacks.stacks.v[nr_stacks - 1] : NULL;

	/* A thread often has the same stack several times in a row. */
	if (last && last->nr == nr &&
	    !memcmp(k->stacks.words.v + last->first, frames, nr * sizeof(*frames))) {
		s.first = last->first;
		return array_push(&k->stacks.stacks, s);
	}
	if (k->stacks.words.nr + nr > RECORDED_WORDS_MAX) {
		k->nr_cut++;
		return 0;
	}
	if (array_reserve(&k->stacks.words, k->stacks.words.nr + nr))
		return -ENOMEM;
	memcpy(k->stacks.words.v + k->stacks.words.nr, frames, nr * sizeof(*frames));
	k->stacks.words.nr += nr;
	return array_push(&k->stacks.stacks, s);
}

/* ---- source lines ---------------------------------------------------------------------------- */

static int dso_key__cmp(const struct dso_key *a, const struct dso_key *b)
{
	size_t na = dso_key__bytes(a), nb = dso_key__bytes(b);

	return a == b ? 0 : cmp3(na, nb) ?: memcmp(a, b, na);
}

/* Sorts by file, so that each file is opened once, and then by address. */
static int compare_places(const void *a, const void *b, void *ctx)
{
	const struct kept_place *p = a, *q = b;

	(void)ctx;
	return dso_key__cmp(p->key, q->key) ?: cmp3(p->place.offset, q->place.offset);
}

/* Puts places that are not pending before the others. */
static int compare_pending(const void *a, const void *b, void *ctx)
{
	const struct kept_place *p = a, *q = b;

	return cmp3(p->pending, q->pending) ?: compare_places(a, b, ctx);
}

static int name_keeper__lines(struct name_keeper *k, struct srclines *s, struct kept_place *p)
{
	struct srcline lines[SRCLINE_MAX];
	int nr = srclines__find(s, p->dso, p->place.vaddr, lines), i, err = 0;

	p->pending = false;
	/* If the lines could not be read, leave has_lines unset. */
	if (!nr && p->dso->no_lines)
		return 0;
	p->place.has_lines = true;
	p->place.first_line = k->lines.nr;
	p->place.nr_lines = nr;
	for (i = 0; i < nr && !err; i++)
		err = array_push(&k->lines, ((struct recorded_line){
			lines[i].function, lines[i].file, lines[i].line }));
	return err;
}

int name_keeper__look_up_lines(struct name_keeper *k, struct srclines *s)
{
	size_t i;
	int err = name_keeper__flush_if_due(k);

	array__sort(k->places.v, k->places.nr, sizeof(k->places.v[0]), compare_places, NULL);
	for (i = 0; i < k->places.nr && !err && !name_keeper__is_over(k); i++)
		if (k->places.v[i].pending)
			err = name_keeper__lines(k, s, &k->places.v[i]);
	for (; i < k->places.nr; i++)
		k->nr_left += k->places.v[i].pending;
	return err;
}

/* ---- records --------------------------------------------------------------------------------- */

/* A record while it is made, in k->data. */
struct names_writer {
	struct name_keeper *k;
	struct idmap texts;		/* maps a string of the pool to the number of its text */
	uint32_t nr_texts;
	uint64_t offset, bias;
	uint32_t nr;
};

/* Return: where to write the next @bytes bytes; NULL if memory is short. */
static uint8_t *name_keeper__room(struct name_keeper *k, size_t bytes)
{
	return array_reserve(&k->data, k->data.nr + bytes) ? NULL : k->data.v + k->data.nr;
}

static int name_keeper__put(struct name_keeper *k, uint64_t n)
{
	uint8_t *at = name_keeper__room(k, VARINT_MAX);

	if (at)
		k->data.nr = varint__put(at, n) - k->data.v;
	return at ? 0 : -ENOMEM;
}

static int name_keeper__put_signed(struct name_keeper *k, uint64_t n)
{
	uint8_t *at = name_keeper__room(k, VARINT_MAX);

	if (at)
		k->data.nr = varint__put_signed(at, n) - k->data.v;
	return at ? 0 : -ENOMEM;
}

/* Writes the number of a text. The strings are interned, so equal strings have equal pointers. */
static int names_writer__text(struct names_writer *w, const char *text)
{
	size_t bytes = text ? strlen(text) + 1 : 0;
	uint32_t id;
	uint8_t *at;
	int err;

	if (bytes <= 1)
		return name_keeper__put(w->k, 0);
	if (idmap__get(&w->texts, (uintptr_t)text, &id))
		return name_keeper__put(w->k, id);
	err = idmap__put(&w->texts, (uintptr_t)text, ++w->nr_texts) ?:
	      name_keeper__put(w->k, w->nr_texts);
	at = err ? NULL : name_keeper__room(w->k, bytes);
	if (!at)
		return -ENOMEM;
	memcpy(at, text, bytes);
	w->k->data.nr += bytes;
	return 0;
}

static int names_writer__place(struct names_writer *w, const struct recorded_place *p)
{
	uint64_t bias = p->vaddr - p->offset;
	struct name_keeper *k = w->k;
	const struct recorded_line *line;
	uint32_t i;
	int err;

	err = name_keeper__put(k, p->offset - w->offset) ?:
	      name_keeper__put_signed(k, bias - w->bias) ?: names_writer__text(w, p->name);
	if (!err && !(p->name && *p->name))
		err = name_keeper__put(k, p->vaddr - p->function);
	err = err ?: name_keeper__put(k, p->has_lines ? 1 + p->nr_lines : 0);
	for (i = 0; i < p->nr_lines && !err; i++) {
		line = &k->lines.v[p->first_line + i];
		err = names_writer__text(w, line->function) ?:
		      names_writer__text(w, line->file) ?: name_keeper__put(k, line->line);
	}
	w->offset = p->offset;
	w->bias = bias;
	w->nr++;
	return err;
}

/*
 * Pads the record in k->data and writes it, unless it exceeds a limit. @nr: number of its places or
 * stacks
 */
static int name_keeper__write(struct name_keeper *k, uint32_t nr)
{
	size_t size = (k->data.nr + 7) & ~(size_t)7;
	struct xpu_record *rec;
	uint8_t *at = name_keeper__room(k, 8);

	if (!at)
		return -ENOMEM;
	memset(at, 0, size - k->data.nr);
	rec = (void *)k->data.v;
	rec->size = size;
	k->nr_places += nr;
	if (k->bytes + size > RECORDED_NAMES_MAX || size > XPU_BLOCK_MAX) {
		k->nr_cut += nr;
		return 0;
	}
	k->bytes += size;
	k->err = k->write(k->ctx, rec);
	return k->err;
}

/*
 * Writes a record of the place with index *@i and the next places of the same file. @nr: the index
 * to stop at. Sets *@i to the index of the first place that is not in the record.
 */
static int name_keeper__write_names(struct name_keeper *k, size_t *i, size_t nr)
{
	const struct dso_key *key = k->places.v[*i].key;
	struct names_writer w = { .k = k };
	struct xpu_record_names *rec;
	size_t fixed = sizeof(*rec) + key->path_bytes + 1;
	int err = 0;

	k->data.nr = 0;
	if (array_reserve(&k->data, fixed))
		return -ENOMEM;
	rec = (void *)k->data.v;
	*rec = (struct xpu_record_names){
		.hdr = { XPU_RECORD_NAMES, key->misc, 0 }, .ino = key->ino,
		.dev_major = key->dev_major, .dev_minor = key->dev_minor,
		.path_bytes = key->path_bytes + 1, .build_id_len = key->build_id_len,
	};
	memcpy(rec->build_id, key->build_id, sizeof(rec->build_id));
	memcpy(rec->data, key->path, key->path_bytes);
	rec->data[key->path_bytes] = 0;
	k->data.nr = fixed;
	for (; *i < nr && !err && k->places.v[*i].key == key &&
	     k->data.nr < RECORD_BYTES; (*i)++)
		err = names_writer__place(&w, &k->places.v[*i].place);
	idmap__free(&w.texts);
	if (err)
		return err;
	rec = (void *)k->data.v;
	rec->nr = w.nr;
	rec->bytes = k->data.nr - fixed;
	return name_keeper__write(k, w.nr);
}

/* Writes the words of a chain as a difference from @last, the previous new chain. */
static int name_keeper__put_chain(struct name_keeper *k, const struct recorded_stack *s,
				  const struct recorded_stack *last)
{
	const uint64_t *v = k->stacks.words.v + s->first;
	const uint64_t *w = last ? k->stacks.words.v + last->first : NULL;
	uint32_t shared = 0, i;
	uint64_t word = 0;
	int err;

	while (last && shared < s->nr && shared < last->nr &&
	       v[s->nr - 1 - shared] == w[last->nr - 1 - shared])
		shared++;
	err = name_keeper__put(k, shared) ?: name_keeper__put(k, s->nr - shared);
	if (shared)
		word = v[s->nr - shared];
	for (i = s->nr - shared; i-- && !err;) {
		err = name_keeper__put_signed(k, v[i] - word);
		word = v[i];
	}
	return err;
}

/* An entry of the hash table of a record's chains; the key is the words of the chain. */
struct chain_entry {
	UT_hash_handle hh;
	uint32_t number;
};

/* Return: the number of the chain of @s; 0 if it is new and now has a number; or -ENOMEM. */
static int64_t chains__number(struct chain_entry **chains, uint32_t *nr,
			      const struct name_keeper *k, const struct recorded_stack *s)
{
	const uint64_t *v = k->stacks.words.v + s->first;
	struct chain_entry *e;
	bool oom = false;

	HASH_FIND(hh, *chains, v, s->nr * sizeof(*v), e);
	if (e)
		return e->number;
	e = calloc(1, sizeof(*e));
	if (!e)
		return -ENOMEM;
	e->number = ++*nr;
	HASH_ADD_KEYPTR(hh, *chains, v, s->nr * sizeof(*v), e);
	if (!oom)
		return 0;
	free(e);
	return -ENOMEM;
}

/* Writes a record of stacks. Sets *@i to the index of the first stack that is not in the record. */
static int name_keeper__write_stacks(struct name_keeper *k, size_t *i)
{
	struct chain_entry *chains = NULL, *e, *next;
	const struct recorded_stack *s, *last = NULL;
	struct xpu_record_unwound *rec;
	uint64_t thread = 0, time_ns = 0;
	uint32_t nr = 0, nr_chains = 0;
	int64_t number;
	int err = 0;

	k->data.nr = 0;
	if (array_reserve(&k->data, sizeof(*rec)))
		return -ENOMEM;
	k->data.nr = sizeof(*rec);
	for (; *i < k->stacks.stacks.nr && !err && k->data.nr < RECORD_BYTES; (*i)++, nr++) {
		s = &k->stacks.stacks.v[*i];
		number = chains__number(&chains, &nr_chains, k, s);
		if (number < 0) {
			err = number;
			break;
		}
		err = name_keeper__put_signed(k, s->thread_id - thread) ?:
		      name_keeper__put_signed(k, s->time_ns - time_ns) ?:
		      name_keeper__put(k, s->flags) ?: name_keeper__put(k, number ?: nr_chains);
		if (!err && !number) {
			err = name_keeper__put_chain(k, s, last);
			last = s;
		}
		thread = s->thread_id;
		time_ns = s->time_ns;
	}
	HASH_ITER(hh, chains, e, next) {
		HASH_DEL(chains, e);
		free(e);
	}
	if (err)
		return err;
	rec = (void *)k->data.v;
	*rec = (struct xpu_record_unwound){
		.hdr = { XPU_RECORD_UNWOUND, 0, 0 }, .nr = nr, .bytes = k->data.nr - sizeof(*rec),
	};
	return name_keeper__write(k, nr);
}

/* Writes the first @nr places, and all stacks. Return: 0 or a negative errno. */
static int name_keeper__flush_places(struct name_keeper *k, size_t nr)
{
	size_t i;
	int err = k->err;

	for (i = 0; i < nr && !err;)
		err = name_keeper__write_names(k, &i, nr);
	if (nr)
		memmove(k->places.v, k->places.v + nr,
			(k->places.nr - nr) * sizeof(k->places.v[0]));
	k->places.nr -= nr;
	for (i = 0; i < k->stacks.stacks.nr && !err;)
		err = name_keeper__write_stacks(k, &i);
	k->stacks.stacks.nr = k->stacks.words.nr = 0;
	if (!err)
		k->err = err = k->write(k->ctx, NULL);
	k->flushed_ns = now_ns(CLOCK_MONOTONIC);
	return err;
}

int name_keeper__flush(struct name_keeper *k)
{
	array__sort(k->places.v, k->places.nr, sizeof(k->places.v[0]), compare_places, NULL);
	return name_keeper__flush_places(k, k->places.nr);
}

int name_keeper__flush_if_due(struct name_keeper *k)
{
	if (now_ns(CLOCK_MONOTONIC) - k->flushed_ns < FLUSH_NS)
		return 0;
	array__sort(k->places.v, k->places.nr, sizeof(k->places.v[0]), compare_pending, NULL);
	return name_keeper__flush_places(k, sorted_count(k->places.nr, i, !k->places.v[i].pending));
}
