// SPDX-License-Identifier: GPL-3.0-or-later
#include "write/section.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/*
 * Each row is a pointer to statistics. The session owns the statistics of a single leaf. If leaves
 * on several GPUs have the same name, the row points into a struct leaf_sum, which adds them up.
 */
struct leaf_sum {
	struct leaf_stats stats;
	uint32_t leaf;			/* the first of the leaves */
	uint32_t shape;			/* the shape that all leaves have in common */
};

/* Whether statistics belong to the session, and not to a struct leaf_sum. */
static bool leaf_stats__are_of(const struct session *s, const struct leaf_stats *stats)
{
	const struct leaf_stats *all = s->sums.leaf_stats.v;

	return stats >= all && stats < all + s->sums.leaf_stats.nr;
}

static uint32_t leaf_stats__leaf(const struct session *s, const struct leaf_stats *stats)
{
	return leaf_stats__are_of(s, stats) ? stats - s->sums.leaf_stats.v :
					      ((const struct leaf_sum *)stats)->leaf;
}

static uint32_t leaf_stats__shape(const struct session *s, const struct leaf_stats *stats)
{
	return leaf_stats__are_of(s, stats) ?
	       s->model.leaves.v[stats - s->sums.leaf_stats.v].shape :
	       ((const struct leaf_sum *)stats)->shape;
}

static int leaf_stats__cmp_time(const void *va, const void *vb, void *ctx)
{
	const struct leaf_stats *a = *(const struct leaf_stats *const *)va;
	const struct leaf_stats *b = *(const struct leaf_stats *const *)vb;

	return cmp3(stats__total(&b->ns), stats__total(&a->ns)) ?: cmp3(b->ns.nr, a->ns.nr) ?:
	       cmp3(leaf_stats__leaf(ctx, a), leaf_stats__leaf(ctx, b));
}

static int leaf_stats__cmp_bytes(const void *va, const void *vb, void *ctx)
{
	const struct leaf_stats *a = *(const struct leaf_stats *const *)va;
	const struct leaf_stats *b = *(const struct leaf_stats *const *)vb;

	return cmp3(stats__sum(b->bytes), stats__sum(a->bytes)) ?:
	       leaf_stats__cmp_time(va, vb, ctx);
}

static void leaf_sum__free(struct leaf_sum *sum)
{
	stats__free(&sum->stats.ns);
	if (sum->stats.bytes)
		stats__free(sum->stats.bytes);
	free(sum->stats.bytes);
	free(sum);
}

/* Frees a struct leaf_sum, but not statistics of the session. */
static void leaf_row__exit(const struct section_rows *rows, void *row)
{
	struct leaf_stats *stats = *(struct leaf_stats **)row;

	if (!leaf_stats__are_of(rows->s, stats))
		leaf_sum__free((struct leaf_sum *)stats);
}

/* Makes a sum that begins with @stats. Return: the sum; NULL if memory is short. */
static struct leaf_sum *leaf_sum__new(const struct leaf_stats *stats, uint32_t leaf)
{
	struct leaf_sum *sum = calloc(1, sizeof(*sum));

	if (!sum)
		return NULL;
	sum->leaf = leaf;
	if (stats->bytes)
		sum->stats.bytes = calloc(1, sizeof(*sum->stats.bytes));
	if (stats__merge(&sum->stats.ns, &stats->ns) ||
	    (stats->bytes && (!sum->stats.bytes ||
			      stats__merge(sum->stats.bytes, stats->bytes)))) {
		leaf_sum__free(sum);
		return NULL;
	}
	return sum;
}

/* Adds the statistics of another leaf with the same name. Return: 0 or -ENOMEM. */
static int leaf_row__add(const struct session *s, struct leaf_stats **row,
			 const struct leaf_stats *stats)
{
	uint32_t shape = shape__common(leaf_stats__shape(s, *row), leaf_stats__shape(s, stats));
	struct leaf_stats *to = *row;

	if (leaf_stats__are_of(s, to)) {
		struct leaf_sum *sum = leaf_sum__new(to, leaf_stats__leaf(s, to));

		if (!sum)
			return -ENOMEM;
		*row = to = &sum->stats;
	}
	((struct leaf_sum *)to)->shape = shape;
	return stats__merge(&to->ns, &stats->ns) ?:
	       to->bytes && stats->bytes ? stats__merge(to->bytes, stats->bytes) : 0;
}

/*
 * Collects sorted rows: if @kernels is set, the rows of kernels, otherwise the rows of copies and
 * sets. Return: 0 or -ENOMEM.
 */
