// SPDX-License-Identifier: GPL-3.0-or-later
#include "write/section.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Rows are pointers to the statistics of all leaves of one name: it may have run on several GPUs. */

static int leaf_stats__cmp_time(const void *va, const void *vb)
{
	const struct leaf_stats *a = *(const struct leaf_stats *const *)va;
	const struct leaf_stats *b = *(const struct leaf_stats *const *)vb;

	return cmp3(stats__sum(&b->ns), stats__sum(&a->ns)) ?: cmp3(b->ns.nr, a->ns.nr) ?:
	       cmp3(a->leaf, b->leaf);
}

static int leaf_stats__cmp_bytes(const void *va, const void *vb)
{
	const struct leaf_stats *a = *(const struct leaf_stats *const *)va;
	const struct leaf_stats *b = *(const struct leaf_stats *const *)vb;

	return cmp3(stats__sum(b->bytes), stats__sum(a->bytes)) ?: leaf_stats__cmp_time(va, vb);
}

/* Frees a sum of ours, and no statistics of the session. */
static void leaf_stats__free(struct leaf_stats *stats)
{
	if (!stats || !stats->own)
		return;
	stats__free(&stats->ns);
	if (stats->bytes)
		stats__free(stats->bytes);
	free(stats->bytes);
	free(stats);
}

static void leaf_row__exit(void *row)
{
	leaf_stats__free(*(struct leaf_stats **)row);
}

/* Return: the sum of both, under the leaf of @a; NULL for want of memory. */
static struct leaf_stats *leaf_stats__sum(const struct leaf_stats *a, const struct leaf_stats *b)
{
	struct leaf_stats *sum = calloc(1, sizeof(*sum));
	int err;

	if (!sum)
		return NULL;
	sum->leaf = a->leaf;
	sum->own = true;
	err = stats__merge(&sum->ns, &a->ns) ?: stats__merge(&sum->ns, &b->ns);
	if (!err && a->bytes && b->bytes) {
		sum->bytes = calloc(1, sizeof(*sum->bytes));
		err = !sum->bytes ? -ENOMEM : stats__merge(sum->bytes, a->bytes) ?:
					      stats__merge(sum->bytes, b->bytes);
	}
	if (err) {
		leaf_stats__free(sum);
		return NULL;
	}
	return sum;
}

/* Adds the statistics of another leaf of that name. Return: 0 or -ENOMEM. */
static int leaf_row__add(struct leaf_stats **row, const struct leaf_stats *stats)
{
	struct leaf_stats *sum = leaf_stats__sum(*row, stats);

	if (!sum)
		return -ENOMEM;
	leaf_stats__free(*row);
	*row = sum;
	return 0;
}

/* The rows of kernels, or else of copies and sets, sorted. Return: 0 or -ENOMEM. */
static int leaf_rows__collect(struct section_rows *to, bool kernels,
			      int (*cmp)(const void *, const void *))
{
	const struct session *s = to->s;
	ARRAY(struct leaf_stats *) rows = { 0 };
	uint32_t *by_name, *row;	/* by the name's number: 1 + its row, or 0 */
	int err = 0;
	size_t i;

	by_name = calloc(s->model.strings.nr + 1, sizeof(*by_name));
	if (!by_name)
		return -ENOMEM;
	for (i = 0; i < s->sums.leaf_stats.nr && !err; i++) {
		struct leaf_stats *stats = &s->sums.leaf_stats.v[i];
		const struct leaf *leaf = &s->model.leaves.v[i];

		if (!stats->ns.nr || (leaf->kind == LEAF_KERNEL) != kernels)
			continue;
		/* The name of a set is empty, as no copy's is. */
		row = &by_name[strpool__id(leaf->name)];
		if (*row) {
			err = leaf_row__add(&rows.v[*row - 1], stats);
		} else {
			err = array_push(&rows, stats);
			*row = rows.nr;
		}
	}
	free(by_name);
	if (!err && rows.nr)
		qsort(rows.v, rows.nr, sizeof(*rows.v), cmp);
	to->v = rows.v;
	to->nr = rows.nr;
	for (i = 0; i < rows.nr; i++)
		to->sum_ns += stats__sum(&rows.v[i]->ns);
	return err;
}

