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
	static const struct nvtx_range none;
	int err = 0;

	r->from = &from->strings;
	r->to = &m->strings;
	r->proc = m->machine.procs.nr;
	r->thread = m->threads.nr;
	r->path = m->paths.nr;
	r->chain = m->chains.nr;
	r->stream = m->streams.nr;
	r->nccl_kernel = m->nccl.kernels.nr;
	/* The first range of both models stands for no range. */
	if (from->nvtx.ranges.nr && !m->nvtx.ranges.nr)
		err = array_push(&m->nvtx.ranges, none);
	r->range = m->nvtx.ranges.nr - 1;
	r->gpus = calloc(from->gpus.list.nr + 1, sizeof(*r->gpus));
	r->shapes = calloc(from->shapes.nr + 1, sizeof(*r->shapes));
	r->leaves = calloc(from->leaves.nr + 1, sizeof(*r->leaves));
	r->range_names = calloc(from->nvtx.names.nr + 1, sizeof(*r->range_names));
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
	struct labels *labels;
	size_t i, k;
	int err = 0;

	for (i = 0; i < from->machine.procs.nr && !err; i++) {
		struct proc proc = from->machine.procs.v[i];

		proc.comm = remap__text(r, proc.comm);
		proc.name = remap__text(r, proc.name);
		proc.labels = 0;
		err = array_push(&m->machine.procs, proc);
		if (err || !from->machine.procs.v[i].labels)
			continue;
		labels = machine__own_labels(&m->machine, m->machine.procs.nr - 1);
		if (!labels)
			return -ENOMEM;
		*labels = *machine__labels(&from->machine, i);
		for (k = 0; k < LABELS_NR_TEXTS; k++)
			labels->texts[k] = remap__text(r, labels->texts[k]);
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
		if (chain.range != NVTX_NO_RANGE)
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

/* ---- NVTX's ranges and NCCL's operations ----------------------------------------------------- */

static int absorb_ranges(struct nvtx *to, const struct nvtx *from, struct remap *r)
{
	size_t i;
	int err = 0;

	for (i = 0; i < from->names.nr && !err; i++) {
		struct nvtx_name *name;

		err = nvtx__name_idx(to, remap__text(r, from->names.v[i].name), &r->range_names[i]);
		if (err)
			return err;
		name = &to->names.v[r->range_names[i]];
		name->nr_unclosed += from->names.v[i].nr_unclosed;
		err = stats__merge(&name->ns, &from->names.v[i].ns);
	}
	for (i = 1; i < from->ranges.nr && !err; i++) {
		struct nvtx_range range = from->ranges.v[i];

		range.proc += r->proc;
		range.parent = remap__range(r, range.parent);
		range.name = r->range_names[range.name];
		err = array_push(&to->ranges, range);
	}
	to->first_range = to->ranges.nr;
	return err;
}

static int absorb_units(struct nccl *to, const struct nccl *from, const struct remap *r)
{
	uint32_t first_unit = to->units.nr, first_op = to->ops.nr;
	size_t i;
	int err = 0;

	for (i = 0; i < from->ops.nr && !err; i++) {
		struct nccl_op op = from->ops.v[i];

		op.range = remap__range(r, op.range);
		op.unit += first_unit;
		err = array_push(&to->ops, op);
	}
	for (i = 0; i < from->units.nr && !err; i++) {
		struct nccl_unit unit = from->units.v[i];

		unit.proc += r->proc;
		unit.thread = remap__move(unit.thread, r->thread);
		unit.first_op += first_op;
		err = array_push(&to->units, unit);
	}
	for (i = 0; i < from->kernels.nr && !err; i++) {
		struct nccl_kernel k = from->kernels.v[i];

		k.proc += r->proc;
		k.graph += k.graph ? ID_KEY(r->proc, 0) : 0;
		k.thread = remap__move(k.thread, r->thread);
		k.gpu = remap__find(r->gpus, k.gpu);
		k.stream = remap__move(k.stream, r->stream);
		k.leaf = remap__find(r->leaves, k.leaf);
		k.unit = remap__move(k.unit, first_unit);
		k.last_unit = remap__move(k.last_unit, first_unit);
		err = array_push(&to->kernels, k);
	}
	return err;
}

static int absorb_nccl(struct nccl *to, const struct nccl *from, const struct remap *r)
{
	size_t i;
	int err = absorb_units(to, from, r);

	for (i = 0; i < from->lives.nr && !err; i++) {
		struct nccl_life life = from->lives.v[i];

		life.proc += r->proc;
		err = array_push(&to->lives, life);
	}
	for (i = 0; i < from->incomplete.nr && !err; i++)
		if (from->incomplete.v[i])
			err = nccl__lose(to, i + r->proc);
	for (i = 1; i < from->kinds.nr && !err; i++) {
		while (!err && to->kinds.nr <= i + r->range)
			err = array_push(&to->kinds, NCCL_UNKNOWN);
		if (!err)
			to->kinds.v[i + r->range] = from->kinds.v[i];
	}
	to->wanted |= from->wanted;
	to->loose |= from->loose;
	to->counts.nr_launches_unplaced += from->counts.nr_launches_unplaced;
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
	      absorb_leaves(m, from, split, r) ?: absorb_ranges(&m->nvtx, &from->nvtx, r) ?:
	      absorb_nccl(&m->nccl, &from->nccl, r) ?:
	      absorb_captured(&m->captured, &from->captured, r) ?: absorb_texts(m, from, r);
	return err ?: r->no_memory ? -ENOMEM : 0;
}