static int leaf_rows__collect(struct section_rows *to, bool kernels,
			      int (*cmp)(const void *, const void *, void *))
{
	const struct session *s = to->s;
	ARRAY(struct leaf_stats *) rows = { 0 };
	uint32_t *by_name, *row;	/* for each strpool__id() of a name: 1 + its row, or 0 */
	int err = 0;
	size_t i;

	by_name = calloc(s->model.strings.nr + 1, sizeof(*by_name));
	if (!by_name)
		return -ENOMEM;
	for (i = 0; i < s->sums.leaf_stats.nr && !err; i++) {
		struct leaf_stats *stats = &s->sums.leaf_stats.v[i];
		const struct leaf *leaf = &s->model.leaves.v[i];

		if (!leaf_stats__has(stats) || (leaf->kind == LEAF_KERNEL) != kernels)
			continue;
		/* The name of a set is empty; no copy has an empty name. */
		row = &by_name[strpool__id(leaf->name)];
		if (*row) {
			err = leaf_row__add(s, &rows.v[*row - 1], stats);
		} else {
			err = array_push(&rows, stats);
			*row = rows.nr;
		}
	}
	free(by_name);
	if (!err && rows.nr)
		qsort_r(rows.v, rows.nr, sizeof(*rows.v), cmp, (void *)s);
	to->v = rows.v;
	to->nr = rows.nr;
	for (i = 0; i < rows.nr; i++)
		to->sum_ns += stats__total(&rows.v[i]->ns);
	return err;
}

static const struct leaf *leaf_row__leaf(const struct section_rows *rows, const void *row)
{
	const struct leaf_stats *stats = *(const struct leaf_stats *const *)row;

	return &rows->s->model.leaves.v[leaf_stats__leaf(rows->s, stats)];
}

/* Makes the name of a copy or a set. */
static void leaf_row__name(const struct section_rows *rows, const void *row, char *buf, size_t size)
{
	const struct leaf *leaf = leaf_row__leaf(rows, row);

	snprintf(buf, size, "%s%s", leaf_kind__prefix(leaf->kind), leaf->name);
}

int section_rows__times(const struct section_rows *rows, const struct stats *ns, const char *name,
			struct table *t)
{
	return table__row(t, (struct cell[]){
		{ .n = table__share(stats__total(ns), rows->sum_ns) }, { .n = stats__total(ns) },
		{ .n = ns->nr }, STATS_CELLS(ns), { .s = name },
	});
}

static int kernels__collect(struct section_rows *rows)
{
	return leaf_rows__collect(rows, true, leaf_stats__cmp_time);
}

static void kernels__head(const struct section_rows *rows, FILE *f)
{
	fprintf(f, "kernels: %" PRIu64 " of %zu name%s%s\n", rows->s->sums.nr_works[LEAF_KERNEL],
		rows->nr, rows->nr == 1 ? "" : "s", rows->times);
}

/* a kernel's shape as cells, as text and as numbers for programs */
struct shape_cells {
	char grid[SHAPE_SIZE_MAX], block[SHAPE_SIZE_MAX], cluster[SHAPE_SIZE_MAX];
	uint64_t registers, static_bytes, dynamic_bytes, local_bytes, occupancy;
};

static void shape_cells__fill(struct shape_cells *cells, const struct xpu_shape *shape,
			      const struct xpu_device_limits *limits)
{
	double occupancy;

	*cells = (struct shape_cells){ "", "", "", CELL_NONE, CELL_NONE, CELL_NONE, CELL_NONE,
				       CELL_NONE };
	if (!shape)
		return;
	shape__size(shape->grid, cells->grid);
	shape__size(shape->block, cells->block);
	if (shape->cluster[0])
		shape__size(shape->cluster, cells->cluster);
	cells->registers = shape->registers;
	cells->static_bytes = shape->static_bytes;
	cells->dynamic_bytes = shape->dynamic_bytes;
	cells->local_bytes = shape->local_bytes;
	occupancy = shape__occupancy(shape, limits);
	if (occupancy >= 0)
		cells->occupancy = 100 * occupancy + 0.5;
}

/* Makes a kernel's name, with the parts of the shape that people need and that the name lacks. */
static int kernel__text(const struct leaf *leaf, const struct shape_cells *cells, char **text)
{
	int len = 0;
	char occupancy[64] = "";

	*text = NULL;
	if (cells->occupancy != CELL_NONE)
		snprintf(occupancy, sizeof(occupancy), ", occupancy %" PRIu64 " %%",
			 cells->occupancy);
	if (cells->registers != CELL_NONE)
		len = asprintf(text, "%s %" PRIu64 " registers%s", leaf->name, cells->registers,
			       occupancy);
	return len < 0 ? -ENOMEM : 0;
}

