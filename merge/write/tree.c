// SPDX-License-Identifier: GPL-3.0-or-later
#include "write/tree.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "escape.h"

enum { FILE_UNKNOWN, FILE_SEVERAL };

/* Aggregates whose @owner, @proc, @gpu and @range are the same share one entry of tree.owners. */
struct owner_key {
	uint32_t owner, proc, gpu, range;
	uint32_t idx;			/* the owner's index in tree.owners */
};

/* the state while a session is added */
struct adder {
	struct tree *tree;
	const struct session *session;
	struct idmap by_frame;		/* maps the address of a struct frame to an index in
					 * tree.frames */
	ARRAY(struct owner_key) owner_keys;
	struct hashes by_owner_key;
	ARRAY(uint32_t) leaves;		/* for each leaf: its frame; NO_INDEX until it is used */
	folded_text_t buf, root;
	const struct by_list *by;	/* properties that frames at the root show; NULL: cells have
					 * owners instead */
	uint32_t owners;		/* properties that owners have: 1 << enum by, or'ed */
	unsigned int side;
};

static int tree__add_no_owner(struct tree *t)
{
	struct tree_owner no_owner;

	memset(&no_owner, 0xff, sizeof(no_owner));	/* all members: NO_INDEX */
	return array_push(&t->owners, no_owner);
}

int tree__init(struct tree *t)
{
	memset(t, 0, sizeof(*t));
	t->secret = secret();
	return array_push(&t->files, "") ?: array_push(&t->files, "(several files)") ?:
	       array_push(&t->nodes, ((struct tree_node){ NO_INDEX, NO_INDEX, 0 })) ?:
	       tree__add_no_owner(t);
}

static void tree__free_cells(struct tree *t)
{
	unsigned int side;

	array_free(&t->cells);
	array_free(&t->labels);
	array_free(&t->owners);
	array_free(&t->ranges);
	array_free(&t->range_labels);
	for (side = 0; side < TREE_SIDES; side++) {
		array_free(&t->values[side]);
		array_free(&t->cell_of[side]);
	}
	idmap__free(&t->by_label);
	hashes__free(&t->by_owner);
	hashes__free(&t->by_range);
	hashes__free(&t->by_cell);
}

int tree__forget_cells(struct tree *t)
{
	tree__free_cells(t);
	return tree__add_no_owner(t);
}

/* Frees the hash tables of names, nodes and cells. */
static void tree__free_lookups(struct tree *t)
{
	unsigned int side;

	hashes__free(&t->by_name);
	hashes__free(&t->by_edge);
	hashes__free(&t->by_cell);
	for (side = 0; side < TREE_SIDES; side++)
		idmap__free(&t->by_work[side]);
}

void tree__exit(struct tree *t)
{
	tree__free_cells(t);
	array_free(&t->files);
	array_free(&t->frames);
	array_free(&t->nodes);
	idmap__free(&t->by_file);
	tree__free_lookups(t);
	strpool__free(&t->strings);
}

static int tree__file(struct tree *t, const char *name, uint32_t *idx)
{
	const char *s = strpool__intern(&t->strings, name, strlen(name));

	if (!s)
		return -ENOMEM;
	if (idmap__get(&t->by_file, (uintptr_t)s, idx))
		return 0;
	*idx = t->files.nr;
	return array_push(&t->files, s) ?: idmap__put(&t->by_file, (uintptr_t)s, *idx);
}

/*
 * Adds another file to a frame. In a tree without roots, a kernel has one frame for all devices,
 * and the text of the frame's file has the shapes on all devices. Return: 0 or -ENOMEM.
 */
static int adder__other_file(struct adder *a, struct tree_frame *frame, uint32_t file)
{
	struct tree *t = a->tree;
	char *both;
	int err;

	if (a->by || a->side || frame->kind != LEAF_KERNEL || frame->file <= FILE_SEVERAL ||
	    file <= FILE_SEVERAL) {
		frame->file = FILE_SEVERAL;
		return 0;
	}
	if (asprintf(&both, "%s; %s", t->files.v[frame->file], t->files.v[file]) < 0)
		return -ENOMEM;
	err = tree__file(t, both, &frame->file);
	free(both);
	return err;
}

