// SPDX-License-Identifier: GPL-3.0-or-later
#include "join/times.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Sums by aggregate and bin: some 60 bytes of memory each. A page has half as many at most. */
#define MAX_SUMS	500000
#define MAX_ROWS	200000

/* With more of them, a page is large without the times, and they are left out. */
#define MAX_AGGREGATES	90000

/* Spans of a device to keep before those that touch become one. */
#define MAX_SPANS	(1u << 20)

/* Of a bin: gaps shorter than that part of it are not seen in it, where there are too many of them. */
#define GAP_SHIFT	8

void times__init(struct times *t)
{
	memset(t, 0, sizeof(*t));
	bins__init(&t->sums, MAX_SUMS, MAX_AGGREGATES);
	bins__init(&t->rows, MAX_ROWS, MAX_ROWS);
}

void times__exit(struct times *t)
{
	size_t i;

	for (i = 0; i < t->spans.nr; i++)
		array_free(&t->spans.v[i].list);
	array_free(&t->spans);
	array_free(&t->row_list);
	array_free(&t->parts);
	idmap__free(&t->by_row);
	bins__exit(&t->sums);
	bins__exit(&t->rows);
}

int times__sum(struct times *t, uint32_t aggregate, uint64_t from_ns, uint64_t to_ns,
	       const struct bin_value *value)
{
	return t->wanted && from_ns ? bins__add(&t->sums, aggregate, from_ns, to_ns, value) : 0;
}

static int times__row(struct times *t, const struct times_row *row, uint32_t *idx)
{
	uint64_t key = ID_KEY(row->device ? row->gpu : row->thread, row->device ? NR_LEAF_KINDS : row->kind);

	if (idmap__get(&t->by_row, key, idx))
		return 0;
	*idx = t->row_list.nr;
	return array_push(&t->row_list, *row) ?: idmap__put(&t->by_row, key, *idx);
}

int times__thread(struct times *t, uint32_t thread, const char *comm, enum leaf_kind kind,
		  uint64_t from_ns, uint64_t to_ns, uint64_t ns)
{
	const struct times_row row = { .gpu = NO_INDEX, .thread = thread, .kind = kind };
	uint32_t idx;
	int err;

	if (!t->wanted || !from_ns)
		return 0;
	err = times__row(t, &row, &idx);
	if (err)
		return err;
	t->row_list.v[idx].comm = comm;
	return bins__add(&t->rows, idx, from_ns, to_ns, &(struct bin_value){ .ns = ns });
}

static int span__cmp(const void *va, const void *vb)
{
	const struct times_span *a = va, *b = vb;

	return cmp3(a->start_ns, b->start_ns) ?: cmp3(a->end_ns, b->end_ns);
}

/* Sorts the spans and joins those that are at most @gap_ns apart. */
static void spans__join(struct times_spans *spans, uint64_t gap_ns)
{
	size_t i, nr = 0;

	if (!spans->list.nr)
		return;
	qsort(spans->list.v, spans->list.nr, sizeof(*spans->list.v), span__cmp);
	for (i = 1; i < spans->list.nr; i++) {
		struct times_span *last = &spans->list.v[nr], *next = &spans->list.v[i];

		if (next->start_ns > last->end_ns && next->start_ns - last->end_ns > gap_ns)
			spans->list.v[++nr] = *next;
		else
			last->end_ns = max_t(uint64_t, last->end_ns, next->end_ns);
	}
	spans->list.nr = nr + 1;
}

int times__device(struct times *t, uint32_t gpu, uint64_t from_ns, uint64_t to_ns)
{
	struct times_spans *spans;
	struct times_span *last;
	int err = 0;

	if (!t->wanted || !from_ns || to_ns <= from_ns)
		return 0;
	while (!err && t->spans.nr <= gpu)
		err = array_push(&t->spans, ((struct times_spans){ .compact_at = MAX_SPANS }));
	if (err)
		return err;
	spans = &t->spans.v[gpu];
	last = spans->list.nr ? &spans->list.v[spans->list.nr - 1] : NULL;
	if (last && from_ns >= last->start_ns && from_ns <= last->end_ns) {
		last->end_ns = max_t(uint64_t, last->end_ns, to_ns);
		return 0;
	}
	if (spans->list.nr >= spans->compact_at) {
		spans__join(spans, 0);
		if (spans->list.nr > spans->compact_at / 2)
			spans__join(spans, (1ull << t->sums.scale.shift) >> GAP_SHIFT);
		spans->compact_at = 2 * spans->list.nr + MAX_SPANS;
	}
	return array_push(&spans->list, ((struct times_span){ from_ns, to_ns }));
}

static int absorb_rows(struct times *t, const struct times *from, struct remap *r)
{
	uint32_t *rows = calloc(from->row_list.nr + 1, sizeof(*rows));
	int err = rows ? 0 : -ENOMEM;
	size_t i;

	for (i = 0; i < from->row_list.nr && !err; i++) {
		struct times_row row = from->row_list.v[i];

		row.thread = remap__move(row.thread, r->thread);
		row.gpu = remap__find(r->gpus, row.gpu);
		row.comm = remap__text(r, row.comm);
		err = times__row(t, &row, &rows[i]);
		if (!err)
			t->row_list.v[rows[i]].comm = row.comm;
	}
	err = err ?: bins__absorb(&t->rows, &from->rows, rows, 0);
	free(rows);
	return err;
}

int times__absorb(struct times *t, const struct times *from, struct remap *r, uint32_t first)
{
	uint32_t gpu;
	size_t i;
	int err;

	if (!t->wanted)
		return 0;
	err = bins__absorb(&t->sums, &from->sums, NULL, first) ?: absorb_rows(t, from, r);
	for (gpu = 0; gpu < from->spans.nr && !err; gpu++) {
		const struct times_spans *spans = &from->spans.v[gpu];

		for (i = 0; i < spans->list.nr && !err; i++)
			err = times__device(t, r->gpus[gpu], spans->list.v[i].start_ns,
					    spans->list.v[i].end_ns);
	}
	return err;
}

static int times__finish_device(struct times *t, uint32_t gpu)
{
	const struct times_row row = { .device = true, .gpu = gpu, .thread = NO_INDEX };
	struct times_spans *spans = &t->spans.v[gpu];
	uint32_t idx;
	size_t i;
	int err;

	if (!spans->list.nr)
		return 0;
	spans__join(spans, 0);
	err = times__row(t, &row, &idx);
	for (i = 0; i < spans->list.nr && !err; i++) {
		const struct times_span *span = &spans->list.v[i];

		err = bins__add(&t->rows, idx, span->start_ns, span->end_ns,
				&(struct bin_value){ .ns = span->end_ns - span->start_ns });
	}
	array_free(&spans->list);
	return err;
}

int times__finish(struct times *t)
{
	uint32_t gpu;
	int err = 0;

	if (!t->wanted)
		return 0;
	for (gpu = 0; gpu < t->spans.nr && !err; gpu++)
		err = times__finish_device(t, gpu);
	/* The rows may have finer bins than the sums, but no coarser ones. */
	err = err ?: bins__widen(&t->sums, t->rows.scale.shift);
	bins__sort(&t->sums);
	bins__sort(&t->rows);
	return err;
}
