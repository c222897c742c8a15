/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * tree.h - all call paths as one tree, with the work under each path
 *
 * The root has no frame of its own. Below the root are the names of threads, or other requested
 * properties, then the call paths, then the work that ran: "[GPU_Kernel]name". Frames are named as
 * in folded stacks. Siblings with equal names are one node, as they are for readers of folded
 * lines.
 *
 * In a tree without root frames, each cell has an owner (struct tree_owner), so that a reader can
 * put any property of the owner at the root. Names of work are then without "[GPU_Kernel]", because
 * the kind of the work says the same.
 *
 * A tree has two sides, so that two recordings can be compared; a single recording is side 0.
 */
#ifndef MERGE_TREE_H
#define MERGE_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "write/folded.h"
#include "join/session.h"
#include "util.h"

#define TREE_SIDES	2
#define TREE_ROOT	0		/* index of the root in nodes */

/* kinds beyond enum leaf_kind */
enum tree_kind {
	TREE_FUNCTION = NR_LEAF_KINDS,	/* frames of threads and functions, which are not work */
	TREE_MORE,			/* the first of html_opts.kinds; the other kinds follow */
};

struct tree_value {
	uint64_t ns;			/* summed time: on a device, on the CPU, off the CPU, or
					 * waiting */
	uint64_t nr;			/* number of device records, pending launches, samples */
	uint64_t bytes;			/* number of bytes copied or set */
	uint64_t whole_ns;		/* full durations of the counted records; ns includes only
					 * the parts in a time window */
};

/* a frame, which several nodes may share */
struct tree_frame {
	const char *name;		/* the name as ESCAPE_FOLDED makes it, interned in the
					 * tree */
	uint32_t file;			/* index in files; for a kernel, the text of this file is
					 * the kernel's shape */
	uint32_t kind;			/* enum leaf_kind or tree_kind */
	enum frame_place place;		/* how well a function names the place of a call path */
};

struct tree_node {
	uint32_t parent;		/* index of the parent; NO_INDEX: this is the root */
	uint32_t frame;			/* index of its frame; NO_INDEX: this is the root */
	uint32_t depth;			/* 0: the root */
};

/*
 * The work at one node itself, without its children: CPU time for a frame of a call path; for any
 * other node, the work that the node represents.
 */
struct tree_cell {
	uint32_t node;
	uint32_t kind;			/* enum leaf_kind or tree_kind */
	uint32_t owner;			/* index of the cell's owner in owners; 0 in a tree with
					 * roots */
	uint32_t value;			/* index of the cell's value; see tree__value() */
};

/* the owner of work, with the texts that --by would show at the root */
struct tree_owner {
	uint32_t label[NR_BY];		/* index in labels, or in ranges for BY_RANGE; NO_INDEX:
					 * unknown */
};

/* labels of the NVTX ranges that were open, outermost first */
struct tree_range {
	uint32_t first, nr;		/* the range's entries in range_labels */
};

struct tree {
	struct strpool strings;
	ARRAY(const char *) files;	/* [0]: unknown, [1]: several */
	ARRAY(struct tree_frame) frames;
	ARRAY(struct tree_node) nodes;	/* the root is [0]; a parent comes before its children */
	ARRAY(struct tree_cell) cells;
	ARRAY(struct tree_value) values[TREE_SIDES];
	ARRAY(const char *) labels;
	ARRAY(struct tree_owner) owners;
	ARRAY(struct tree_range) ranges;
	ARRAY(uint32_t) range_labels;	/* indices in labels */
	ARRAY(uint32_t) cell_of[TREE_SIDES];	/* for each aggregate of that side's session: the
						 * tree_cell.value of its cell */
	struct idmap by_file, by_label;
	struct hashes by_name, by_edge, by_cell;	/* the hashes of frames, nodes, cells */
	struct idmap by_work[TREE_SIDES];	/* map (chain, leaf) to a node; used only if
						 * there are no root frames */
	struct hashes by_owner, by_range;
	uint64_t secret;
};

/* Initializes a tree. Return: 0 or -ENOMEM; the caller calls tree__exit(), even after a failure. */
int tree__init(struct tree *t);
void tree__exit(struct tree *t);

/**
 * tree__add - add all sums of a session
 * @t: initialized, not sorted yet
 * @s: processed
 * @side: the side to which the session's values are added
 * @by: the properties that frames at the root show; NULL: cells have owners instead
 * @owners: properties that owners have: 1 << enum by, or'ed
 *
 * Return: 0 or -ENOMEM.
 */
int tree__add(struct tree *t, const struct session *s, unsigned int side,
	      const struct by_list *by, uint32_t owners);

/* time on a call path that is given by names */
struct tree_path {
	enum by by;			/* the property of the path's owner */
	const char *label;		/* text of this property, as a root frame shows it */
	const char *frames;		/* names of frames, root first, with ';' between them; ""
					 * for no frames */
	const char *leaf;		/* the name of the work that ran; NULL: the last frame
					 * itself is the work */
	uint32_t kind;			/* enum leaf_kind or tree_kind */
};

/* Adds time on a side, to a tree without roots. Return: 0 or -ENOMEM. */
int tree__add_path(struct tree *t, unsigned int side, const struct tree_path *path, uint64_t ns);

/**
 * tree__add_rest - add a node whose value is 0, for work that has no node of its own
 * @like: an aggregate whose kind and device the node gets; the node's owner has no other
 *	properties
 * @value: set to tree_cell.value of the node's cell
 *
 * Return: 0 or -ENOMEM.
 */
int tree__add_rest(struct tree *t, const struct session *s, const struct aggregate *like,
		   const char *name, uint32_t owners, uint32_t *value);

/*
 * Forgets cells and owners, so that tree__add() can make them again, with other owners. Return: 0
 * or -ENOMEM.
 */
int tree__forget_cells(struct tree *t);

/* Return: the value that a cell has on a side. */
static inline struct tree_value tree__value(const struct tree *t, const struct tree_cell *cell,
					    unsigned int side)
{
	return cell->value < t->values[side].nr ? t->values[side].v[cell->value] :
						  (struct tree_value){ 0 };
}

/*
 * Puts nodes and cells in the order of folded lines: each node before its descendants, siblings in
 * byte order of their names. Nothing can be added afterwards. Return: 0 or -ENOMEM.
 */
int tree__sort(struct tree *t);

#endif /* MERGE_TREE_H */
