/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * graph.h - finds the call that made each node of a CUDA graph
 *
 * A node is made by a launch that is captured instead of run, or by an explicit call. The node that
 * runs later is a copy: instantiating a graph copies its nodes, and so does cloning a graph or
 * making it the child of another graph. The recording reports a copied node like any other new
 * node. The call of interest made the first node, and all other nodes are copies of the first node.
 */
#ifndef MERGE_GRAPH_H
#define MERGE_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "model/api.h"
#include "xpu_record.h"
#include "util.h"

struct graph_node {
	const struct xpu_record_graph_node *rec;	/* NULL: the node's creation is not
							 * recorded */
	uint32_t scope;			/* see api.h */
	uint32_t original;		/* the node that was copied to make this node; NO_INDEX:
					 * this is no copy */
	uint32_t origin;		/* the first node: this node itself, or the node that it is
					 * a direct or indirect copy of; NO_INDEX: unknown */
	uint32_t visit;			/* used by graphs__finish(): the last walk that visited the
					 * node */
};

/* the call path under which the work of a node is summed up */
enum graph_mode {
	GRAPH_CAPTURE,			/* the call path that made the node */
	GRAPH_LAUNCH,			/* the call path that launched the graph */
	GRAPH_BOTH,			/* both: launch path, "[captured at]", capture path */
};

/* the values of the options */
struct graphs_opts {
	enum graph_mode mode;
};

struct graphs {
	ARRAY(struct graph_node) nodes;
	ARRAY(struct idmap) by_id[XPU_APIS];	/* for each process: maps a node's id to an index in
						 * nodes */
	struct idmap captured;		/* keys: (scope, correlation id) of captured launches */
};

void graphs__init(struct graphs *g);
void graphs__exit(struct graphs *g);

/*
 * Adds a node, or a copy of a node; the order of these calls does not matter. @rec must stay valid.
 * Return: 0 or -ENOMEM.
 */
int graphs__add_node(struct graphs *g, uint32_t scope, const struct xpu_record_graph_node *rec);
int graphs__add_clone(struct graphs *g, uint32_t scope, uint64_t node_id, uint64_t original_id);

/* Finds the origins after all nodes were added; takes linear time even if copies form a circle. */
void graphs__finish(struct graphs *g);

/* Return: index in g->nodes of the origin of a node, or NO_INDEX if its creation is unknown. */
uint32_t graphs__origin(const struct graphs *g, uint32_t scope, uint64_t node_id);

/* Return: whether that launch was captured into a graph, so that it owns no device work itself. */
bool graphs__captured(const struct graphs *g, uint32_t scope, uint32_t correlation_id);

#endif /* MERGE_GRAPH_H */