static const struct leaf *leaf_row__leaf(const struct section_rows *rows, const void *row)
{
	return &rows->s->model.leaves.v[(*(const struct leaf_stats *const *)row)->leaf];
}

/* Makes the name of a copy or a set. */
static void leaf_row__name(const struct section_rows *rows, const void *row, char *buf, size_t size)
{
	const struct leaf *leaf = leaf_row__leaf(rows, row);

	snprintf(buf, size, "%s%s", leaf_kind__prefix(leaf->kind), leaf->name);
}

void section_rows__times(const struct section_rows *rows, const struct stats *ns, const char *name,
			 struct table *t)
{
	table__row(t, (struct cell[]){
		{ .n = table__share(stats__sum(ns), rows->sum_ns) }, { .n = stats__sum(ns) },
		{ .n = ns->nr },
		{ .n = stats__mean(ns) }, { .n = stats__median(ns) }, { .n = ns->min },
		{ .n = stats__max(ns) }, { .n = stats__stddev(ns) }, { .s = name },
	});
}

static int kernels__collect(struct section_rows *rows)
{
	return leaf_rows__collect(rows, true, leaf_stats__cmp_time);
}

static void kernels__head(const struct section_rows *rows, FILE *f)
{
	fprintf(f, "kernels: %" PRIu64 " of %zu names, times in %s\n",
		rows->s->sums.nr_works[LEAF_KERNEL], rows->nr, rows->unit);
}

static int kernels__row(const struct section_rows *rows, const void *row, struct table *t)
{
	const struct leaf_stats *stats = *(const struct leaf_stats *const *)row;

	section_rows__times(rows, &stats->ns, leaf_row__leaf(rows, row)->name, t);
	return 0;
}

static const struct column kernels_columns[] = TIME_COLUMNS("instances", "name");

SECTION(kernels, struct leaf_stats *, .exit_row = leaf_row__exit);

static int memory_time__collect(struct section_rows *rows)
{
	return leaf_rows__collect(rows, false, leaf_stats__cmp_time);
}

static void memory_time__head(const struct section_rows *rows, FILE *f)
{
	fprintf(f, "memory operations: %" PRIu64 " copies, %" PRIu64 " sets, times in %s\n",
		rows->s->sums.nr_works[LEAF_MEMCPY], rows->s->sums.nr_works[LEAF_MEMSET], rows->unit);
}

static int memory_time__row(const struct section_rows *rows, const void *row, struct table *t)
{
	char name[64];

	leaf_row__name(rows, row, name, sizeof(name));
	section_rows__times(rows, &(*(const struct leaf_stats *const *)row)->ns, name, t);
	return 0;
}

static const struct column memory_time_columns[] = TIME_COLUMNS("count", "operation");

SECTION(memory_time, struct leaf_stats *, .exit_row = leaf_row__exit);

static int memory_size__collect(struct section_rows *rows)
{
	return leaf_rows__collect(rows, false, leaf_stats__cmp_bytes);
}

static void memory_size__head(const struct section_rows *rows, FILE *f)
{
	(void)rows;
	fputs("memory operations by size, in bytes\n", f);
}

static int memory_size__row(const struct section_rows *rows, const void *row, struct table *t)
{
	const struct stats *bytes = (*(const struct leaf_stats *const *)row)->bytes;
	char name[64];

	leaf_row__name(rows, row, name, sizeof(name));
	table__row(t, (struct cell[]){
		{ .n = stats__sum(bytes) }, { .n = bytes->nr }, { .n = stats__mean(bytes) },
		{ .n = stats__median(bytes) }, { .n = bytes->min }, { .n = stats__max(bytes) },
		{ .n = stats__stddev(bytes) }, { .s = name },
	});
	return 0;
}

static const struct column memory_size_columns[] = {
	{ "total", "total_bytes", COLUMN_BYTES }, { "count", "count", COLUMN_COUNT },
	{ "avg", "avg_bytes", COLUMN_BYTES }, { "med", "median_bytes", COLUMN_BYTES },
	{ "min", "min_bytes", COLUMN_BYTES }, { "max", "max_bytes", COLUMN_BYTES },
	{ "stddev", "stddev_bytes", COLUMN_BYTES }, { "operation", "operation", COLUMN_NAME },
};

