// SPDX-License-Identifier: GPL-3.0-or-later
#include "memory/results.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "human.h"
#include "memory/state.h"
#include "memory/views.h"
#include "write/page_json.h"
#include "write/shorten.h"
#include "xpu_time.h"

/* Prints which memory the flame graph shows; "" if the flame graph shows times. */
static void print_memory(struct json_out *j, const struct session *s)
{
	static const char *const views[] = {
		[MEMORY_LIVE] = "GPU memory in use at the end",
		[MEMORY_PEAK] = "GPU memory at its peak",
		[MEMORY_ALLOCATED] = "GPU memory allocated in all",
		[MEMORY_LEAKED] = "GPU memory never freed",
		[MEMORY_FAILED] = "GPU memory that CUDA refused",
	};
	enum memory_view view = memory_view(&s->opts);
	struct moments moments = memory__moments(&s->opts);
	char at[HUMAN_MAX], text[64];

	if (view == MEMORY_LIVE && moments.at_failure)
		snprintf(text, sizeof(text), "GPU memory when CUDA last refused");
	else if (view == MEMORY_LIVE && moments.nr)
		snprintf(text, sizeof(text), "GPU memory in use at %s",
			 human__time(at, moments.at_ns[moments.nr - 1]));
	else
		snprintf(text, sizeof(text), "%s", views[view] ?: "");
	json_out__key(j, "memory");
	json_out__string(j, text);
	json_out__line(j, 0);
}

/* Prints the frames of a call path, root first, as an array. */
static void print_path(struct json_out *j, char *path)
{
	const char frame[] = { SHORTEN_FRAME, '\0' };
	char *rest = NULL, *name;

	page__open_array(j, "path");
	for (name = strtok_r(path, frame, &rest); name; name = strtok_r(NULL, frame, &rest))
		json_out__string(j, name);
	json_out__close(j, ']');
}

/* Prints when the most memory was in use, and who held most of it. Return: 0 or -ENOMEM. */
static int print_peak(struct json_out *j, const struct session *s)
{
	struct memory_peak peak;
	int err = memory__peak(s, &peak);

	json_out__key(j, "peak");
	if (err || !peak.bytes) {
		json_out__literal(j, "null");
		goto out;
	}
	json_out__open(j, '{');
	json_out__member_u64(j, "bytes", peak.bytes);
	json_out__member_u64(j, "at_ns", peak.at_ns);
	json_out__member_u64(j, "nr_recordings", peak.nr_recordings);
	json_out__member_u64(j, "used", heap_parts__used(&peak.parts));
	json_out__member_u64(j, "blocks", peak.parts.blocks);
	json_out__member_u64(j, "outside", peak.parts.outside);
	json_out__member_u64(j, "reserved", heap_parts__reserved(&peak.parts));
	json_out__member_u64(j, "fragmentation", peak.parts.fragmentation);
	json_out__member_u64(j, "unused", peak.parts.unused);
	json_out__member_u64(j, "rest", peak.parts.rest);
	json_out__member_u64(j, "host", peak.host_bytes);
	json_out__member_u64(j, "held", heap_parts__held(&peak.parts) + peak.host_bytes);
	if (peak.holder) {
		json_out__member_u64(j, "holder_bytes", peak.holder_bytes);
		print_path(j, peak.holder);
	}
	json_out__close(j, '}');
out:
	json_out__line(j, 0);
	free(peak.holder);
	return err;
}

int memory__page_head(const struct session *s, struct json_out *j)
{
	print_memory(j, s);
	return print_peak(j, s);
}

/* ---- over time ------------------------------------------------------------------------------- */

/*
 * The member "memory_time" of a side:
 *
 *	{ "first": whether the page opens on memory, "nr_heaps": number of heaps in all
 *					recordings,
 *	  "kinds": [ [ "block", "used": the kind's part, see struct heap_parts ], ... ],
 *	  "heaps": [ { "from_ns", "to_ns": since the start, "step_ns", "nr": number of steps,
 *		       "peak", "peak_ns": of all devices together,
 *		       "places": [ { "gpu": its number, missing for the host, "peak", "peak_ns",
 *				     "at": [ ... ], "used": [ ... ], "reserved": [ ... ] } ],
 *		       "failures": [ { "at_ns", "bytes" } ],
 *		       "names": [ ... ], "name": [ by node ], "parent": [ by node, or -1 ],
 *		       "node", "place": [ by holder: its call path, and the frame of its place ],
 *		       "kind", "device": [ by holder: index in kinds, and index in places ],
 *		       "at_peak", "at_failure": [ by holder: bytes at the peak, and at a refusal ],
 *		       "holder", "step", "bytes": [ a holder's bytes at the end of a step, if
 *						     they changed during the step ] } ] }
 */
#define MAX_PAGE_HEAPS	1		/* the page shows the memory of one recording */