static int kernels__row(const struct section_rows *rows, const void *row, struct table *t)
{
	const struct leaf_stats *stats = *(const struct leaf_stats *const *)row;
	const struct session *s = rows->s;
	const struct leaf *leaf = leaf_row__leaf(rows, row);
	const struct stats *ns = &stats->ns;
	struct shape_cells cells;
	char *text = NULL;
	int err = 0;

	shape_cells__fill(&cells, shapes__at(&s->model.shapes, leaf_stats__shape(s, stats)),
			  &s->model.gpus.list.v[leaf->gpu].limits);
	if (s->opts.by_shape && t->format == TABLE_TEXT)
		err = kernel__text(leaf, &cells, &text);
	if (err)
		return err;
	table__row(t, (struct cell[]){
		{ .n = table__share(stats__total(ns), rows->sum_ns) }, { .n = stats__total(ns) },
		{ .n = ns->nr }, STATS_CELLS(ns), { .s = text ?: leaf->name },
		{ .s = cells.grid }, { .s = cells.block }, { .s = cells.cluster },
		{ .n = cells.registers }, { .n = cells.static_bytes }, { .n = cells.dynamic_bytes },
		{ .n = cells.local_bytes }, { .n = cells.occupancy },
	});
	free(text);
	return 0;
}

static const struct column kernels_columns[] = {
	TIME_COLUMNS("instances", "name"),
	{ NULL, "grid", COLUMN_NAME, 0 }, { NULL, "block", COLUMN_NAME, 0 },
	{ NULL, "cluster", COLUMN_NAME, 0 },
	{ NULL, "registers", COLUMN_COUNT, 0 }, { NULL, "static_shared_bytes", COLUMN_BYTES, 0 },
	{ NULL, "dynamic_shared_bytes", COLUMN_BYTES, 0 }, { NULL, "local_bytes", COLUMN_BYTES, 0 },
	{ NULL, "occupancy_percent", COLUMN_COUNT, 0 },
};

SECTION(kernels, struct leaf_stats *, .exit_row = leaf_row__exit);

/* Sums the aggregates by name, because no statistics by name are made for the html page. */
int kernels__largest(const struct session *s, const char **name, uint64_t *permille)
{
	const struct aggregate *all = s->sums.aggregates.v;
	uint64_t sum_ns = 0, most_ns = 0, *by_name;	/* for each strpool__id() of a name: its
							 * total time */
	const struct leaf *leaf;
	size_t i;

	*name = NULL;
	by_name = calloc(s->model.strings.nr + 1, sizeof(*by_name));
	if (!by_name)
		return -ENOMEM;
	for (i = 0; i < s->sums.aggregates.nr; i++) {
		leaf = &s->model.leaves.v[all[i].leaf];
		if (leaf->kind != LEAF_KERNEL)
			continue;
		sum_ns += all[i].sum_ns;
		by_name[strpool__id(leaf->name)] += all[i].sum_ns;
	}
	for (i = 0; i < s->sums.aggregates.nr; i++) {
		leaf = &s->model.leaves.v[all[i].leaf];
		if (leaf->kind != LEAF_KERNEL ||
		    (*name && by_name[strpool__id(leaf->name)] <= most_ns))
			continue;
		*name = leaf->name;
		most_ns = by_name[strpool__id(leaf->name)];
	}
	*permille = table__share(most_ns, sum_ns);
	free(by_name);
	return 0;
}

static int memory_time__collect(struct section_rows *rows)
{
	return leaf_rows__collect(rows, false, leaf_stats__cmp_time);
}

static void memory_time__head(const struct section_rows *rows, FILE *f)
{
	const uint64_t *nr = rows->s->sums.nr_works;

	fprintf(f, "memory operations: %" PRIu64 " cop%s, %" PRIu64 " set%s%s\n", nr[LEAF_MEMCPY],
		nr[LEAF_MEMCPY] == 1 ? "y" : "ies", nr[LEAF_MEMSET],
		nr[LEAF_MEMSET] == 1 ? "" : "s", rows->times);
}

static int memory_time__row(const struct section_rows *rows, const void *row, struct table *t)
{
	char name[64];

	leaf_row__name(rows, row, name, sizeof(name));
	return section_rows__times(rows, &(*(const struct leaf_stats *const *)row)->ns, name, t);
}

