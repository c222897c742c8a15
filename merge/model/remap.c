// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/remap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/model.h"

void remap__exit(struct remap *r)
{
	free(r->gpus);
	free(r->shapes);
	free(r->leaves);
	free(r->range_names);
	idmap__free(&r->by_text);
	array_free(&r->texts);
}

const char *remap__text(struct remap *r, const char *text)
{
	const char *copy = text;
	uint32_t idx;

	if (!text || r->no_memory)
		return NULL;
	if (idmap__get(&r->by_text, (uintptr_t)text, &idx))
		return r->texts.v[idx];
	if (strpool__owns(r->from, text))
		copy = strpool__intern(r->to, text, strlen(text));
	if (!copy || idmap__put(&r->by_text, (uintptr_t)text, r->texts.nr) ||
	    array_push(&r->texts, copy)) {
		r->no_memory = true;
		return NULL;
	}
	return copy;
}

static int remap__count(struct remap *r, struct model *m, const struct model *from)
{
	int err = 0;

	r->from = &from->strings;
	r->to = &m->strings;
	r->proc = m->machine.procs.nr;
	r->thread = m->threads.nr;
	r->path = m->paths.nr;
	r->chain = m->chains.nr;
	r->stream = m->streams.nr;
	/* The first range of both models stands for no range. */
	if (from->ranges.list.nr)
		err = ranges__begin(&m->ranges);
	r->range = m->ranges.list.nr - 1;
	r->gpus = calloc(from->gpus.list.nr + 1, sizeof(*r->gpus));
	r->shapes = calloc(from->shapes.nr + 1, sizeof(*r->shapes));
	r->leaves = calloc(from->leaves.nr + 1, sizeof(*r->leaves));
	r->range_names = calloc(from->ranges.names.nr + 1, sizeof(*r->range_names));
	return err || !r->gpus || !r->shapes || !r->leaves || !r->range_names ? -ENOMEM : 0;
}

int remap__start(struct remap *r, struct model *m, const struct model *from)
{
	m->gpus.host = from->gpus.host;
	return remap__count(r, m, from) ?: gpus__absorb(&m->gpus, &from->gpus, r->proc, r->gpus);
}

/* ---- processes and call paths ---------------------------------------------------------------- */

static int absorb_procs(struct model *m, const struct model *from, struct remap *r)
{
	size_t i;
	int err = 0;

	for (i = 0; i < from->machine.procs.nr && !err; i++) {
		struct proc proc = from->machine.procs.v[i];

		proc.comm = remap__text(r, proc.comm);
		proc.name = remap__text(r, proc.name);
		err = array_push(&m->machine.procs, proc);
	}
	for (i = 0; i < from->threads.nr && !err; i++) {
		struct thread thread = from->threads.v[i];

		thread.proc += r->proc;
		thread.comm = remap__text(r, thread.comm);
		err = array_push(&m->threads, thread);
	}
	return err;
}

static int absorb_paths(struct model *m, const struct model *from, struct remap *r)
{
	size_t i;
	int err = 0;

	for (i = 0; i < from->paths.nr && !err; i++) {
		struct path path = from->paths.v[i];

		path.rec = NULL;
		path.image = NULL;
		path.proc += r->proc;
		path.api = remap__text(r, path.api);
		path.chain = remap__move(path.chain, r->chain);
		err = array_push(&m->paths, path);
	}
	for (i = 0; i < from->chains.nr && !err; i++) {
		struct chain chain = from->chains.v[i];

		chain.proc += r->proc;
		chain.path = remap__move(chain.path, r->path);
		chain.launched = remap__move(chain.launched, r->chain);
		chain.captured = remap__move(chain.captured, r->chain);
		if (chain.range != NO_RANGE)
			chain.in_range += r->chain;
		chain.range = remap__range(r, chain.range);
		err = array_push(&m->chains, chain);
	}
	return err;
}

/* ---- devices and their work ------------------------------------------------------------------ */

static int absorb_streams(struct model *m, const struct model *from, const struct remap *r)
{
	size_t i;
	int err = 0;

	for (i = 0; i < from->streams.nr && !err; i++) {
		struct stream stream = from->streams.v[i];

		stream.proc += r->proc;
		stream.gpu = r->gpus[stream.gpu];
		err = array_push(&m->streams, stream);
	}
	return err;
}

static int absorb_leaves(struct model *m, const struct model *from, bool split, struct remap *r)
{
	size_t i;
	int err = 0;

	for (i = 0; i < from->shapes.nr && !err; i++)
		err = shapes__get(&m->shapes, &from->shapes.v[i], &r->shapes[i]);
	for (i = 0; i < from->leaves.nr && !err; i++) {
		struct leaf leaf = from->leaves.v[i];

		leaf.gpu = remap__find(r->gpus, leaf.gpu);
		leaf.name = remap__text(r, leaf.name);
		if (leaf.shape < from->shapes.nr)
			leaf.shape = r->shapes[leaf.shape];
		err = leaves__add(&m->leaves, &leaf, split && leaf.kind == LEAF_KERNEL,
				  &r->leaves[i]);
	}
	return err;
}

/* ---- ranges ---------------------------------------------------------------------------------- */

static int absorb_ranges(struct ranges *to, const struct ranges *from, struct remap *r)
{
	size_t i;
	int err = 0;

	for (i = 0; i < from->names.nr && !err; i++)
		err = ranges__name_idx(to, remap__text(r, from->names.v[i].name),
				       &r->range_names[i]);
	for (i = 1; i < from->list.nr && !err; i++) {
		struct range range = from->list.v[i];

		range.proc += r->proc;
		range.parent = remap__range(r, range.parent);
		range.name = r->range_names[range.name];
		err = array_push(&to->list, range);
	}
	to->first = to->list.nr;
	return err;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static int absorb_texts(struct model *m, const struct model *from, const struct remap *r)
{
	struct input *in = model__input(from);
	size_t i;
	int err = 0;

	in->first_info = m->infos.nr;
	for (i = 0; i < from->infos.nr && !err; i++)
		err = array_push(&m->infos, from->infos.v[i]);
	for (i = 0; i < from->messages.nr && !err; i++) {
		struct shim_message message = from->messages.v[i];

		message.proc += r->proc;
		err = array_push(&m->messages, message);
	}
	return err;
}

static int absorb_captured(struct captured *to, const struct captured *from, const struct remap *r)
{
	size_t i;
	int err = 0;

	for (i = 0; i < from->windows.nr && !err; i++) {
		struct captured_window w = from->windows.v[i];

		w.proc += r->proc;
		err = array_push(&to->windows, w);
	}
	return err;
}

int model__absorb(struct model *m, struct model *from, bool split, struct remap *r)
{
	int err;

	err = absorb_procs(m, from, r) ?: absorb_paths(m, from, r) ?: absorb_streams(m, from, r) ?:
	      absorb_leaves(m, from, split, r) ?: absorb_ranges(&m->ranges, &from->ranges, r) ?:
	      absorb_captured(&m->captured, &from->captured, r) ?: absorb_texts(m, from, r);
	return err ?: r->no_memory ? -ENOMEM : 0;
}
