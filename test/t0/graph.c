// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Graph nodes: each node's original node is found in any order of records, even if records are
 * wrong.
 */
#include "graphs/graph.h"
#include "tap.h"

static void add(struct graphs *g, struct xpu_record_graph_node *rec, uint64_t node, uint32_t id)
{
	rec->node_id = node;
	rec->correlation_id = id;
	if (graphs__add_node(g, 0, rec))
		bail("out of memory");
}

static void copy(struct graphs *g, uint64_t node, uint64_t original)
{
	if (graphs__add_clone(g, 0, node, original))
		bail("out of memory");
}

static uint64_t origin(const struct graphs *g, uint64_t node)
{
	uint32_t idx = graphs__origin(g, 0, node);

	return idx == NO_INDEX ? 0 : g->nodes.v[idx].rec->node_id;
}

#define LONG	100000

int main(void)
{
	struct xpu_record_graph_node recs[16] = { 0 };
	struct graphs g;
	uint64_t i;

	graphs__init(&g);
	/* A clone of a graph is instantiated; the file has the copies before the originals. */
	copy(&g, 0x300000001, 0x200000001);
	copy(&g, 0x200000001, 0x100000001);
	add(&g, &recs[0], 0x100000001, 7);
	add(&g, &recs[1], 0x200000001, 0);
	add(&g, &recs[2], 0x300000001, 0);
	/*
	 * The original was made before the recording, and its copy during the recording: the copy's
	 * call path is not the place of the launch.
	 */
	add(&g, &recs[3], 0x500000001, 0);
	copy(&g, 0x500000001, 0x400000001);
	/* A node that is not a copy. */
	add(&g, &recs[4], 0x600000001, 0);
	/* A cycle of nodes, and a chain of nodes that leads into a cycle. */
	add(&g, &recs[5], 1, 0);
	copy(&g, 1, 2);
	copy(&g, 2, 3);
	copy(&g, 3, 1);
	add(&g, &recs[6], 4, 0);
	copy(&g, 4, 1);
	add(&g, &recs[7], 5, 0);
	copy(&g, 5, 5);
	/* Two contradictory records of one node: the first record applies. */
	add(&g, &recs[8], 6, 9);
	add(&g, &recs[9], 6, 0);
	copy(&g, 0x300000001, 6);
	/* A chain so long that walking it to its end from each node would take minutes. */
	for (i = 0; i < LONG; i++)
		copy(&g, 1000000 + i + 1, 1000000 + i);
	add(&g, &recs[10], 1000000, 0);
	graphs__finish(&g);

	is_int(origin(&g, 0x300000001), 0x100000001,
	       "the origin of a copy of a copy is the first node");
	is_int(origin(&g, 0x200000001), 0x100000001, "the origin of a copy is the first node");
	is_int(origin(&g, 0x100000001), 0x100000001, "the origin of the first node is itself");
	is_int(origin(&g, 0x500000001), 0, "a copy of an unknown node has no origin");
	is_int(origin(&g, 0x400000001), 0, "an unknown node has no origin");
	is_int(origin(&g, 0x600000001), 0x600000001, "a node without copies is its own origin");
	is_int(origin(&g, 1), 0, "a node in a cycle has no origin");
	is_int(origin(&g, 3), 0, "another node in the cycle has no origin");
	is_int(origin(&g, 4), 0, "a node that leads into a cycle has no origin");
	is_int(origin(&g, 5), 0, "a node that is a copy of itself has no origin");
	is_int(origin(&g, 1000000 + LONG), 1000000,
	       "a hundred thousand copies of copies lead to the first node");
	is_int(origin(&g, 1000000 + LONG / 2), 1000000,
	       "a node in the middle of the chain leads to the first node");
	is_int(origin(&g, 77), 0, "a node without a record has no origin");
	is_int(graphs__origin(&g, 1, 6), NO_INDEX, "a node has no origin in another process");
	ok(graphs__captured(&g, 0, 7), "a captured launch is recognized");
	ok(graphs__captured(&g, 0, 9), "another captured launch is recognized");
	ok(!graphs__captured(&g, 0, 8) && !graphs__captured(&g, 1, 7),
	   "other launches are not captured");
	ok(!graphs__captured(&g, 0, 0), "id 0 is not a captured launch");
	graphs__exit(&g);
	return done_testing();
}
