// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DONE	UINT32_MAX
#define CAPTURED_KEY(scope, id)	((uint64_t)(scope) << 32 | (id))

void graphs__init(struct graphs *g)
{
	memset(g, 0, sizeof(*g));
}

void graphs__exit(struct graphs *g)
{
	size_t api, i;

	for (api = 0; api < XPU_APIS; api++) {
		for (i = 0; i < g->by_id[api].nr; i++)
			idmap__free(&g->by_id[api].v[i]);
		array_free(&g->by_id[api]);
	}
	array_free(&g->nodes);
	idmap__free(&g->captured);
}

/* Finds or makes the node with the id @node_id. */
static int graphs__node(struct graphs *g, uint32_t scope, uint64_t node_id, uint32_t *idx)
{
	uint32_t api = SCOPE_API(scope), proc = SCOPE_PROC(scope);
	struct graph_node node = { .scope = scope, .original = NO_INDEX, .origin = NO_INDEX };
	struct idmap empty = { 0 };
	int err;

	while (g->by_id[api].nr <= proc) {
		err = array_push(&g->by_id[api], empty);
		if (err)
			return err;
	}
	if (idmap__get(&g->by_id[api].v[proc], node_id, idx))
		return 0;
	*idx = g->nodes.nr;
	err = array_push(&g->nodes, node);
	return err ?: idmap__put(&g->by_id[api].v[proc], node_id, *idx);
}

int graphs__add_node(struct graphs *g, uint32_t scope, const struct xpu_record_graph_node *rec)
{
	uint64_t key = CAPTURED_KEY(scope, rec->correlation_id);
	uint32_t idx;
	int err = graphs__node(g, scope, rec->node_id, &idx);

	if (err)
		return err;
	if (!g->nodes.v[idx].rec)
		g->nodes.v[idx].rec = rec;
	/* One captured call may make several nodes. */
	return rec->correlation_id ? min_t(int, idmap__add(&g->captured, key, idx), 0) : 0;
}

int graphs__add_clone(struct graphs *g, uint32_t scope, uint64_t node_id, uint64_t original_id)
{
	uint32_t idx, original;
	int err = graphs__node(g, scope, node_id, &idx);

	err = err ?: graphs__node(g, scope, original_id, &original);
	if (!err && g->nodes.v[idx].original == NO_INDEX)
		g->nodes.v[idx].original = original;
	return err;
}

void graphs__finish(struct graphs *g)
{
	struct graph_node *v = g->nodes.v;
	uint32_t i, at, walk, origin;

	for (i = 0; i < g->nodes.nr; i++) {
		walk = i + 1;
		for (at = i; !v[at].visit; at = v[at].original) {
			v[at].visit = walk;
			if (v[at].original == NO_INDEX)
				break;
		}
		if (v[at].original == NO_INDEX)
			origin = v[at].rec ? at : NO_INDEX;
		else
			origin = v[at].visit == walk ? NO_INDEX : v[at].origin;
		for (at = i; v[at].visit == walk; at = v[at].original) {
			v[at].visit = DONE;
			v[at].origin = origin;
			if (v[at].original == NO_INDEX)
				break;
		}
	}
}

uint32_t graphs__origin(const struct graphs *g, uint32_t scope, uint64_t node_id)
{
	uint32_t api = SCOPE_API(scope), proc = SCOPE_PROC(scope), idx;

	if (proc >= g->by_id[api].nr || !idmap__get(&g->by_id[api].v[proc], node_id, &idx))
		return NO_INDEX;
	return g->nodes.v[idx].origin;
}

bool graphs__captured(const struct graphs *g, uint32_t scope, uint32_t correlation_id)
{
	uint32_t idx;

	return idmap__get(&g->captured, CAPTURED_KEY(scope, correlation_id), &idx);
}
