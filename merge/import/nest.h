/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * nest.h - finds which ranges were open on a thread at a given time
 *
 * Ranges and points belong to threads and have timestamps of one clock, so the ranges open at a
 * point are known exactly. A point at the exact start of a range is inside the range; a point at
 * the exact end is outside. The open ranges of a thread form a path of nodes, whose numbers the
 * caller chooses:
 *
 *	err = nest__sweep(&nest, ranges, nr_ranges, points, nr_points);
 *
 * This sorts both arrays, and sets the node of each point.
 */
#ifndef MERGE_NEST_H
#define MERGE_NEST_H

#include <stddef.h>
#include <stdint.h>

#include "util.h"

struct nest_range {
	uint64_t start_ns, end_ns;
	uint32_t thread;		/* any number that identifies the thread */
	uint32_t item;			/* the caller's number for the range */
};

struct nest_point {
	uint64_t time_ns;
	uint32_t thread;
	uint32_t item;			/* the caller's number for the point */
	uint32_t node;			/* set by nest__sweep() */
};

struct nest {
	uint32_t max_depth;		/* more deeply nested ranges are left out */

	/* Return: the node for a thread without open ranges. */
	uint32_t (*root)(void *ctx, uint32_t thread);

	/* Return: the node for @range, which was opened while the thread was at @node. */
	uint32_t (*enter)(void *ctx, uint32_t node, const struct nest_range *range);

	/*
	 * Called when a range is opened or closed, in time order, while the thread is at @node. May
	 * be NULL.
	 */
	void (*event)(void *ctx, const struct nest_range *range, bool opened, uint64_t time_ns,
		      uint32_t node, uint32_t place);
	void *ctx;
	uint64_t nr_too_deep;
};

/* Sorts both arrays, and sets the node of each point. Return: 0 or -ENOMEM. */
int nest__sweep(struct nest *n, struct nest_range *ranges, size_t nr_ranges,
		struct nest_point *points, size_t nr_points);

/* ---- paths of names -------------------------------------------------------------------------- */

struct path_node {
	uint32_t parent;		/* 0: this node is a root */
	uint32_t proc;
	const char *name;		/* NULL for a root */
	uint32_t value;			/* the caller's value, initially 0 */
};

/*
 * The call paths of each process as trees of names. Starts zeroed. Node 0 means that memory ran
 * out: see err.
 */
struct paths {
	ARRAY(struct path_node) nodes;
	struct idmap children;		/* maps (node, name) to the child */
	int err;
};

void paths__free(struct paths *p);

/* Return: the node of the empty path of process @proc. */
uint32_t paths__root(struct paths *p, uint32_t proc);

/* Return: the child of @node with @name. Equal names must have the same strpool__id(). */
uint32_t paths__child(struct paths *p, uint32_t node, const char *name);

#endif /* MERGE_NEST_H */
