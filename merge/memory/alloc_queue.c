// SPDX-License-Identifier: GPL-3.0-or-later
#include "memory/alloc_queue.h"

bool alloc_event__is_before(const struct alloc_event *a, const struct alloc_event *b)
{
	return a->order < b->order;
}

bool alloc_event__is_earlier(const struct alloc_event *a, const struct alloc_event *b)
{
	return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->order < b->order;
}

int alloc_queue__push(struct alloc_queue *q, const struct alloc_event *event,
		      alloc_event_before_fn before)
{
	int err = array_push(&q->list, *event);
	size_t i, up;

	if (err)
		return err;
	for (i = q->list.nr - 1; i; i = up) {
		up = (i - 1) / 2;
		if (!before(event, &q->list.v[up]))
			break;
		q->list.v[i] = q->list.v[up];
	}
	q->list.v[i] = *event;
	return 0;
}

struct alloc_event alloc_queue__pop(struct alloc_queue *q, alloc_event_before_fn before)
{
	struct alloc_event first = q->list.v[0], last = q->list.v[--q->list.nr];
	size_t i, down;

	for (i = 0; (down = 2 * i + 1) < q->list.nr; i = down) {
		if (down + 1 < q->list.nr && before(&q->list.v[down + 1], &q->list.v[down]))
			down++;
		if (!before(&q->list.v[down], &last))
			break;
		q->list.v[i] = q->list.v[down];
	}
	q->list.v[i] = last;
	return first;
}
