// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/feature.h"

#include <errno.h>
#include <stdlib.h>

#include "cmdline.h"
#include "graphs/graph.h"
#include "join/origin.h"
#include "join/second_pass.h"
#include "read/collect.h"
#include "write/format.h"

/* the chain and thread that made a node */
struct node_origin {
	bool known;
	uint32_t chain;
	uint32_t thread;
	const char *comm;
};

/* the graphs of the recording that is being read */
struct graphs_state {
	struct graphs graphs;
	ARRAY(struct node_origin) origins;	/* for each of graphs.nodes */
};

static void *state__new(struct model *m)
{
	(void)m;
	return calloc(1, sizeof(struct graphs_state));
}

static void state__clear(struct graphs_state *s)
{
	graphs__exit(&s->graphs);
	graphs__init(&s->graphs);
	array_free(&s->origins);
}

static void state__free(void *state)
{
	state__clear(state);
	free(state);
}

static enum graph_mode graph_mode(const struct second_pass *p)
{
	const struct graphs_opts *o = p->opts->values[FEATURE_graphs];

	return o ? o->mode : GRAPH_CAPTURE;
}

/* ---- records --------------------------------------------------------------------------------- */

static int take_node(void *state, struct collect *c, uint32_t proc, const struct xpu_record *r)
{
	const struct xpu_record_graph_node *rec = (const void *)r;
	struct graphs_state *s = state;
	int err = machine__proc(&c->model->machine, rec->proc_id, &proc);

	return err ?: graphs__add_node(&s->graphs, SCOPE(proc, XPU_API(rec->hdr.misc)), rec);
}

static int take_clone(void *state, struct collect *c, uint32_t proc, const struct xpu_record *r)
{
	const struct xpu_record_graph_clone *rec = (const void *)r;
	struct graphs_state *s = state;

	(void)c;
	return graphs__add_clone(&s->graphs, SCOPE(proc, XPU_API(rec->hdr.misc)), rec->node_id,
				 rec->original_id);
}

static const struct feature_record records[] = {
	{ XPU_RECORD_GRAPH_NODE, true, take_node },
	{ XPU_RECORD_GRAPH_CLONE, false, take_clone },
	{ 0 },
};

/* ---- a recording ----------------------------------------------------------------------------- */

static int graphs__begin(void *state, struct second_pass *p)
{
	(void)p;
	graphs__finish(&((struct graphs_state *)state)->graphs);
	return 0;
}

static uint32_t graphs__find_maker(void *state, struct second_pass *p, uint32_t proc,
				   const struct xpu_record *rec)
{
	const struct graphs_state *s = state;
	uint64_t id;
	uint32_t node;

	if (rec->type == XPU_RECORD_KERNEL)
		id = ((const struct xpu_record_kernel *)rec)->graph_node_id[0];
	else
		id = ((const struct xpu_record_memory *)rec)->graph_node_id[0];
	node = graphs__origin(&s->graphs, SCOPE(proc, XPU_API(rec->misc)), id);
	if (node == NO_INDEX && graph_mode(p) != GRAPH_LAUNCH)
		p->sums->loss.unknown_nodes++;
	return node;
}

/* Finds the chain and thread that made a node; looks them up only once. */
static int find_origin(struct graphs_state *s, struct second_pass *p, uint32_t idx,
		       struct node_origin *origin)
{
	static const struct node_origin none;
	const struct graph_node *node = &s->graphs.nodes.v[idx];
	struct launch made = { .time_ns = node->rec->time_ns };
	uint32_t path, proc = SCOPE_PROC(node->scope);
	int nr_bad, err = 0;

	while (!err && s->origins.nr <= idx)
		err = array_push(&s->origins, none);
	if (err)
		return err;
	*origin = s->origins.v[idx];
	if (origin->known)
		return 0;
	nr_bad = origin__read(p->found, p->model, node->rec->path_id, node->rec->thread_id, &made,
			      &proc, &path);
	if (nr_bad < 0)
		return nr_bad;
	p->sums->loss.bad_refs += nr_bad;
	/* A captured launch is already counted as a launch of its own call path. */
	if (!node->rec->correlation_id)
		p->model->chains.v[made.chain].nr_makers++;
	*origin = (struct node_origin){
		.known = true, .chain = made.chain, .thread = made.thread, .comm = made.comm,
	};
	s->origins.v[idx] = *origin;
	return 0;
}

static int graphs__move_work(void *state, struct second_pass *p, uint32_t maker,
			     struct work_place *place)
{
	struct graphs_state *s = state;
	const struct graph_node *node = &s->graphs.nodes.v[maker];
	struct chains *chains = &p->model->chains;
	uint32_t range = chains->v[place->chain].range;
	struct node_origin origin;
	int err = find_origin(s, p, maker, &origin);

	if (err)
		return err;
	place->made = origin.chain;
	place->made_key = JOIN_KEY(node->scope, node->rec->correlation_id);
	switch (graph_mode(p)) {
	case GRAPH_CAPTURE:
		place->chain = origin.chain;
		place->comm = origin.comm;
		place->thread = origin.thread;
		return chains__in_range(chains, range, &place->chain);	/* keep the range of the
									 * launch */
	case GRAPH_BOTH:
		return chains__joined(chains, place->chain, origin.chain, &place->chain);
	case GRAPH_LAUNCH:
		break;
	}
	return 0;
}

static bool graphs__runs_nothing(void *state, struct second_pass *p, uint64_t key)
{
	const struct graphs_state *s = state;

	if (!graphs__captured(&s->graphs, JOIN_KEY_SCOPE(key), JOIN_KEY_ID(key)))
		return false;
	p->sums->loss.nr_captured++;
	return true;
}

static int graphs__close(void *state, struct second_pass *p)
{
	(void)p;
	state__clear(state);
	return 0;
}

/* Graphs are needed only while their own recording is read. */
static int graphs__absorb(void *state, void *from, struct remap *r)
{
	(void)state, (void)from, (void)r;
	return 0;
}

/* ---- the command line ------------------------------------------------------------------------ */

static const char *const mode_names[] = {
	[GRAPH_CAPTURE] = "capture", [GRAPH_LAUNCH] = "launch", [GRAPH_BOTH] = "both", NULL,
};

static int set_graph(void *values, const struct cmdline_given *given)
{
	struct graphs_opts *o = values;
	int i = cmdline__find_name(given, given->arg);

	if (i < 0)
		return i;
	o->mode = i;
	return 0;
}

static const struct cmdline_option rows[] = {
	{ "graph", 0, "MODE", .set = set_graph, .names = mode_names, .group = FORMAT_MERGED,
	  .help = "show the work of CUDA graphs under the call path that made\n"
		  "the node (capture, the default), that launched the graph\n"
		  "(launch), or both" },
};

static const struct feature_options options = {
	.rows = rows, .nr = ARRAY_SIZE(rows), .after = "python-frames",
	.bytes = sizeof(struct graphs_opts),
};

const struct feature graphs_feature = {
	.name = "graphs",
	.new = state__new,
	.free = state__free,
	.records = records,
	.begin = graphs__begin,
	.find_maker = graphs__find_maker,
	.move_work = graphs__move_work,
	.runs_nothing = graphs__runs_nothing,
	.close = graphs__close,
	.absorb = graphs__absorb,
	.options = &options,
};