struct path_node {
	uint32_t name, parent;		/* parent NO_INDEX: a root */
};

/* call paths as a tree, so that paths share their outer frames */
struct page_paths {
	ARRAY(const char *) names;
	struct idmap by_name;
	ARRAY(struct path_node) nodes;
	struct hashes by_edge;
	uint64_t secret;
};

static void page_paths__exit(struct page_paths *p)
{
	array_free(&p->names);
	idmap__free(&p->by_name);
	array_free(&p->nodes);
	hashes__free(&p->by_edge);
}

/* Finds or adds a node. @name: interned. Return: 0 or -ENOMEM. */
static int page_paths__node(struct page_paths *p, const char *name, uint32_t parent, uint32_t *node)
{
	uint32_t idx, hash;
	int err = 0;

	if (!idmap__get(&p->by_name, (uintptr_t)name, &idx)) {
		idx = p->names.nr;
		err = array_push(&p->names, name) ?: idmap__put(&p->by_name, (uintptr_t)name, idx);
	}
	hash = hash__mix(idx, parent, p->secret);
	return err ?: hashes_get(&p->by_edge, hash, &p->nodes, *node,
				 p->nodes.v[*node].name == idx &&
				 p->nodes.v[*node].parent == parent,
				 ((struct path_node){ idx, parent }));
}

/*
 * Finds or adds a call path. @node: its innermost frame; @place: the frame that names its place.
 * Return: 0 or -ENOMEM.
 */
static int page_paths__add(struct page_paths *p, const struct stack *stack, uint32_t *node,
			   uint32_t *place)
{
	const struct frame *best = stack__place(stack);
	uint32_t i;
	int err = 0;

	*node = *place = NO_INDEX;
	for (i = 0; i < stack->nr && !err; i++) {
		err = page_paths__node(p, stack->frames[i]->name, *node, node);
		if (stack->frames[i] == best)
			*place = *node;
	}
	return err;
}

static void print_node(struct json_out *j, size_t i, uint32_t node)
{
	if (node == NO_INDEX)
		json_out__literal(j, "-1");
	else
		page__number(j, i, node);
}

/* Prints the frames of all call paths. */
static void print_paths(struct json_out *j, const struct page_paths *p)
{
	size_t i;

	page__open_array(j, "names");
	for (i = 0; i < p->names.nr; i++) {
		if (i)
			json_out__line(j, 0);
		json_out__string(j, p->names.v[i]);
	}
	page__next_array(j, "name");
	for (i = 0; i < p->nodes.nr; i++)
		page__number(j, i, p->nodes.v[i].name);
	page__next_array(j, "parent");
	for (i = 0; i < p->nodes.nr; i++)
		print_node(j, i, p->nodes.v[i].parent);
	json_out__close(j, ']');
	json_out__line(j, 0);
}

/* Return: the name of the part that memory of a kind belongs to. */
static const char *part_of(enum heap_kind kind)
{
	struct heap_parts p = { 0 };

	heap_parts__add(&p, kind, 1);
	return heap_parts__used(&p) ? "used" : p.fragmentation ? "fragmentation" :
	       p.unused ? "unused" : p.rest ? "rest" : "";
}

static void print_kinds(struct json_out *j)
{
	enum heap_kind kind;

	page__open_array(j, "kinds");
	for (kind = 0; kind < HEAP_NR_KINDS; kind++) {
		json_out__open(j, '[');
		json_out__string(j, heap_kind__name(kind));
		json_out__string(j, part_of(kind));
		json_out__close(j, ']');
	}
	json_out__close(j, ']');
	json_out__line(j, 0);
}

static void print_since(struct json_out *j, size_t i, const struct session *s, uint64_t ns)
{
	page__number(j, i, xpu_ns_between(s->model.start_ns, ns));
}

/* Prints the levels of a device, or of the host, over time. */
static void print_place(struct json_out *j, const struct session *s, const struct heap_place *p)
{
	size_t i;

	json_out__open(j, '{');
	if (p->gpu != NO_INDEX)
		json_out__member_u64(j, "gpu", s->model.gpus.list.v[p->gpu].number);
	json_out__member_u64(j, "peak", p->used.peak);
	json_out__member_u64(j, "peak_ns", xpu_ns_between(s->model.start_ns, p->used.peak_ns));
	page__open_array(j, "at");
	for (i = 0; i < p->track.nr; i++)
		print_since(j, i, s, p->track.v[i].time_ns);
	page__next_array(j, "used");
	for (i = 0; i < p->track.nr; i++)
		page__number(j, i, p->track.v[i].used);
	page__next_array(j, "reserved");
	for (i = 0; i < p->track.nr; i++)
		page__number(j, i, p->track.v[i].reserved);
	json_out__close(j, ']');
	json_out__close(j, '}');
}

