// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/feature.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "join/second_pass.h"
#include "join/session.h"
#include "model/remap.h"
#include "ranks/ranks.h"
#include "ranks/state.h"
#include "write/format.h"

const struct ranks_state *ranks_state__of(const struct model *m)
{
	static const struct ranks_state none;

	return m->features[FEATURE_ranks] ?: &none;
}

static void *state__new(struct model *m)
{
	(void)m;
	return calloc(1, sizeof(struct ranks_state));
}

static void state__free(void *state)
{
	struct ranks_state *s = state;

	nccl__exit(&s->nccl);
	free(s);
}

/* ---- a recording ----------------------------------------------------------------------------- */

static bool ranks__wakes(const struct second_pass *p)
{
	const struct ranges *ranges = &p->model->ranges;
	size_t i;

	for (i = ranges->first; i < ranges->list.nr; i++)
		if (nccl__is_range(ranges->list.v[i].rec))
			return true;
	/* The mangled names of kernels are among the strings. */
	for (i = 0; i < p->found->string_defs.nr; i++)
		if (strstr(p->found->string_defs.v[i], "nccl"))
			return true;
	return false;
}

static int ranks__begin(void *state, struct second_pass *p)
{
	struct ranks_state *s = state;

	(void)p;
	s->wanted_before |= s->nccl.wanted;
	s->nccl.wanted = false;
	return 0;
}

static int ranks__range(void *state, struct second_pass *p, enum range_event event, uint32_t thread,
			uint32_t range, uint64_t time_ns)
{
	struct nccl *n = &((struct ranks_state *)state)->nccl;
	const struct model *m = p->model;

	switch (event) {
	case RANGE_OPENS:
		return nccl__open(n, &m->ranges, m->threads.v[thread].proc, thread, range, time_ns);
	case RANGE_CLOSES:
		nccl__close(n, &m->ranges, thread, range, time_ns);
		return 0;
	case RANGE_IS_MARK:
		break;
	}
	return nccl__mark(n, &m->ranges, m->threads.v[thread].proc, range, time_ns);
}

static int ranks__launch(void *state, struct second_pass *p, const struct placed_launch *l)
{
	struct nccl *n = &((struct ranks_state *)state)->nccl;
	struct model *m = p->model;
	uint32_t range;
	int err;

	if (!l->range_id || !n->wanted)
		return 0;
	err = second_pass__range(p, JOIN_KEY_PROC(l->key), l->range_id, &range);
	return err < 0 ? err : nccl__launch(n, &m->ranges, l->key, l->launch->thread, range,
					    l->launch->time_ns);
}

/* Takes NCCL's device work, even if the options leave it out: the operations need all of it. */
static int ranks__work(void *state, struct second_pass *p, const struct placed_work *placed)
{
	struct nccl *n = &((struct ranks_state *)state)->nccl;
	const struct work *w = placed->work;
	const struct launch *l = placed->launch;
	const struct leaf *leaf = &p->model->leaves.v[w->leaf];
	bool loose = leaf->kind == LEAF_KERNEL && nccl__is_kernel(leaf->name);
	const struct nccl_call *call = NULL;
	bool made = placed->place->made != NO_INDEX;
	struct nccl_kernel k;

	if (!l || !w->start_ns)
		return 0;
	if (n->wanted)
		call = nccl__call(n, made ? placed->place->made_key : placed->key);
	if (!call && !loose)
		return 0;
	k = (struct nccl_kernel){
		.start_ns = w->start_ns, .duration_ns = w->duration_ns, .stream = w->stream,
		.proc = JOIN_KEY_PROC(placed->key), .leaf = w->leaf,
		.aggregate = placed->aggregate, .gpu = p->model->streams.v[w->stream].gpu,
		.kernel = leaf->kind == LEAF_KERNEL, .launch_ns = l->time_ns, .thread = l->thread,
		.graph = made ? placed->key : 0,
		.collective = loose && !call && !strstr(leaf->name, "SendRecv"),
	};
	return call ? nccl__kernel(n, call, &k) : nccl__loose_kernel(n, &k);
}