static const struct column memory_time_columns[] = { TIME_COLUMNS("count", "operation") };

SECTION(memory_time, struct leaf_stats *, .exit_row = leaf_row__exit);

static int memory_size__collect(struct section_rows *rows)
{
	return leaf_rows__collect(rows, false, leaf_stats__cmp_bytes);
}

static void memory_size__head(const struct section_rows *rows, FILE *f)
{
	fprintf(f, "memory operations by size%s\n", *rows->times ? ", in bytes" : "");
}

static int memory_size__row(const struct section_rows *rows, const void *row, struct table *t)
{
	const struct stats *bytes = (*(const struct leaf_stats *const *)row)->bytes;
	char name[64];

	leaf_row__name(rows, row, name, sizeof(name));
	return table__row(t, (struct cell[]){
		{ .n = stats__sum(bytes) }, { .n = bytes->nr }, STATS_CELLS(bytes), { .s = name },
	});
}

static const struct column memory_size_columns[] = {
	{ "total", "total_bytes", COLUMN_BYTES, 0 }, { "count", "count", COLUMN_COUNT, 1 },
	{ "avg", "avg_bytes", COLUMN_BYTES, 2 }, { "med", "median_bytes", COLUMN_BYTES, 4 },
	{ "min", "min_bytes", COLUMN_BYTES, 5 }, { "max", "max_bytes", COLUMN_BYTES, 3 },
	{ "stddev", "stddev_bytes", COLUMN_BYTES, 6 }, { "operation", "operation", COLUMN_NAME, 0 },
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
		if (gpu__has_work(&s->model.gpus.list.v[i]))
			err = array_push(&rows, &s->model.gpus.list.v[i]);
	to->v = rows.v;
	to->nr = rows.nr;
	return err;
}

static void devices__head(const struct section_rows *rows, FILE *f)
{
	fprintf(f, "devices: %zu%s\n", rows->nr, rows->times);
}

static int devices__row(const struct section_rows *rows, const void *row, struct table *t)
{
	const struct gpu *gpu = *(const struct gpu *const *)row;
	const struct sums *sums = &rows->s->sums;
	size_t i = gpu - rows->s->model.gpus.list.v;
	uint64_t busy_ns = i < sums->busy.nr ? busy__ns(&sums->busy.v[i]) : 0;

	return table__row(t, (struct cell[]){
		{ .n = table__share(busy_ns, sums__span_ns(sums)) },
		{ .n = gpu->busy_ns }, { .n = gpu->nr_works }, { .n = gpu->number },
		{ .s = gpu->name ? gpu->name : "" },
	});
}

static const struct column devices_columns[] = {
	{ "busy %", NULL, COLUMN_SHARE, 0 },
	{ "total", "total_ns", COLUMN_TIME, 0 }, { "count", "count", COLUMN_COUNT, 0 },
	{ "GPU", "device", COLUMN_COUNT, 0 }, { "name", "name", COLUMN_NAME, 0 },
};

SECTION(devices, struct gpu *);

/* Orders streams by device; the busiest stream of a device comes first. */
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
		if (s->model.streams.v[i].nr_works || s->model.streams.v[i].busy_ns)
			err = array_push(&rows, &s->model.streams.v[i]);
	if (rows.nr)
		qsort_r(rows.v, rows.nr, sizeof(*rows.v), stream__cmp, (void *)s);
	to->v = rows.v;
	to->nr = rows.nr;
	return err;
}

static void streams__head(const struct section_rows *rows, FILE *f)
{
	fprintf(f, "streams: %zu%s\n", rows->nr, rows->times);
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
	return table__row_free(t, name, (struct cell[]){
		{ .n = stream->busy_ns }, { .n = stream->nr_works },
		{ .n = s->model.gpus.list.v[stream->gpu].number },
		{ .n = stream->known ? stream->context : CELL_NONE },
		{ .n = stream->known ? stream->stream : CELL_NONE }, { .n = pid },
		{ .s = process }, { .s = name },
	});
}

static const struct column streams_columns[] = {
	{ "total", "total_ns", COLUMN_TIME, 0 }, { "count", "count", COLUMN_COUNT, 0 },
	{ "GPU", "device", COLUMN_COUNT, 0 }, { NULL, "context", COLUMN_COUNT, 0 },
	{ NULL, "stream", COLUMN_COUNT, 0 }, { NULL, "pid", COLUMN_COUNT, 0 },
	{ NULL, "process", COLUMN_NAME, 0 }, { "stream", "name", COLUMN_NAME, 0 },
};

SECTION(streams, struct stream *);
