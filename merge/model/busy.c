// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/busy.h"

#include <stdlib.h>

/* Spans to keep: half a million are far more than the pieces of work that arrive out of order. */
#define MAX_SPANS	(1u << 19)

static int span__cmp(const void *va, const void *vb)
{
	const struct busy_span *a = va, *b = vb;

	return cmp3(a->start_ns, b->start_ns) ?: cmp3(a->end_ns, b->end_ns);
}

/* Sorts the spans and joins those that overlap. */
static void busy__join(struct busy *b)
{
	size_t i, nr = 0;

	if (!b->unsorted || !b->spans.nr)
		return;
	qsort(b->spans.v, b->spans.nr, sizeof(*b->spans.v), span__cmp);
	for (i = 1; i < b->spans.nr; i++) {
		struct busy_span *last = &b->spans.v[nr], *next = &b->spans.v[i];

		if (next->start_ns > last->end_ns)
			b->spans.v[++nr] = *next;
		else
			last->end_ns = max_t(uint64_t, last->end_ns, next->end_ns);
	}
	b->spans.nr = nr + 1;
	b->unsorted = false;
}

/* Forgets the first @nr spans, which are joined. */
static void busy__settle(struct busy *b, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++)
		b->done_ns += b->spans.v[i].end_ns - b->spans.v[i].start_ns;
	if (nr)
		b->until_ns = b->spans.v[nr - 1].end_ns;
	for (i = nr; i < b->spans.nr; i++)
		b->spans.v[i - nr] = b->spans.v[i];
	b->spans.nr -= nr;
}

int busy__add(struct busy *b, uint64_t start_ns, uint64_t end_ns)
{
	struct busy_span *last = b->spans.nr ? &b->spans.v[b->spans.nr - 1] : NULL;

	if (end_ns <= start_ns)
		return 0;
	if (!b->last_ns || start_ns < b->first_ns)
		b->first_ns = start_ns;
	b->last_ns = max_t(uint64_t, b->last_ns, end_ns);
	start_ns = max_t(uint64_t, start_ns, b->until_ns);
	if (end_ns <= start_ns)
		return 0;
	if (last && start_ns >= last->start_ns && start_ns <= last->end_ns) {
		last->end_ns = max_t(uint64_t, last->end_ns, end_ns);
		return 0;
	}
	if (last && start_ns < last->start_ns)
		b->unsorted = true;
	if (b->spans.nr >= MAX_SPANS) {
		busy__join(b);
		if (b->spans.nr > MAX_SPANS / 2)
			busy__settle(b, b->spans.nr - MAX_SPANS / 4);
		start_ns = max_t(uint64_t, start_ns, b->until_ns);
		if (end_ns <= start_ns)
			return 0;
		b->unsorted = true;	/* the span may be before the last one */
	}
	return array_push(&b->spans, ((struct busy_span){ start_ns, end_ns }));
}

int busy__absorb(struct busy *b, struct busy *from)
{
	struct busy none = { 0 };
	size_t i;
	int err = 0;

	busy__join(from);
	if (!b->last_ns) {
		busy__free(b);
		*b = *from;
		*from = none;
		return 0;
	}
	for (i = 0; i < from->spans.nr && !err; i++)
		err = busy__add(b, from->spans.v[i].start_ns, from->spans.v[i].end_ns);
	if (from->last_ns)
		b->first_ns = min_t(uint64_t, b->first_ns, from->first_ns);
	b->done_ns += from->done_ns;
	return err;
}

void busy__finish(struct busy *b)
{
	busy__join(b);
}

uint64_t busy__ns(const struct busy *b)
{
	uint64_t sum_ns = b->done_ns;
	size_t i;

	for (i = 0; i < b->spans.nr; i++)
		sum_ns += b->spans.v[i].end_ns - b->spans.v[i].start_ns;
	return sum_ns;
}

void busy__free(struct busy *b)
{
	array_free(&b->spans);
}