/* Notes which processes have incomplete ranges. */
static int ranks__settle(void *state, struct second_pass *p)
{
	struct nccl *n = &((struct ranks_state *)state)->nccl;
	size_t i;
	int err = 0;

	for (i = 0; i < p->arrived.nr && n->wanted && !err; i++)
		if (p->arrived.v[i].lost_ranges)
			err = nccl__lose(n, p->found->first_proc + i);
	return err;
}

/* ---- all recordings -------------------------------------------------------------------------- */

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

		k.aggregate = remap__move(k.aggregate, r->aggregate);
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

static int ranks__absorb(void *to_state, void *from_state, struct remap *r)
{
	const struct nccl *from = &((struct ranks_state *)from_state)->nccl;
	struct ranks_state *s = to_state;
	struct nccl *to = &s->nccl;
	size_t i;
	int err;

	s->absorbed = to->kernels.nr;
	err = absorb_units(to, from, r);

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

static int ranks__finish_state(void *state, struct session *session)
{
	struct ranks_state *s = state;
	struct nccl *n = &s->nccl;
	int err;

	n->wanted |= s->wanted_before;
	err = nccl__finish(n, &session->model) ?: nccl_waits__split(n, session);
	if (!err && n->counts.nr_by_stream)
		msgs__add(&session->msgs, "this NCCL reports no communicators (2.25 and later do): "
					  "%"
			  PRIu64 " of its kernels are paired across ranks by their order in "
			  "streams", n->counts.nr_by_stream);
	return err;
}

/* ---- the command "ranks" --------------------------------------------------------------------- */

static void *command__new(struct session_opts *opts)
{
	struct ranks *r = ranks__new();

	if (r)
		opts->sink = &r->sink;
	opts->by_range = opts->by_thread = opts->by_time = opts->stats = false;
	return r;
}

static void command__free(void *r)
{
	ranks__free(r);
}

static int command__finish(void *r, const struct session *s)
{
	return ranks__finish(r, s);
}

static const char *command__lacks(const void *r)
{
	return ranks__have_nccl(r) ? NULL :
	       "no operations of NCCL in these recordings: xpuload records them in programs that "
	       "call NCCL, unless --nvtx=off or --cpu-only leaves them out";
}

static int command__write_text(const void *r, FILE *f, const struct write_opts *o)
{
	const struct ranks_opts opts = {
		.unit = o->unit, .human = !o->unit_given, .max_rows = o->max_rows,
		.format = o->table_format, .width = o->width, .color = o->color, .sort = o->sort,
	};

	return ranks__write_text(r, f, &opts);
}

static int command__write_html(const void *r, FILE *f, const struct write_opts *o)
{
	return ranks__write_html(r, f, write_opts__page_unit(o));
}

static const struct feature_command command = {
	.arguments = "[-o FILE] [OPTION...] FILE...",
	.help = "which rank made the others wait, and the call paths that made it late",
	.no_filters = true,
	.no_lines = true,
	.refused = (const char *const[]){ "by", "table", "gpu", "cpu", "nsys", NULL },
	.new = command__new,
	.free = command__free,
	.finish = command__finish,
	.lacks = command__lacks,
	.writers = (const struct feature_writer[]){
		{ "text", command__write_text }, { "html", command__write_html }, { NULL, NULL },
	},
};

const struct feature ranks_feature = {
	.name = "ranks",
	.needs = "nvtx",
	.new = state__new,
	.free = state__free,
	.wakes = ranks__wakes,
	.begin = ranks__begin,
	.range = ranks__range,
	.launch = ranks__launch,
	.work = ranks__work,
	.settle = ranks__settle,
	.absorb = ranks__absorb,
	.finish = ranks__finish_state,
	.command = &command,
};