/*
 * Finds or adds the frame whose name in folded stacks is @label followed by @text. @file: may be
 * NULL
 */
static int adder__name(struct adder *a, const char *label, const char *text, uint32_t kind,
		       const char *file, uint32_t *idx)
{
	struct tree *t = a->tree;
	char out[ESCAPE_MAX];
	uint32_t file_idx = FILE_UNKNOWN;
	size_t len = strlen(label), at = HASHES_START;
	const char *name;
	uint32_t hash;
	int err = array_reserve(&a->buf, len + 1);

	if (err)
		return err;
	memcpy(a->buf.v, label, len);
	a->buf.nr = len;
	while ((len = escape__next(&text, ESCAPE_FOLDED, out))) {
		err = array_reserve(&a->buf, a->buf.nr + len);
		if (err)
			return err;
		memcpy(a->buf.v + a->buf.nr, out, len);
		a->buf.nr += len;
	}
	name = strpool__intern(&t->strings, a->buf.v, a->buf.nr);
	if (!name)
		return -ENOMEM;
	if (file)
		err = tree__file(t, file, &file_idx);
	if (err)
		return err;
	/* Compare the kind, too: a function may have the name of a kernel. */
	hash = hash__mix((uintptr_t)name, kind, t->secret);
	while (hashes__next(&t->by_name, hash, &at, idx)) {
		struct tree_frame *frame = &t->frames.v[*idx];

		if (frame->name != name || frame->kind != kind)
			continue;
		return frame->file == file_idx ? 0 : adder__other_file(a, frame, file_idx);
	}
	*idx = t->frames.nr;
	return array_push(&t->frames, ((struct tree_frame){
		name, file_idx, kind, PLACE_ANYBODYS,
	})) ?:
	       hashes__add(&t->by_name, hash, *idx);
}

static int adder__frame(struct adder *a, const struct frame *frame, uint32_t *idx)
{
	int err;

	if (idmap__get(&a->by_frame, (uintptr_t)frame, idx))
		return 0;
	err = adder__name(a, "", frame->name, TREE_FUNCTION, frame->dso ? frame->dso->name : NULL,
			  idx);
	if (err)
		return err;
	a->tree->frames.v[*idx].place = frame__place(frame);
	return idmap__put(&a->by_frame, (uintptr_t)frame, *idx);
}

static int adder__root(struct adder *a, const struct aggregate *agg, enum by by, uint32_t nr,
		       uint32_t *idx)
{
	int err;

	a->root.nr = 0;
	err = folded__put_root(&a->root, a->session, agg, by, nr) ?: array_push(&a->root, 0);
	return err ?: adder__name(a, "", a->root.v, TREE_FUNCTION, NULL, idx);
}

/* ---- whose work ----------------------------------------------------------------------------- */

static int tree__label(struct tree *t, const char *text, size_t len, uint32_t *idx)
{
	const char *label = strpool__intern(&t->strings, text, len);

	if (!label)
		return -ENOMEM;
	if (idmap__get(&t->by_label, (uintptr_t)label, idx))
		return 0;
	*idx = t->labels.nr;
	return array_push(&t->labels, label) ?: idmap__put(&t->by_label, (uintptr_t)label, *idx);
}

/* Finds or adds the label of root frame number @nr. Return: 0 or -ENOMEM. */
static int adder__label(struct adder *a, const struct aggregate *agg, enum by by, uint32_t nr,
			uint32_t *idx)
{
	int err;

	a->root.nr = 0;
	err = folded__put_root(&a->root, a->session, agg, by, nr);
	return err ?: tree__label(a->tree, a->root.v ?: "", a->root.nr, idx);
}

