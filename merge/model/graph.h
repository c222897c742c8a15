/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * graph.h - which call made each node of the CUDA graphs
 *
 * A node is made by a launch that is captured instead of run, or by an explicit call. What runs
 * later is a copy of it: instantiating a graph copies its nodes, and so do cloning one and making
 * it the child of another. Making the copy is told like making any node, so the call that says
 * anything of the program is that of the first node, of which all the others are copies.
 */
#ifndef MERGE_GRAPH_H
#define MERGE_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "xpu_record.h"
#include "util.h"

struct graph_node {
	const struct xpu_record_graph_node *rec;	/* NULL: its making is not recorded */
	uint32_t proc;
	uint32_t original;		/* what it is a copy of, NO_INDEX: of nothing */
	uint32_t origin;		/* the first of them, NO_INDEX: not known */
	uint32_t visit;			/* graphs__finish(): the walk that came by */
};

struct graphs {
	ARRAY(struct graph_node) nodes;
	ARRAY(struct idmap) by_id;	/* by process: node id to index in nodes */
	struct idmap captured;		/* (process, correlation id) of captured launches */
};

void graphs__init(struct graphs *g);
void graphs__exit(struct graphs *g);

/* Node and copy in any order; @rec must stay valid. Return: 0 or -ENOMEM. */
int graphs__add_node(struct graphs *g, uint32_t proc, const struct xpu_record_graph_node *rec);
int graphs__add_clone(struct graphs *g, uint32_t proc, uint64_t node_id, uint64_t original_id);

/* All have been added: follows the copies, in linear time also where they go in circles. */
void graphs__finish(struct graphs *g);

/* Return: index in g->nodes of the origin of a node, or NO_INDEX if its making is not known. */
uint32_t graphs__origin(const struct graphs *g, uint32_t proc, uint64_t node_id);

/* Return: whether that launch was captured into a graph, so that it owns no device work itself. */
bool graphs__captured(const struct graphs *g, uint32_t proc, uint32_t correlation_id);

#endif /* MERGE_GRAPH_H */
