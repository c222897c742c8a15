// SPDX-License-Identifier: GPL-3.0-or-later
#include "import/nest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct open_range {
	const struct nest_range *range;
	uint32_t node;
	uint64_t first_end_ns;		/* earliest end of this range and all ranges before it */
};

struct sweep {
	struct nest *nest;
	uint32_t root;
	ARRAY(struct open_range) open;
};

static int nest_range__compare(const void *a, const void *b, void *ctx __attribute__((unused)))
{
	const struct nest_range *x = a, *y = b;

	/* If several ranges begin together, the longest is the outer range. */
	return cmp3(x->thread, y->thread) ?: cmp3(x->start_ns, y->start_ns) ?:
	       cmp3(y->end_ns, x->end_ns) ?: cmp3(x->item, y->item);
}

static int nest_point__compare(const void *a, const void *b, void *ctx __attribute__((unused)))
{
	const struct nest_point *x = a, *y = b;

	return cmp3(x->thread, y->thread) ?: cmp3(x->time_ns, y->time_ns) ?: cmp3(x->item, y->item);
}

static uint32_t sweep__node(const struct sweep *s)
{
	return s->open.nr ? s->open.v[s->open.nr - 1].node : s->root;
}

/*
 * Finds new nodes for the range at @place and all ranges after it, because a range before them was
 * inserted or removed.
 */
static void sweep__rename(struct sweep *s, size_t place)
{
	struct open_range *o;

	for (; place < s->open.nr; place++) {
		o = &s->open.v[place];
		o->node = s->nest->enter(s->nest->ctx, place ? o[-1].node : s->root, o->range);
		o->first_end_ns = o->range->end_ns;
		if (place)
			o->first_end_ns = min_t(uint64_t, o->first_end_ns, o[-1].first_end_ns);
	}
}

static void sweep__close(struct sweep *s, uint64_t until_ns)
{
	const struct nest_range *range;
	uint64_t end_ns;
	size_t place;

	while (s->open.nr && s->open.v[s->open.nr - 1].first_end_ns <= until_ns) {
		end_ns = s->open.v[s->open.nr - 1].first_end_ns;
		/* If several ranges end together, the inner range ends first. */
		for (place = s->open.nr - 1; s->open.v[place].range->end_ns != end_ns; place--)
			;
		range = s->open.v[place].range;
		s->open.nr--;
		memmove(&s->open.v[place], &s->open.v[place + 1],
			(s->open.nr - place) * sizeof(*s->open.v));
		sweep__rename(s, place);
		if (s->nest->event)
			s->nest->event(s->nest->ctx, range, false, end_ns, sweep__node(s), place);
	}
}

static int sweep__open(struct sweep *s, const struct nest_range *range)
{
	struct open_range o = { .range = range };
	int err;

	sweep__close(s, range->start_ns);
	if (s->open.nr >= s->nest->max_depth) {
		s->nest->nr_too_deep++;
		return 0;
	}
	err = array_push(&s->open, o);
	if (err)
		return err;
	sweep__rename(s, s->open.nr - 1);
	if (s->nest->event)
		s->nest->event(s->nest->ctx, range, true, range->start_ns, sweep__node(s),
			       s->open.nr - 1);
	return 0;
}

int nest__sweep(struct nest *n, struct nest_range *ranges, size_t nr_ranges,
		struct nest_point *points, size_t nr_points)
{
	size_t range = 0, point = 0;
	struct sweep s = { .nest = n };
	uint32_t thread;
	int err = 0;

	array__sort(ranges, nr_ranges, sizeof(*ranges), nest_range__compare, NULL);
	array__sort(points, nr_points, sizeof(*points), nest_point__compare, NULL);
	while (!err && (range < nr_ranges || point < nr_points)) {
		thread = min_t(uint32_t, range < nr_ranges ? ranges[range].thread : UINT32_MAX,
			       point < nr_points ? points[point].thread : UINT32_MAX);
		s.root = n->root(n->ctx, thread);
		for (; point < nr_points && points[point].thread == thread && !err; point++) {
			for (; range < nr_ranges && ranges[range].thread == thread &&
			       ranges[range].start_ns <= points[point].time_ns && !err; range++)
				err = sweep__open(&s, &ranges[range]);
			sweep__close(&s, points[point].time_ns);
			points[point].node = sweep__node(&s);
		}
		for (; range < nr_ranges && ranges[range].thread == thread && !err; range++)
			err = sweep__open(&s, &ranges[range]);
		sweep__close(&s, UINT64_MAX);
	}
	array_free(&s.open);
	return err;
}

/* ---- paths of names -------------------------------------------------------------------------- */

void paths__free(struct paths *p)
{
	array_free(&p->nodes);
	idmap__free(&p->children);
}

static uint32_t paths__node(struct paths *p, uint64_t key, const struct path_node *new)
{
	static const struct path_node none;
	uint32_t node;

	if (p->err)
		return 0;
	if (idmap__get(&p->children, key, &node))
		return node;
	if (!p->nodes.nr)
		p->err = array_push(&p->nodes, none);
	node = p->nodes.nr;
	p->err = p->err ?: idmap__put(&p->children, key, node);
	p->err = p->err ?: array_push(&p->nodes, *new);
	return p->err ? 0 : node;
}

uint32_t paths__root(struct paths *p, uint32_t proc)
{
	struct path_node new = { .proc = proc };

	return paths__node(p, ID_KEY(0, proc), &new);
}

uint32_t paths__child(struct paths *p, uint32_t node, const char *name)
{
	struct path_node new = { .parent = node, .name = name };

	if (!node)
		return 0;
	new.proc = p->nodes.v[node].proc;
	return paths__node(p, ID_KEY(node, strpool__id(name)), &new);
}