static bool tree__range_is(const struct tree *t, uint32_t idx, const uint32_t *labels, uint32_t nr)
{
	const struct tree_range *range = &t->ranges.v[idx];

	return range->nr == nr &&
	       !memcmp(t->range_labels.v + range->first, labels, nr * sizeof(*labels));
}

/* Finds or adds the NVTX ranges of an aggregate. Return: 0 or -ENOMEM. */
static int adder__range(struct adder *a, const struct aggregate *agg, uint32_t *idx)
{
	uint32_t labels[XPU_RANGE_DEPTH + 1], nr = folded__nr_roots(a->session, agg, BY_RANGE), i;
	uint32_t hash = 0;
	struct tree *t = a->tree;
	int err = 0;

	for (i = 0; i < nr && !err; i++) {
		err = adder__label(a, agg, BY_RANGE, i, &labels[i]);
		hash = hash__mix(ID_KEY(hash, err ? 0 : labels[i]), nr, t->secret);
	}
	if (!err && hashes_find(&t->by_range, hash, *idx, tree__range_is(t, *idx, labels, nr)))
		return 0;
	*idx = t->ranges.nr;
	err = err ?: hashes_push(&t->by_range, hash, &t->ranges,
				 ((struct tree_range){ t->range_labels.nr, nr }));
	for (i = 0; i < nr && !err; i++)
		err = array_push(&t->range_labels, labels[i]);
	return err;
}

static int tree__owner(struct tree *t, const struct tree_owner *owner, uint32_t *idx)
{
	uint32_t hash = 0;
	int by;

	for (by = 0; by < NR_BY; by++)
		hash = hash__mix(ID_KEY(hash, owner->label[by]), by, t->secret);
	return hashes_get(&t->by_owner, hash, &t->owners, *idx,
			  !memcmp(&t->owners.v[*idx], owner, sizeof(*owner)), *owner);
}

/*
 * Finds or adds the owner of an aggregate, with the properties @owners (1 << enum by). Return: 0 or
 * -ENOMEM.
 */
static int adder__new_owner(struct adder *a, const struct aggregate *agg, uint32_t owners,
			    uint32_t *idx)
{
	struct tree_owner owner;
	int by, err = 0;

	memset(&owner, 0xff, sizeof(owner));
	for (by = 0; by < NR_BY && !err; by++) {
		if (!(owners & 1u << by))
			continue;
		err = by == BY_RANGE ? adder__range(a, agg, &owner.label[by]) :
				      adder__label(a, agg, by, 0, &owner.label[by]);
	}
	return err ?: tree__owner(a->tree, &owner, idx);
}

static bool owner_key__is(const struct owner_key *a, const struct owner_key *b)
{
	return a->owner == b->owner && a->proc == b->proc && a->gpu == b->gpu &&
	       a->range == b->range;
}

/*
 * Finds the owner of an aggregate; an earlier aggregate may have had the same owner. Return: 0 or
 * -ENOMEM.
 */
static int adder__owner(struct adder *a, const struct aggregate *agg, uint32_t *idx)
{
	const struct model *m = &a->session->model;
	const struct chain *chain = &m->chains.v[agg->chain];
	const struct leaf *leaf = &m->leaves.v[agg->leaf];
	struct owner_key key = { agg->owner, chain->proc, leaf->gpu, chain->range, 0 };
	uint64_t whose = ID_KEY(key.owner, key.proc), where = ID_KEY(key.gpu, key.range);
	uint32_t hash = hash__mix(whose, where, a->tree->secret), i;
	int err;

	if (hashes_find(&a->by_owner_key, hash, i, owner_key__is(&a->owner_keys.v[i], &key))) {
		*idx = a->owner_keys.v[i].idx;
		return 0;
	}
	err = adder__new_owner(a, agg, a->owners, idx);
	key.idx = *idx;
	return err ?: hashes_push(&a->by_owner_key, hash, &a->owner_keys, key);
}