/* Prints the requests that CUDA refused. */
static void print_failures(struct json_out *j, const struct session *s, const struct heap *h)
{
	size_t i;

	page__open_array(j, "failures");
	for (i = 0; i < h->failures.nr; i++) {
		json_out__open(j, '{');
		json_out__member_u64(j, "at_ns", xpu_ns_between(s->model.start_ns,
								h->failures.v[i].time_ns));
		json_out__member_u64(j, "bytes", h->failures.v[i].bytes);
		json_out__close(j, '}');
	}
	json_out__close(j, ']');
	json_out__line(j, 0);
}

/* Prints who held memory at the peak, at the last refusal, and at the end of each step of time. */
static int print_holders(struct json_out *j, const struct session *s, const struct heap *h)
{
	uint32_t *node = calloc(h->holders.nr + 1, sizeof(*node));
	uint32_t *place = calloc(h->holders.nr + 1, sizeof(*place));
	struct page_paths paths = { .secret = secret() };
	int err = node && place ? 0 : -ENOMEM;
	const struct holder *v = h->holders.v;
	size_t i;

	for (i = 0; i < h->holders.nr && !err; i++)
		err = page_paths__add(&paths, s->model.chains.v[v[i].key.chain].stack, &node[i],
				      &place[i]);
	if (err)
		goto out;
	print_paths(j, &paths);
	page__open_array(j, "node");
	for (i = 0; i < h->holders.nr; i++)
		print_node(j, i, node[i]);
	page__next_array(j, "place");
	for (i = 0; i < h->holders.nr; i++)
		print_node(j, i, place[i]);
	page__next_array(j, "kind");
	for (i = 0; i < h->holders.nr; i++)
		page__number(j, i, v[i].key.kind);
	page__next_array(j, "device");
	for (i = 0; i < h->holders.nr; i++)
		page__number(j, i, v[i].key.place);
	page__next_array(j, "at_peak");
	for (i = 0; i < h->holders.nr; i++)
		page__number(j, i, holder__at(h, &v[i], HEAP_PEAK).bytes);
	page__next_array(j, "at_failure");
	for (i = 0; i < h->holders.nr && h->nr_failures; i++)
		page__number(j, i, holder__at(h, &v[i], HEAP_ASKED).bytes);
	page__next_array(j, "holder");
	for (i = 0; i < h->steps.nr; i++)
		page__number(j, i, h->steps.v[i].holder);
	page__next_array(j, "step");
	for (i = 0; i < h->steps.nr; i++)
		page__number(j, i, h->steps.v[i].step);
	page__next_array(j, "bytes");
	for (i = 0; i < h->steps.nr; i++)
		page__number(j, i, h->steps.v[i].bytes);
	json_out__close(j, ']');
out:
	page_paths__exit(&paths);
	free(node);
	free(place);
	return err;
}

static int print_heap(struct json_out *j, const struct session *s, const struct heap *h)
{
	size_t i;
	int err;

	json_out__open(j, '{');
	json_out__member_u64(j, "from_ns", xpu_ns_between(s->model.start_ns, h->from_ns));
	json_out__member_u64(j, "to_ns", xpu_ns_between(s->model.start_ns, h->to_ns));
	json_out__member_u64(j, "step_ns", h->step_ns);
	json_out__member_u64(j, "nr", h->step + 1);
	json_out__member_u64(j, "peak", h->used.peak);
	json_out__member_u64(j, "peak_ns", xpu_ns_between(s->model.start_ns, h->used.peak_ns));
	page__open_array(j, "places");
	for (i = 0; i < h->places.nr; i++) {
		if (i)
			json_out__line(j, 0);
		print_place(j, s, &h->places.v[i]);
	}
	json_out__close(j, ']');
	json_out__line(j, 0);
	print_failures(j, s, h);
	err = print_holders(j, s, h);
	json_out__close(j, '}');
	return err;
}

int memory__page(const struct session *s, struct json_out *j)
{
	const struct memory_state *memory = memory_state__of(&s->model);
	size_t i;
	int err = 0;

	/* If the flame graph shows the memory of one moment, the page has no times. */
	if (memory_view(&s->opts) || !s->opts.by_time)
		return 0;
	json_out__key(j, "memory_time");
	json_out__open(j, '{');
	json_out__key(j, "first");
	json_out__literal(j, session__was_given(s, "--memory-only", strlen("--mem")) ?
			  "true" : "false");
	json_out__member_u64(j, "nr_heaps", memory->heaps.nr);
	print_kinds(j);
	page__open_array(j, "heaps");
	for (i = 0; i < memory->heaps.nr && i < MAX_PAGE_HEAPS && !err; i++) {
		if (i)
			json_out__line(j, 0);
		err = print_heap(j, s, &memory->heaps.v[i]);
	}
	json_out__close(j, ']');
	json_out__close(j, '}');
	json_out__line(j, 0);
	return err;
}
