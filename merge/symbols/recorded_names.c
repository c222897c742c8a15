// SPDX-License-Identifier: GPL-3.0-or-later
#include "symbols/recorded_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "symbols/copied_stacks.h"
#include "symbols/srcline.h"
#include "varint.h"

struct recorded_file {
	UT_hash_handle hh;
	ARRAY(struct recorded_place) places;
	char key[];
};

/* The data of a record that are not read yet. */
struct names_data {
	const uint8_t *at, *end;
	ARRAY(const char *) texts;
	int err;
};

void recorded_names__exit(struct recorded_names *n)
{
	struct recorded_file *f, *next;

	HASH_ITER(hh, n->files, f, next) {
		HASH_DEL(n->files, f);
		array_free(&f->places);
		free(f);
	}
	array_free(&n->lines);
	array_free(&n->stacks);
	array_free(&n->words);
}

/* Return: whether the record is within the limit. */
static bool recorded_names__admit(struct recorded_names *n, const struct xpu_record *rec)
{
	if (n->bytes + rec->size > RECORDED_NAMES_MAX) {
		n->nr_beyond++;
		return false;
	}
	n->bytes += rec->size;
	return true;
}

/* Return: the file with @key, which is added if it is missing; NULL if memory is short. */
static struct recorded_file *recorded_names__file(struct recorded_names *n,
						  const struct dso_key *key, size_t bytes)
{
	struct recorded_file *f;
	bool oom = false;

	HASH_FIND(hh, n->files, key, bytes, f);
	if (f)
		return f;
	f = calloc(1, sizeof(*f) + bytes);
	if (!f)
		return NULL;
	memcpy(f->key, key, bytes);
	HASH_ADD_KEYPTR(hh, n->files, f->key, bytes, f);
	if (!oom)
		return f;
	free(f);
	return NULL;
}

/* Reads a text, or NULL for the number 0. Return: whether the number and the text are valid. */
static bool names_data__text(struct names_data *d, const char **text)
{
	const uint8_t *end;
	uint64_t id;

	*text = NULL;
	if (!varint__get(&d->at, d->end, &id) || id > d->texts.nr + 1)
		return false;
	if (id && id <= d->texts.nr)
		*text = d->texts.v[id - 1];
	if (id <= d->texts.nr)
		return true;
	end = memchr(d->at, 0, d->end - d->at);
	if (!end || end == d->at)
		return false;
	*text = (const char *)d->at;
	d->at = end + 1;
	d->err = array_push(&d->texts, *text);
	return !d->err;
}

static bool names_data__lines(struct recorded_names *n, struct names_data *d,
			      struct recorded_place *p)
{
	struct recorded_line line;
	uint64_t nr, number;

	if (!varint__get(&d->at, d->end, &nr) || nr > 1 + SRCLINE_MAX)
		return false;
	p->has_lines = nr;
	p->first_line = n->lines.nr;
	for (; nr > 1; nr--) {
		if (!names_data__text(d, &line.function) || !names_data__text(d, &line.file) ||
		    !varint__get(&d->at, d->end, &number) || number > UINT32_MAX)
			return false;
		line.line = number;
		d->err = array_push(&n->lines, line);
		if (d->err)
			return false;
		p->nr_lines++;
	}
	return true;
}

/*
 * Reads the next place into @p, which holds the previous place. @bias: the bias of the previous
 * place, replaced by the bias of the next place. Return: whether the next place is valid.
 */
static bool names_data__place(struct recorded_names *n, struct names_data *d,
			      struct recorded_place *p, uint64_t *bias)
{
	uint64_t step, change, back = 0;

	*p = (struct recorded_place){ .offset = p->offset };
	if (!varint__get(&d->at, d->end, &step) || step > UINT64_MAX - p->offset ||
	    !varint__get_signed(&d->at, d->end, &change) || !names_data__text(d, &p->name) ||
	    (!p->name && !varint__get(&d->at, d->end, &back)))
		return false;
	p->offset += step;
	*bias += change;
	p->vaddr = p->offset + *bias;
	p->function = p->vaddr - back;
	return names_data__lines(n, d, p);
}

int recorded_names__add(struct recorded_names *n, const struct xpu_record_names *rec)
{
	struct names_data d = {
		.at = (const uint8_t *)rec->data + rec->path_bytes,
		.end = (const uint8_t *)rec->data + rec->path_bytes + rec->bytes,
	};
	struct recorded_place p = { 0 };
	struct recorded_file *f;
	struct dso_key *key;
	uint64_t bias = 0;
	size_t bytes;
	uint32_t i;
	int err;

	if (!recorded_names__admit(n, &rec->hdr))
		return 0;
	key = dso_key__of_names(rec, &bytes);
	f = key ? recorded_names__file(n, key, bytes) : NULL;
	free(key);
	if (!f)
		return -ENOMEM;
	for (i = 0; i < rec->nr && !d.err; i++) {
		if (!names_data__place(n, &d, &p, &bias))
			break;
		d.err = array_push(&f->places, p);
	}
	err = d.err;
	array_free(&d.texts);
	n->nr_bad += !err && (i < rec->nr || d.at != d.end);
	return err;
}

/* ---- stacks --------------------------------------------------------------------------------- */