/* ---- frames --------------------------------------------------------------------------------- */

/*
 * Prints what features say about a kernel. Return: 1 if the text depends on the GPU, 0 if not, or
 * -ENOMEM.
 */
static int adder__print_features(struct adder *a, uint32_t leaf, FILE *f)
{
	int by_gpu = 0, err = 0;
	unsigned int i;

	for (i = 0; features[i] && err >= 0; i++) {
		err = features[i]->kernel ? features[i]->kernel(a->session, leaf, f) : 0;
		by_gpu |= err > 0;
	}
	return err < 0 ? err : by_gpu;
}

/* Return: the text of a kernel's frame, which may be "", for the caller to free(); or NULL. */
static char *adder__kernel_text(struct adder *a, uint32_t leaf_idx)
{
	const struct model *m = &a->session->model;
	const struct leaf *leaf = &m->leaves.v[leaf_idx];
	const struct leaf_part *part = leaf__part(&m->leaves, leaf);
	const struct xpu_shape *shape = shapes__at(&m->shapes, leaf->shape);
	char *text = NULL, *how = NULL, *words = NULL;
	size_t size;
	int err;
	FILE *f = open_memstream(&words, &size);

	if (!f)
		return NULL;
	err = adder__print_features(a, part ? part->kernel : leaf_idx, f);
	if (fclose(f) || err < 0)
		goto out;
	if (shape) {
		how = shape__describe(shape, &m->gpus.list.v[leaf->gpu].limits);
		if (!how)
			goto out;
	}
	f = open_memstream(&text, &size);
	if (!f)
		goto out;
	if (!a->by && err && gpus__nr_used(&m->gpus) > 1)
		fprintf(f, "GPU %" PRIu32 ": ", m->gpus.list.v[leaf->gpu].number);
	fprintf(f, "%s%s", leaf->shape == SHAPE_SEVERAL ? "(several shapes)" : how ?: "", words);
	if (fclose(f)) {
		free(text);
		text = NULL;
	}
out:
	free(how);
	free(words);
	return text;
}

/*
 * Finds or adds the frame of a kernel. Instead of a file, it has the kernel's shape and what
 * features say about the kernel.
 */
static int adder__kernel(struct adder *a, uint32_t leaf_idx, const char *label, uint32_t *idx)
{
	const struct leaf *leaf = &a->session->model.leaves.v[leaf_idx];
	char *text = adder__kernel_text(a, leaf_idx);
	int err;

	if (!text)
		return -ENOMEM;
	err = adder__name(a, label, leaf->name, leaf->kind, *text ? text : NULL, idx);
	free(text);
	return err;
}

static int adder__leaf(struct adder *a, uint32_t leaf_idx, uint32_t *idx)
{
	const struct leaf *leaf = &a->session->model.leaves.v[leaf_idx];
	char label[LEAF_LABEL_MAX] = "";
	int err = 0;

	if (a->leaves.v[leaf_idx] == NO_INDEX) {
		if (a->by)
			leaf__label(&a->session->model.gpus, leaf, false, label);
		if (leaf->kind == LEAF_KERNEL)
			err = adder__kernel(a, leaf_idx, label, &a->leaves.v[leaf_idx]);
		else
			err = adder__name(a, label, leaf->name, leaf->kind, NULL,
					  &a->leaves.v[leaf_idx]);
	}
	*idx = a->leaves.v[leaf_idx];
	return err;
}

/* Moves *@node to its child with @frame. Return: 0 or -ENOMEM. */
static int tree__descend(struct tree *t, uint32_t *node, uint32_t frame)
{
	uint32_t hash = hash__mix(*node, frame, t->secret), child;
	const struct tree_node new = { *node, frame, t->nodes.v[*node].depth + 1 };
	int err = hashes_get(&t->by_edge, hash, &t->nodes, child,
			     t->nodes.v[child].parent == *node &&
			     t->nodes.v[child].frame == frame, new);

	if (!err)
		*node = child;
	return err;
}