SECTION(memory_size, struct leaf_stats *, .exit_row = leaf_row__exit);

/* ---- devices and streams: rows are pointers into the session --------------------------------- */

static int devices__collect(struct section_rows *to)
{
	ARRAY(const struct gpu *) rows = { 0 };
	const struct session *s = to->s;
	int err = 0;
	size_t i;

	for (i = 0; i < s->model.gpus.list.nr && !err; i++)
		if (s->model.gpus.list.v[i].nr_works)
			err = array_push(&rows, &s->model.gpus.list.v[i]);
	to->v = rows.v;
	to->nr = rows.nr;
	return err;
}

static void devices__head(const struct section_rows *rows, FILE *f)
{
	fprintf(f, "devices: device time in %s\n", rows->unit);
}

static int devices__row(const struct section_rows *rows, const void *row, struct table *t)
{
	const struct gpu *gpu = *(const struct gpu *const *)row;

	(void)rows;
	table__row(t, (struct cell[]){
		{ .n = gpu->busy_ns }, { .n = gpu->nr_works }, { .n = gpu->number },
		{ .s = gpu->name ? gpu->name : "" },
	});
	return 0;
}

static const struct column devices_columns[] = {
	{ "total", "total_ns", COLUMN_TIME }, { "count", "count", COLUMN_COUNT },
	{ "GPU", "device", COLUMN_COUNT }, { "name", "name", COLUMN_NAME },
};

SECTION(devices, struct gpu *);

/* Compares by device; the busiest stream comes first. */
static int stream__cmp(const void *va, const void *vb, void *ctx)
{
	const struct stream *a = *(const struct stream *const *)va;
	const struct stream *b = *(const struct stream *const *)vb;
	const struct session *s = ctx;

	return cmp3(s->model.gpus.list.v[a->gpu].number, s->model.gpus.list.v[b->gpu].number) ?:
	       cmp3(b->busy_ns, a->busy_ns) ?: cmp3(a, b);
}

static int streams__collect(struct section_rows *to)
{
	ARRAY(const struct stream *) rows = { 0 };
	const struct session *s = to->s;
	int err = 0;
	size_t i;

	for (i = 0; i < s->model.streams.nr && !err; i++)
		if (s->model.streams.v[i].nr_works)
			err = array_push(&rows, &s->model.streams.v[i]);
	if (rows.nr)
		qsort_r(rows.v, rows.nr, sizeof(*rows.v), stream__cmp, (void *)s);
	to->v = rows.v;
	to->nr = rows.nr;
	return err;
}

static void streams__head(const struct section_rows *rows, FILE *f)
{
	fprintf(f, "streams: device time in %s\n", rows->unit);
}

static int streams__row(const struct section_rows *rows, const void *row, struct table *t)
{
	const struct stream *stream = *(const struct stream *const *)row;
	const struct session *s = rows->s;
	const char *process = model__proc_name(&s->model, stream->proc);
	uint32_t pid = s->model.machine.procs.v[stream->proc].pid;
	char *name;
	int len;

	if (stream->known)
		len = asprintf(&name, "context %" PRIu32 " stream %" PRIu32 " of %s (pid %" PRIu32
			       ")", stream->context, stream->stream, process, pid);
	else
		len = asprintf(&name, "unknown stream of %s (pid %" PRIu32 ")", process, pid);
	if (len < 0)
		return -ENOMEM;
	table__row(t, (struct cell[]){
		{ .n = stream->busy_ns }, { .n = stream->nr_works },
		{ .n = s->model.gpus.list.v[stream->gpu].number },
		{ .n = stream->known ? stream->context : CELL_NONE },
		{ .n = stream->known ? stream->stream : CELL_NONE }, { .n = pid },
		{ .s = process }, { .s = name },
	});
	free(name);
	return 0;
}

static const struct column streams_columns[] = {
	{ "total", "total_ns", COLUMN_TIME }, { "count", "count", COLUMN_COUNT },
	{ "GPU", "device", COLUMN_COUNT }, { NULL, "context", COLUMN_COUNT },
	{ NULL, "stream", COLUMN_COUNT }, { NULL, "pid", COLUMN_COUNT },
	{ NULL, "process", COLUMN_NAME }, { "stream", "name", COLUMN_NAME },
};

SECTION(streams, struct stream *);
