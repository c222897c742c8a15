// SPDX-License-Identifier: GPL-3.0-or-later
#include "join/times.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* maximum number of sums (by aggregate and bin, 24 bytes each); a page has at most half as many */
#define MAX_SUMS	500000
#define MAX_ROWS	200000

static uint32_t row__group(void *ctx, uint32_t key)
{
	const struct times *t = ctx;

	return key < t->row_list.nr && !t->row_list.v[key].device ?
	       t->row_list.v[key].kind : NR_LEAF_KINDS;
}

void times__init(struct times *t, const struct bins_keys *aggregates, size_t max)
{
	memset(t, 0, sizeof(*t));
	bins__init(&t->sums, max ?: MAX_SUMS, aggregates);
	bins__init(&t->rows, max ?: MAX_ROWS, &(struct bins_keys){ .group = row__group, .ctx = t });
}

void times__exit(struct times *t)
{
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
	uint64_t key = ID_KEY(row->device ? row->gpu : row->thread,
			      row->device ? NR_LEAF_KINDS : row->kind);

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

static int absorb_rows(struct times *t, const struct times *from, struct remap *r,
		       const uint32_t *groups)
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
	err = err ?: bins__absorb(&t->rows, &from->rows, rows, 0, groups);
	free(rows);
	return err;
}

int times__absorb(struct times *t, const struct times *from, struct remap *r, uint32_t first)
{
	uint32_t *groups, i;
	int err;

	if (!t->wanted)
		return 0;
	groups = calloc(BINS_GROUPS, sizeof(*groups));
	if (!groups)
		return -ENOMEM;
	for (i = 0; i < BINS_GROUPS; i++)
		groups[i] = i;
	err = absorb_rows(t, from, r, groups);
	for (i = NR_LEAF_KINDS; i < from->sums.groups.nr; i++)
		groups[i] = TIMES_GROUP(i % NR_LEAF_KINDS, r->gpus[i / NR_LEAF_KINDS - 1]);
	err = err ?: bins__absorb(&t->sums, &from->sums, NULL, first, groups);
	free(groups);
	return err;
}

/* Adds the row of a device. Return: 0 or -ENOMEM. */
static int times__device(struct times *t, uint32_t gpu, const struct busy *busy)
{
	const struct times_row row = { .device = true, .gpu = gpu, .thread = NO_INDEX };
	uint32_t idx;
	int err;

	if (!busy->spans.nr)
		return 0;
	err = times__row(t, &row, &idx);
	array_each_while(&busy->spans, span, !err) {
		err = bins__add(&t->rows, idx, span->start_ns, span->end_ns,
				&(struct bin_value){ .ns = busy_span__ns(span) });
	}
	return err;
}

int times__finish(struct times *t, const struct busy *busy, size_t nr)
{
	uint32_t gpu;
	int err = 0;

	if (!t->wanted)
		return 0;
	for (gpu = 0; gpu < nr && !err; gpu++)
		err = times__device(t, gpu, &busy[gpu]);
	err = err ?: bins__finish(&t->rows, t->rows.max_sums) ?:
	      bins__finish(&t->sums, t->sums.max_sums / 2);
	/* Rows may have finer bins than the sums, but not coarser bins. */
	return err ?: bins__widen(&t->sums, t->rows.scale.shift);
}