/*
 * Finds or adds the cell of a node and an owner. *@value: its tree_cell.value. Return: 0 or
 * -ENOMEM.
 */
static int tree__cell(struct tree *t, unsigned int side, uint32_t node, uint32_t kind,
		      uint32_t owner, uint32_t *value)
{
	uint32_t hash = hash__mix(node, ID_KEY(kind, owner), t->secret), idx;
	static const struct tree_value none;

	if (hashes_get(&t->by_cell, hash, &t->cells, idx,
		       t->cells.v[idx].node == node && t->cells.v[idx].kind == kind &&
		       t->cells.v[idx].owner == owner,
		       ((struct tree_cell){
			       .node = node, .kind = kind, .owner = owner, .value = idx })))
		return -ENOMEM;
	*value = t->cells.v[idx].value;
	while (t->values[side].nr <= *value)
		if (array_push(&t->values[side], none))
			return -ENOMEM;
	return 0;
}

static int tree__add_value(struct tree *t, unsigned int side, uint32_t node, enum leaf_kind kind,
			   uint32_t owner, const struct aggregates *all, const struct aggregate *a)
{
	const struct aggregate_spread spread = aggregate__spread(all, a);
	struct tree_value *v;
	uint32_t idx;
	int err = tree__cell(t, side, node, kind, owner, &idx);

	if (err)
		return err;
	v = &t->values[side].v[idx];
	v->ns += a->sum_ns;
	v->nr += a->nr;
	v->bytes += spread.bytes;
	v->whole_ns += spread.whole_ns;
	return array_push(&t->cell_of[side], idx);
}

/* Descends to the frames of a stall's place and of its reason. */
static int adder__place(struct adder *a, const struct leaf_place *place, enum leaf_kind kind,
			uint32_t *node)
{
	const char *at = place->place;
	uint32_t frame;
	int err = 0;
	char *name;

	while (!err && (name = leaf_place__frame(&at))) {
		err = adder__name(a, "", name, kind, NULL, &frame) ?:
		      tree__descend(a->tree, node, frame);
		free(name);
	}
	return err ?: at ? -ENOMEM :
	       adder__name(a, place->label, place->reason, kind, NULL, &frame) ?:
	       tree__descend(a->tree, node, frame);
}

/* Moves *@node from the root frames down to an aggregate's work. Return: 0 or -ENOMEM. */
static int adder__descend(struct adder *a, const struct aggregate *agg, uint32_t *node)
{
	const struct session *s = a->session;
	const struct stack *stack = s->model.chains.v[agg->chain].stack;
	const struct leaf *leaf = &s->model.leaves.v[agg->leaf];
	uint32_t frame, i;
	int err = 0;

	for (i = 0; i < stack->nr && !err; i++)
		err = adder__frame(a, stack->frames[i], &frame) ?:
		      tree__descend(a->tree, node, frame);
	if (!err && leaf->kind != LEAF_CPU)
		err = adder__leaf(a, agg->leaf, &frame) ?: tree__descend(a->tree, node, frame);
	if (!err && leaf__part(&s->model.leaves, leaf))
		err = adder__place(a, leaf__part(&s->model.leaves, leaf)->place, leaf->kind, node);
	return err;
}

static int adder__add(struct adder *a, const struct aggregate *agg, unsigned int side)
{
	const struct session *s = a->session;
	enum leaf_kind kind = s->model.leaves.v[agg->leaf].kind;
	uint64_t work = ID_KEY(agg->chain, agg->leaf);
	uint32_t node = TREE_ROOT, owner = 0, frame, i, k;
	int err = 0;

	for (i = 0; a->by && i < by_list__nr(a->by); i++)
		for (k = 0; k < folded__nr_roots(s, agg, a->by->v[i]) && !err; k++)
			err = adder__root(a, agg, a->by->v[i], k, &frame) ?:
			      tree__descend(a->tree, &node, frame);
	/* With one thread, each pair of call path and leaf occurs only once. */
	if (a->by || s->sums.aggregates.owners.nr <= 1)
		err = err ?: adder__descend(a, agg, &node);
	else if (!idmap__get(&a->tree->by_work[side], work, &node))
		err = adder__descend(a, agg, &node) ?:
		      idmap__put(&a->tree->by_work[side], work, node);
	if (!err && !a->by)
		err = adder__owner(a, agg, &owner);
	return err ?: tree__add_value(a->tree, side, node, kind, owner, &s->sums.aggregates, agg);
}