struct recorded_chain {
	size_t first;			/* index in the words; the words begin at the leaf */
	uint32_t nr;
};

/*
 * Reads a new chain into @chain, which holds the previous chain. Return: 0, -EBADMSG, -E2BIG or
 * -ENOMEM.
 */
static int recorded_names__chain(struct recorded_names *n, struct names_data *d,
				 struct recorded_chain *chain)
{
	const struct recorded_chain last = *chain;
	uint64_t shared, more, word = 0, step, i;

	if (!varint__get(&d->at, d->end, &shared) || !varint__get(&d->at, d->end, &more) ||
	    shared > last.nr || more > (uint64_t)(d->end - d->at) ||
	    shared + more > UNWIND_MAX_FRAMES + XPU_MAX_PYTHON)
		return -EBADMSG;
	if (n->words.nr + shared + more > RECORDED_WORDS_MAX)
		return -E2BIG;
	if (array_reserve(&n->words, n->words.nr + shared + more))
		return -ENOMEM;
	*chain = (struct recorded_chain){ n->words.nr, shared + more };
	n->words.nr += chain->nr;
	memcpy(n->words.v + chain->first + more,
	       n->words.v + last.first + last.nr - shared, shared * sizeof(n->words.v[0]));
	if (shared)
		word = n->words.v[chain->first + more];
	for (i = more; i--;) {
		if (!varint__get_signed(&d->at, d->end, &step)) {
			memset(n->words.v + chain->first, 0, (i + 1) * sizeof(n->words.v[0]));
			return -EBADMSG;
		}
		n->words.v[chain->first + i] = word += step;
	}
	return 0;
}

int recorded_names__add_stacks(struct recorded_names *n, const struct xpu_record_unwound *rec)
{
	struct names_data d = { .at = rec->data, .end = rec->data + rec->bytes };
	ARRAY(struct recorded_chain) chains = { 0 };
	struct recorded_chain last = { 0 };
	struct recorded_stack s = { 0 };
	uint64_t thread = 0, step, flags, number;
	uint32_t i;
	int err = 0;

	if (!recorded_names__admit(n, &rec->hdr))
		return 0;
	for (i = 0; i < rec->nr && !err; i++) {
		err = -EBADMSG;
		if (!varint__get_signed(&d.at, d.end, &step))
			break;
		thread += step;
		if (!varint__get_signed(&d.at, d.end, &step) ||
		    !varint__get(&d.at, d.end, &flags) || !varint__get(&d.at, d.end, &number) ||
		    thread > UINT32_MAX || flags > UINT16_MAX || !number ||
		    number > chains.nr + 1)
			break;
		s.thread_id = thread;
		s.time_ns += step;
		s.flags = flags;
		err = number > chains.nr ? recorded_names__chain(n, &d, &last) : 0;
		if (!err && number > chains.nr)
			err = array_push(&chains, last);
		if (err)
			break;
		s.first = chains.v[number - 1].first;
		s.nr = chains.v[number - 1].nr;
		err = array_push(&n->stacks, s);
	}
	array_free(&chains);
	if (err == -ENOMEM)
		return err;
	n->nr_beyond += err == -E2BIG;
	n->nr_bad += err == -EBADMSG || (!err && d.at != d.end);
	return 0;
}

/* ---- looking up ------------------------------------------------------------------------------ */

/* Of two places with the same offset, the place that has lines comes first. */
static int compare_places(const void *a, const void *b, void *ctx)
{
	const struct recorded_place *p = a, *q = b;

	(void)ctx;
	return cmp3(p->offset, q->offset) ?: cmp3(q->has_lines, p->has_lines);
}

static int compare_stacks(const void *a, const void *b, void *ctx)
{
	const struct recorded_stack *s = a, *t = b;

	(void)ctx;
	return cmp3(s->thread_id, t->thread_id) ?: cmp3(s->time_ns, t->time_ns);
}

void recorded_names__finish(struct recorded_names *n)
{
	struct recorded_file *f;

	for (f = n->files; f; f = f->hh.next)
		array__sort(f->places.v, f->places.nr, sizeof(f->places.v[0]), compare_places,
			    NULL);
	array__sort(n->stacks.v, n->stacks.nr, sizeof(n->stacks.v[0]), compare_stacks, NULL);
}

const struct recorded_place *recorded_names__find(const struct recorded_names *n,
						  const struct dso_key *key, uint64_t offset)
{
	const struct recorded_file *f;
	size_t nr;

	if (!n->files)
		return NULL;
	HASH_FIND(hh, n->files, key, dso_key__bytes(key), f);
	if (!f)
		return NULL;
	nr = sorted_count(f->places.nr, i, f->places.v[i].offset < offset);
	return nr < f->places.nr && f->places.v[nr].offset == offset ? &f->places.v[nr] : NULL;
}

const struct recorded_stack *recorded_names__stack(const struct recorded_names *n,
						   const struct xpu_record_stack *rec)
{
	const struct recorded_stack key = { .thread_id = rec->thread_id, .time_ns = rec->time_ns };
	size_t nr = sorted_count(n->stacks.nr, i, compare_stacks(&n->stacks.v[i], &key, NULL) < 0);

	return nr < n->stacks.nr && !compare_stacks(&n->stacks.v[nr], &key, NULL) ?
	       &n->stacks.v[nr] : NULL;
}
