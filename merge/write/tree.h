/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * tree.h - all call paths as one tree, with the work under each
 *
 * Below the root, which has no frame of its own, stand the names of the threads, or what else is
 * asked for, then their call paths, then what ran: "[GPU_Kernel]name". Frames are named as in
 * folded stacks, and frames of one name under one parent are one frame, as for readers of folded
 * lines.
 *
 * A tree without such roots says in its cells whose work they are (struct tree_owner): a reader can put
 * any of these there. What ran is named without "[GPU_Kernel]" then; its kind says that.
 *
 * There are two sides, so that two recordings can be compared; a single one is side 0.
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

/* Kinds beyond enum leaf_kind. */
enum tree_kind {
	TREE_FUNCTION = NR_LEAF_KINDS,	/* of frames: threads and functions, no work */
	TREE_NCCL,			/* work of NCCL, among the work of ranks */
	TREE_HOST,			/* time before a launch of which nothing tells more */
	NR_TREE_KINDS,
};

struct tree_value {
	uint64_t ns;			/* as summed: device time, on-CPU, off-CPU or waiting */
	uint64_t nr;			/* device records, pending launches, samples */
	uint64_t bytes;			/* of copies and sets */
};

/* A name, wherever it stands. */
struct tree_frame {
	const char *name;		/* as ESCAPE_FOLDED makes it, interned in the tree */
	uint32_t file;			/* index in files; a kernel's is how it was launched */
	uint32_t kind;			/* enum leaf_kind or tree_kind */
};

struct tree_node {
	uint32_t parent;		/* NO_INDEX: the root */
	uint32_t frame;			/* NO_INDEX: the root */
	uint32_t depth;			/* 0: the root */
};

/*
 * The work at one node itself: CPU time for a frame of a call path, else the work that the node
 * stands for.
 */
struct tree_cell {
	uint32_t node;
	uint32_t kind;			/* enum leaf_kind or tree_kind */
	uint32_t owner;			/* index in owners; 0 in a tree with roots */
	uint32_t value;			/* see tree__value() */
};

/* Whose work it is, in the words of the frames at the root that --by asks for. */
struct tree_owner {
	uint32_t label[NR_BY];		/* index in labels; of BY_NVTX in ranges; NO_INDEX: not told */
};

/* The labels of the NVTX ranges that were open, outermost first. */
struct tree_range {
	uint32_t first, nr;		/* in range_labels */
};

struct tree {
	struct strpool strings;
	ARRAY(const char *) files;	/* [0]: not told, [1]: several */
	ARRAY(struct tree_frame) frames;
	ARRAY(struct tree_node) nodes;	/* [0]: the root; a parent comes before its children */
	ARRAY(struct tree_cell) cells;
	ARRAY(struct tree_value) values[TREE_SIDES];
	ARRAY(const char *) labels;
	ARRAY(struct tree_owner) owners;
	ARRAY(struct tree_range) ranges;
	ARRAY(uint32_t) range_labels;	/* indices in labels */
	ARRAY(uint32_t) cell_of[TREE_SIDES];	/* by aggregate of that session: its cell's value */
	struct idmap by_file, by_label;
	struct hashes by_name, by_edge, by_cell;	/* of frames, nodes, cells */
	struct idmap by_work[TREE_SIDES];	/* (chain, leaf) to its node, in a tree without roots */
	struct hashes by_owner, by_range;
	uint64_t secret;
};

/* Return: 0 or -ENOMEM; then, too, tree__exit() frees what there is. */
int tree__init(struct tree *t);
void tree__exit(struct tree *t);

/**
 * tree__add - add all that a session has summed up
 * @t: initialized, not sorted yet
 * @s: processed
 * @side: which side its values count for
 * @by: what the frames at the root show; NULL: there are none, and cells have owners
 * @owners: 1 << enum by, or'ed: what the owners tell
 *
 * Return: 0 or -ENOMEM.
 */
int tree__add(struct tree *t, const struct session *s, unsigned int side,
	      const struct by_list *by, uint32_t owners);

/* Time on a call path that is given by names. */
struct tree_path {
	enum by by;			/* its owner is one of those ... */
	const char *label;		/* ... as the frame at the root shows it */
	const char *frames;		/* root first, with ';' between them; "" if there are none */
	const char *leaf;		/* what ran; NULL: the last frame itself */
	uint32_t kind;			/* enum leaf_kind or tree_kind */
};

/* Adds time on a side, to a tree without roots. Return: 0 or -ENOMEM. */
int tree__add_path(struct tree *t, unsigned int side, const struct tree_path *path, uint64_t ns);

/**
 * tree__add_rest - add a node without any value, for what has no place of its own
 * @like: an aggregate of that kind and device; no more of its owner is told
 * @value: set to the tree_cell.value of the node's cell
 *
 * Return: 0 or -ENOMEM.
 */
int tree__add_rest(struct tree *t, const struct session *s, const struct aggregate *like, const char *name,
		   uint32_t owners, uint32_t *value);

/* Forgets cells and owners, for tree__add() to make them anew, with other ones. Return: 0 or -ENOMEM. */
int tree__forget_cells(struct tree *t);

/* Return: the value of a cell on a side. */
static inline struct tree_value tree__value(const struct tree *t, const struct tree_cell *cell,
					    unsigned int side)
{
	return cell->value < t->values[side].nr ? t->values[side].v[cell->value] :
						  (struct tree_value){ 0 };
}

/*
 * Puts nodes and cells in the order of folded lines: each node before those below it, siblings in
 * byte order of their names. Nothing can be added after. Return: 0 or -ENOMEM.
 */
int tree__sort(struct tree *t);

#endif /* MERGE_TREE_H */