static void adder__exit(struct adder *a)
{
	idmap__free(&a->by_frame);
	hashes__free(&a->by_owner_key);
	array_free(&a->owner_keys);
	array_free(&a->leaves);
	array_free(&a->buf);
	array_free(&a->root);
}

int tree__add(struct tree *t, const struct session *s, unsigned int side,
	      const struct by_list *by, uint32_t owners)
{
	struct adder a = { .tree = t, .session = s, .by = by, .owners = owners, .side = side };
	size_t i;
	int err = 0;

	for (i = 0; i < s->model.leaves.nr && !err; i++)
		err = array_push(&a.leaves, NO_INDEX);
	for (i = 0; i < s->sums.aggregates.nr && !err; i++)
		err = adder__add(&a, &s->sums.aggregates.v[i], side);
	adder__exit(&a);
	return err;
}

int tree__add_rest(struct tree *t, const struct session *s, const struct aggregate *like,
		   const char *name, uint32_t owners, uint32_t *value)
{
	struct adder a = { .tree = t, .session = s };
	enum leaf_kind kind = s->model.leaves.v[like->leaf].kind;
	uint32_t node = TREE_ROOT, frame, owner;
	int err;

	err = adder__name(&a, "", name, kind == LEAF_CPU ? TREE_FUNCTION : kind, NULL, &frame) ?:
	      tree__descend(t, &node, frame) ?:
	      adder__new_owner(&a, like, owners & 1u << BY_DEVICE, &owner) ?:
	      tree__cell(t, 0, node, kind, owner, value);
	adder__exit(&a);
	return err;
}

/* ---- paths that are given by names ----------------------------------------------------------- */

/* Moves *@node down along the frames of a path. */
static int adder__frames(struct adder *a, const char *frames, uint32_t *node)
{
	uint32_t frame;
	size_t len;
	int err = 0;

	for (; *frames && !err; frames += len + (frames[len] == ';')) {
		len = strcspn(frames, ";");
		a->root.nr = 0;
		err = array_reserve(&a->root, len + 1);
		if (err)
			break;
		memcpy(a->root.v, frames, len);
		a->root.v[len] = 0;
		err = adder__name(a, "", a->root.v, TREE_FUNCTION, NULL, &frame) ?:
		      tree__descend(a->tree, node, frame);
	}
	return err;
}

int tree__add_path(struct tree *t, unsigned int side, const struct tree_path *path, uint64_t ns)
{
	uint32_t node = TREE_ROOT, frame, value, idx = 0;
	struct adder a = { .tree = t };
	struct tree_owner owner;
	int err;

	memset(&owner, 0xff, sizeof(owner));	/* all members: NO_INDEX */
	err = tree__label(t, path->label, strlen(path->label), &owner.label[path->by]) ?:
	      tree__owner(t, &owner, &idx) ?: adder__frames(&a, path->frames, &node);
	if (!err && path->leaf)
		err = adder__name(&a, "", path->leaf, path->kind, NULL, &frame) ?:
		      tree__descend(t, &node, frame);
	adder__exit(&a);
	if (err)
		return err;
	err = tree__cell(t, side, node, path->kind, idx, &value);
	if (!err)
		t->values[side].v[value].ns += ns;
	return err;
}

/* ---- order ---------------------------------------------------------------------------------- */

