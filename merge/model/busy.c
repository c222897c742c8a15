// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/busy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* maximum number of spans: far more than anybody could tell apart in a picture */
#define MAX_SPANS	(1u << 17)

/* A span that belongs before more spans than this is kept in the list of late spans. */
#define MAX_MOVED	64
/* maximum number of late spans */
#define MAX_LATE	4096

static int span__cmp(const void *va, const void *vb, void *ctx)
{
	const struct busy_span *a = va, *b = vb;

	(void)ctx;
	return cmp3(a->start_ns, b->start_ns) ?: cmp3(a->end_ns, b->end_ns);
}

/*
 * Joins @to with a span that it touches or overlaps. The gaps of both spans count, although each
 * span may fill gaps of the other span.
 */
static void span__swallow(struct busy_span *to, const struct busy_span *span)
{
	if (span->end_ns <= to->end_ns)
		return;
	to->end_ns = span->end_ns;
	to->gaps_ns += span->gaps_ns;
	to->gaps_ns = min_t(uint64_t, to->gaps_ns, to->end_ns - to->start_ns);
}

/* Adds a span that does not begin before the last span of a list. Return: 0 or -ENOMEM. */
static int spans__append(busy_spans_t *list, const struct busy_span *span)
{
	struct busy_span *last = list->nr ? &list->v[list->nr - 1] : NULL;

	if (!last || span->start_ns > last->end_ns)
		return array_push(list, *span);
	span__swallow(last, span);
	return 0;
}

/* Moves the late spans to their places. Return: 0 or -ENOMEM. */
static int busy__place_late(struct busy *b)
{
	busy_spans_t list = { 0 };
	size_t i = 0, k = 0;
	int err = 0;

	if (!b->late.nr)
		return 0;
	array__sort(b->late.v, b->late.nr, sizeof(*b->late.v), span__cmp, NULL);
	while ((i < b->spans.nr || k < b->late.nr) && !err) {
		bool late = i == b->spans.nr ||
			    (k < b->late.nr && b->late.v[k].start_ns < b->spans.v[i].start_ns);

		err = spans__append(&list, late ? &b->late.v[k++] : &b->spans.v[i++]);
	}
	if (err) {
		array_free(&list);
		return err;
	}
	array_free(&b->spans);
	array_free(&b->late);
	b->spans = list;
	return 0;
}

/*
 * Joins the first @nr spans where the gaps between them are at most @gap_ns. Return: how many of
 * these spans remain.
 */
static size_t busy__join(struct busy *b, size_t nr, uint64_t gap_ns)
{
	struct busy_span *v = b->spans.v;
	size_t i, to = 0;

	for (i = 1; i < nr; i++) {
		uint64_t gap = v[i].start_ns - v[to].end_ns;

		if (gap > gap_ns) {
			v[++to] = v[i];
			continue;
		}
		v[to].gaps_ns += v[i].gaps_ns + gap;
		v[to].end_ns = v[i].end_ns;
	}
	memmove(v + to + 1, v + nr, (b->spans.nr - nr) * sizeof(*v));
	b->spans.nr -= nr - to - 1;
	return to + 1;
}

/*
 * Joins older spans to make room. The newest spans stay as they are, because later spans may still
 * belong between them.
 * Return: 0 or -ENOMEM.
 */
static int busy__make_room(struct busy *b)
{
	int err = busy__place_late(b);
	size_t nr = b->spans.nr;
	uint64_t gap_ns;

	if (err || nr < MAX_SPANS)
		return err;
	nr -= MAX_SPANS / 4;
	for (gap_ns = 1; nr > MAX_SPANS / 4 && gap_ns; gap_ns <<= 1)
		nr = busy__join(b, nr, gap_ns);
	return 0;
}

/* Joins span @at with the following spans that it touches or overlaps. */
static void busy__swallow(struct busy *b, size_t at)
{
	struct busy_span *v = b->spans.v;
	size_t next = at + 1;

	for (; next < b->spans.nr && v[next].start_ns <= v[at].end_ns; next++)
		span__swallow(&v[at], &v[next]);
	memmove(v + at + 1, v + next, (b->spans.nr - next) * sizeof(*v));
	b->spans.nr -= next - at - 1;
}

/* Adds a span that belongs before span @at. Return: 0 or -ENOMEM. */
static int busy__insert(struct busy *b, size_t at, uint64_t start_ns, uint64_t end_ns)
{
	struct busy_span *v = b->spans.v;

	if (at && start_ns <= v[at - 1].end_ns) {
		at--;
	} else if (at < b->spans.nr && end_ns >= v[at].start_ns) {
		v[at].start_ns = start_ns;
	} else {
		if (array_push(&b->spans, ((struct busy_span){ 0 })))
			return -ENOMEM;
		v = b->spans.v;
		memmove(v + at + 1, v + at, (b->spans.nr - 1 - at) * sizeof(*v));
		v[at] = (struct busy_span){ start_ns, end_ns, 0 };
	}
	if (end_ns > v[at].end_ns) {
		v[at].end_ns = end_ns;
		busy__swallow(b, at);
	}
	return 0;
}

int busy__add(struct busy *b, uint64_t start_ns, uint64_t end_ns)
{
	struct busy_span *last = b->spans.nr ? &b->spans.v[b->spans.nr - 1] : NULL;
	size_t at = b->spans.nr, least;
	int err = 0;

	if (end_ns <= start_ns)
		return 0;
	if (!b->last_ns || start_ns < b->first_ns)
		b->first_ns = start_ns;
	b->last_ns = max_t(uint64_t, b->last_ns, end_ns);
	if (last && start_ns >= last->start_ns && start_ns <= last->end_ns) {
		last->end_ns = max_t(uint64_t, last->end_ns, end_ns);
		return 0;
	}
	if (b->spans.nr >= MAX_SPANS || b->late.nr >= MAX_LATE) {
		err = busy__make_room(b);
		if (err)
			return err;
		at = b->spans.nr;
	}
	least = at > MAX_MOVED ? at - MAX_MOVED : 0;
	while (at > least && b->spans.v[at - 1].start_ns > start_ns)
		at--;
	if (at && at == least && b->spans.v[at - 1].start_ns > start_ns)
		return array_push(&b->late, ((struct busy_span){ start_ns, end_ns, 0 }));
	return busy__insert(b, at, start_ns, end_ns);
}

int busy__absorb(struct busy *b, struct busy *from)
{
	struct busy none = { 0 };
	size_t i;
	int err = busy__place_late(from);

	if (err || !from->last_ns)
		return err;
	if (!b->last_ns) {
		busy__free(b);
		*b = *from;
		*from = none;
		return 0;
	}
	b->first_ns = min_t(uint64_t, b->first_ns, from->first_ns);
	b->last_ns = max_t(uint64_t, b->last_ns, from->last_ns);
	for (i = 0; i < from->spans.nr && !err; i++)
		err = array_push(&b->late, from->spans.v[i]);
	busy__free(from);
	return err ?: busy__make_room(b);
}

int busy__finish(struct busy *b)
{
	return busy__place_late(b);
}

uint64_t busy__ns(const struct busy *b)
{
	uint64_t sum_ns = 0;
	size_t i;

	for (i = 0; i < b->spans.nr; i++)
		sum_ns += busy_span__ns(&b->spans.v[i]);
	return sum_ns;
}

void busy__free(struct busy *b)
{
	array_free(&b->spans);
	array_free(&b->late);
}