/* the first child, and the next sibling, in the order of names */
struct links {
	uint32_t first_child, next;
};

struct sort_key {
	uint64_t key;			/* the parent, then the rank of the name */
	uint32_t idx;
};

static int frame__cmp(const void *va, const void *vb, void *ctx)
{
	const struct tree *t = ctx;
	uint32_t a = *(const uint32_t *)va, b = *(const uint32_t *)vb;

	return strcmp(t->frames.v[a].name, t->frames.v[b].name) ?:
	       cmp3(t->frames.v[a].kind, t->frames.v[b].kind);
}

static int sort_key__cmp(const void *va, const void *vb)
{
	const struct sort_key *a = va, *b = vb;

	return cmp3(a->key, b->key);
}

static int cell__cmp(const void *va, const void *vb)
{
	const struct tree_cell *a = va, *b = vb;

	return cmp3(a->node, b->node) ?: cmp3(a->kind, b->kind) ?: cmp3(a->owner, b->owner);
}

static int tree__link(const struct tree *t, struct links *links)
{
	size_t nr_frames = t->frames.nr, nr = t->nodes.nr, i;
	uint32_t *order = calloc(nr_frames + 1, sizeof(*order));
	uint32_t *rank = calloc(nr_frames + 1, sizeof(*rank));
	struct sort_key *keys = calloc(nr, sizeof(*keys));
	int err = -ENOMEM;

	if (!order || !rank || !keys)
		goto out;
	for (i = 0; i < nr_frames; i++)
		order[i] = i;
	if (nr_frames)
		qsort_r(order, nr_frames, sizeof(*order), frame__cmp, (void *)t);
	for (i = 0; i < nr_frames; i++)
		rank[order[i]] = i;
	for (i = 1; i < nr; i++)
		keys[i - 1] = (struct sort_key){
			(uint64_t)t->nodes.v[i].parent << 32 | rank[t->nodes.v[i].frame], i,
		};
	if (nr > 1)
		qsort(keys, nr - 1, sizeof(*keys), sort_key__cmp);
	for (i = 0; i < nr; i++)
		links[i] = (struct links){ NO_INDEX, NO_INDEX };
	/* Go backwards, because each child becomes the first of its siblings. */
	for (i = nr - 1; i > 0; i--) {
		uint32_t node = keys[i - 1].idx, parent = t->nodes.v[node].parent;

		links[node].next = links[parent].first_child;
		links[parent].first_child = node;
	}
	err = 0;
out:
	free(order);
	free(rank);
	free(keys);
	return err;
}

int tree__sort(struct tree *t)
{
	struct tree_node *nodes = calloc(t->nodes.nr, sizeof(*nodes));
	struct links *links = calloc(t->nodes.nr, sizeof(*links));
	uint32_t *place = calloc(t->nodes.nr, sizeof(*place));
	uint32_t node = TREE_ROOT, nr = 0;
	size_t i;
	int err;

	/* No look-ups follow. */
	tree__free_lookups(t);
	err = nodes && links && place ? tree__link(t, links) : -ENOMEM;
	if (err)
		goto out;
	while (node != NO_INDEX) {
		const struct tree_node *n = &t->nodes.v[node];

		nodes[nr] = *n;
		if (node != TREE_ROOT)
			nodes[nr].parent = place[n->parent];
		place[node] = nr++;
		if (links[node].first_child != NO_INDEX) {
			node = links[node].first_child;
			continue;
		}
		while (node != TREE_ROOT && links[node].next == NO_INDEX)
			node = t->nodes.v[node].parent;
		node = links[node].next;
	}
	memcpy(t->nodes.v, nodes, nr * sizeof(*nodes));
	for (i = 0; i < t->cells.nr; i++)
		t->cells.v[i].node = place[t->cells.v[i].node];
	array_qsort(&t->cells, cell__cmp);
out:
	free(nodes);
	free(links);
	free(place);
	return err;
}
