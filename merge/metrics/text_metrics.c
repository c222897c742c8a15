// SPDX-License-Identifier: GPL-3.0-or-later
#include "metrics/state.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "write/section.h"

/* ---- GPUs: rows are one metric of one set ---------------------------------------------------- */

struct gpu_metric {
	const struct metric_set *set;
	uint32_t metric;		/* the metric's index in the set */
	uint64_t nr;			/* number of rows with a value */
	double ns, sum, max;		/* sum: the sum of values * ns, or of amounts */
	double idle;			/* the amount while nothing ran */
};

static const struct metric_name *gpu_metric__name(const struct session *s,
						  const struct gpu_metric *m)
{
	return &metrics__of(&s->model)->names.v[m->set->names[m->metric]];
}

static void gpu_metric__sum(struct gpu_metric *m, enum xpu_metric_kind kind)
{
	size_t i;

	m->max = -INFINITY;
	for (i = 0; i < m->set->rows.nr; i++) {
		double ns = m->set->rows.v[i].end_ns - m->set->rows.v[i].begin_ns;
		double value = metric_set__row(m->set, i)[m->metric];

		if (!isfinite(value))
			continue;
		m->nr++;
		m->ns += ns;
		m->sum += kind == XPU_METRIC_SUM ? value : value * ns;
		m->max = fmax(m->max, value);
	}
}

static int gpu_metric__cmp(const void *va, const void *vb, void *ctx)
{
	const struct gpu_metric *a = va, *b = vb;
	const struct session *s = ctx;

	return cmp3(s->model.gpus.list.v[a->set->gpu].number,
		    s->model.gpus.list.v[b->set->gpu].number) ?:
	       cmp3(a->set, b->set) ?: cmp3(a->metric, b->metric);
}

static int gpu_metrics__collect(struct section_rows *to)
{
	const struct metric_sums *sums = &metrics_state__of(&to->s->model)->sums;
	const struct metrics *metrics = metrics__of(&to->s->model);
	ARRAY(struct gpu_metric) rows = { 0 };
	size_t i;
	int err = 0;

	for (i = 0; i < metrics->sets.nr && !err; i++) {
		struct gpu_metric row = { .set = &metrics->sets.v[i] };

		for (; row.metric < row.set->nr && !err; row.metric++) {
			struct gpu_metric sum = row;

			gpu_metric__sum(&sum, gpu_metric__name(to->s, &row)->kind);
			sum.idle = sums->idle.v[i * XPU_MAX_METRICS + row.metric].sum;
			if (sum.nr)
				err = array_push(&rows, sum);
		}
	}
	if (rows.nr)
		qsort_r(rows.v, rows.nr, sizeof(*rows.v), gpu_metric__cmp, (void *)to->s);
	to->v = rows.v;
	to->nr = rows.nr;
	return err;
}

static void gpu_metrics__head(const struct section_rows *rows, FILE *f)
{
	(void)rows;
	fputs("GPU metrics: over the whole recording; idle: while no work that is recorded ran\n",
	      f);
}

static int gpu_metrics__row(const struct section_rows *rows, const void *vrow, struct table *t)
{
	const struct gpu_metric *row = vrow;
	const struct metric_name *name = gpu_metric__name(rows->s, row);
	bool amount = name->kind == XPU_METRIC_SUM;

	table__row(t, (struct cell[]){
		{ .n = rows->s->model.gpus.list.v[row->set->gpu].number }, { .n = row->nr },
		{ .d = amount ? NAN : row->sum / row->ns }, { .d = row->max },
		{ .d = amount ? row->sum : NAN }, { .d = amount ? row->idle : NAN },
		{ .s = name->name }, { .s = name->unit }, { .s = name->title },
	});
	return 0;
}

static const struct column gpu_metrics_columns[] = {
	{ "GPU", "device", COLUMN_COUNT, 0 }, { "samples", "samples", COLUMN_COUNT, 0 },
	{ "average", "average", COLUMN_REAL, 0 }, { "max", "max", COLUMN_REAL, 0 },
	{ "total", "total", COLUMN_REAL, 0 }, { "idle", "idle", COLUMN_REAL, 0 },
	{ NULL, "metric", COLUMN_NAME, 0 }, { NULL, "unit", COLUMN_NAME, 0 },
	{ "metric", "title", COLUMN_NAME, 0 },
};

SECTION(gpu_metrics, struct gpu_metric, .from = "xpuload --gpu-metrics records them");

static bool has_metrics(const struct session *s)
{
	return metrics__of(&s->model)->names.nr;
}

/* ---- kernels and call paths ------------------------------------------------------------------ */

struct metered_row {
	const char *name;		/* name of a kernel; NULL for other rows */
	const struct stack *stack;	/* stack of a call path; NULL for other rows; the idle row
					 * has neither */
	uint64_t ns;
	uint64_t nr;
	size_t order;			/* order of appearance */
	struct metric_use *uses;	/* one for each index in metrics.names */
};

typedef ARRAY(struct metered_row) metered_rows_t;

static int metered_row__cmp(const void *va, const void *vb)
{
	const struct metered_row *a = va, *b = vb;

	/* The idle row is last. */
	return cmp3(!a->name && !a->stack, !b->name && !b->stack) ?: cmp3(b->ns, a->ns) ?:
	       cmp3(b->nr, a->nr) ?: cmp3(a->order, b->order);
}

static int metered_rows__new(metered_rows_t *rows, const struct session *s, const char *name,
			     const struct stack *stack)
{
	struct metered_row row = { .name = name, .stack = stack, .order = rows->nr };

	row.uses = calloc(metrics__of(&s->model)->names.nr + 1, sizeof(*row.uses));
	if (!row.uses)
		return -ENOMEM;
	if (array_push(rows, row)) {
		free(row.uses);
		return -ENOMEM;
	}
	return 0;
}

/* Finds or adds the row of a kernel or call path. Return: 0 or -ENOMEM. */
static int metered_rows__get(metered_rows_t *rows, struct idmap *index, const struct session *s,
			     const char *name, const struct stack *stack, struct metered_row **row)
{
	uint64_t key = name ? (uintptr_t)name : (uintptr_t)stack;
	uint32_t idx;
	int err = 0;

	if (!idmap__get(index, key, &idx)) {
		idx = rows->nr;
		err = idmap__put(index, key, idx) ?: metered_rows__new(rows, s, name, stack);
	}
	if (!err)
		*row = &rows->v[idx];
	return err;
}

/*
 * Makes the columns: the first @before columns of the section, a column for each metric, then the
 * other columns of the section. Tables for people leave out clock rates, which are similar in all
 * rows, and metrics that are always 0. Return: 0 or -ENOMEM.
 */
static int metered_rows__columns(struct section_rows *to, const struct column *columns, size_t nr,
				 size_t before, const metered_rows_t *rows)
{
	const struct metrics *metrics = metrics__of(&to->s->model);
	struct column *c;
	size_t i, k;

	to->columns = c = malloc((nr + metrics->names.nr) * sizeof(*to->columns));
	if (!to->columns)
		return -ENOMEM;
	to->nr_columns = nr + metrics->names.nr;
	memcpy(c, columns, before * sizeof(*c));
	memcpy(c + before + metrics->names.nr, columns + before, (nr - before) * sizeof(*c));
	for (i = 0; i < metrics->names.nr; i++) {
		const struct metric_name *name = &metrics->names.v[i];
		bool wanted = false;

		for (k = 0; k < rows->nr && strcmp(name->unit, "MHz"); k++)
			wanted |= rows->v[k].uses[i].sum != 0;
		c[before + i] = (struct column){ wanted ? name->title : NULL, name->key,
						 COLUMN_REAL, 3 + i };
	}
	return 0;
}

/* Passes the sorted rows to @to. Return: @err, or -ENOMEM. */
static int metered_rows__finish(metered_rows_t *rows, struct idmap *index, int err,
				struct section_rows *to)
{
	size_t i;

	idmap__free(index);
	if (rows->nr)
		qsort(rows->v, rows->nr, sizeof(*rows->v), metered_row__cmp);
	to->v = rows->v;
	to->nr = rows->nr;
	for (i = 0; i < rows->nr; i++)
		to->sum_ns += rows->v[i].name || rows->v[i].stack ? rows->v[i].ns : 0;
	return err;
}

static void metered_row__exit(const struct section_rows *rows, void *row)
{
	(void)rows;
	free(((struct metered_row *)row)->uses);
}

static int metered_row__put(const struct section_rows *rows, const struct metered_row *row,
			    const char *name, struct table *t)
{
	const struct metrics *metrics = metrics__of(&rows->s->model);
	bool idle = !row->name && !row->stack;
	struct cell *cells;
	size_t i, k;

	cells = calloc(metrics->names.nr + 4, sizeof(*cells));
	if (!cells)
		return -ENOMEM;
	cells[0].n = idle ? CELL_NONE : table__share(row->ns, rows->sum_ns);
	cells[1].n = row->ns;
	cells[2].n = idle ? CELL_NONE : row->nr;
	for (i = 0, k = 3; i < metrics->names.nr; i++, k++)
		cells[k].d = metric_use__value(&row->uses[i], metrics->names.v[i].kind);
	cells[k].s = name;
	table__row(t, cells);
	free(cells);
	return 0;
}

#define METERED_COLUMNS(name, type) \
	{ "time %", "time_percent", COLUMN_SHARE, 0 }, { "total", "total_ns", COLUMN_TIME, 0 }, \
	{ "count", "instances", COLUMN_COUNT, 1 }, { name, name, type, 0 }
#define BEFORE_METRICS	3

static const struct column kernel_metrics_columns[] = { METERED_COLUMNS("name", COLUMN_NAME) };
static const struct column path_metrics_columns[] = { METERED_COLUMNS("path", COLUMN_PATH) };

static int kernel_metrics__collect(struct section_rows *to)
{
	const struct session *s = to->s;
	const struct metrics_state *state = metrics_state__of(&s->model);
	metered_rows_t rows = { 0 };
	struct idmap index = { 0 };
	struct metered_row *row;
	size_t i;
	int err = 0;

	for (i = 0; i < s->sums.aggregates.nr && metrics__of(&s->model)->names.nr && !err; i++) {
		const struct aggregate *a = &s->sums.aggregates.v[i];

		if (s->model.leaves.v[a->leaf].kind != LEAF_KERNEL)
			continue;
		err = metered_rows__get(&rows, &index, s, s->model.leaves.v[a->leaf].name, NULL,
					&row);
		if (err)
			break;
		row->ns += a->sum_ns;
		row->nr += a->nr;
	}
	for (i = 0; i < s->model.leaves.nr && !err; i++) {
		uint32_t idx;

		if (idmap__get(&index, (uintptr_t)s->model.leaves.v[i].name, &idx) &&
		    s->model.leaves.v[i].kind == LEAF_KERNEL)
			metric_sums__of_leaf(&state->sums, &state->metrics, i,
					     rows.v[idx].uses);
	}
	err = metered_rows__finish(&rows, &index, err, to);
	return err ?:
	       metered_rows__columns(to, kernel_metrics_columns, ARRAY_SIZE(kernel_metrics_columns),
				     BEFORE_METRICS, &rows);
}

static void kernel_metrics__head(const struct section_rows *rows, FILE *f)
{
	fprintf(f,
		"kernels and GPU metrics: averages over the time in which each ran, whatever "
		"else ran then%s\n",
		rows->times);
}

static int kernel_metrics__row(const struct section_rows *rows, const void *row, struct table *t)
{
	return metered_row__put(rows, row, ((const struct metered_row *)row)->name, t);
}

SECTION(kernel_metrics, struct metered_row, .exit_row = metered_row__exit,
	.from = "xpuload --gpu-metrics records them", .was_recorded = has_metrics);

/*
 * Adds the row for the time in which nothing ran, if its metrics are known. Return: 0 or -ENOMEM.
 */
static int path_metrics__idle(const struct session *s, metered_rows_t *rows)
{
	const struct metrics *metrics = metrics__of(&s->model);
	struct metered_row *row;
	bool any = false;
	size_t i, k;
	int err;

	err = metered_rows__new(rows, s, NULL, NULL);
	if (err)
		return err;
	row = &rows->v[rows->nr - 1];
	for (i = 0; i < metrics->sets.nr; i++) {
		for (k = 0; k < metrics->sets.v[i].nr; k++) {
			const struct metric_use *use =
				&metrics_state__of(&s->model)->sums.idle.v[i * XPU_MAX_METRICS + k];

			row->uses[metrics->sets.v[i].names[k]].ns += use->ns;
			row->uses[metrics->sets.v[i].names[k]].sum += use->sum;
			row->ns = max_t(uint64_t, row->ns, use->ns);
			any |= use->ns > 0;
		}
	}
	if (!any)
		free(rows->v[--rows->nr].uses);
	return 0;
}

static int path_metrics__collect(struct section_rows *to)
{
	const struct session *s = to->s;
	const struct metrics_state *state = metrics_state__of(&s->model);
	metered_rows_t rows = { 0 };
	struct idmap index = { 0 };
	struct metered_row *row;
	uint32_t idx;
	size_t i;
	int err = 0;

	for (i = 0; i < s->sums.aggregates.nr && metrics__of(&s->model)->names.nr && !err; i++) {
		const struct aggregate *a = &s->sums.aggregates.v[i];

		if (!leaf_kind__is_device(s->model.leaves.v[a->leaf].kind))
			continue;
		err = metered_rows__get(&rows, &index, s, NULL, s->model.chains.v[a->chain].stack,
					&row);
		if (err)
			break;
		row->ns += a->sum_ns;
		row->nr += a->nr;
	}
	for (i = 0; i < s->model.chains.nr && rows.nr && !err; i++)
		if (idmap__get(&index, (uintptr_t)s->model.chains.v[i].stack, &idx))
			metric_sums__of_chain(&state->sums, &state->metrics, i,
					      rows.v[idx].uses);
	if (!err && metrics__of(&s->model)->names.nr)
		err = path_metrics__idle(s, &rows);
	err = metered_rows__finish(&rows, &index, err, to);
	return err ?:
	       metered_rows__columns(to, path_metrics_columns, ARRAY_SIZE(path_metrics_columns),
				     BEFORE_METRICS, &rows);
}

static void path_metrics__head(const struct section_rows *rows, FILE *f)
{
	fprintf(f, "launch paths and GPU metrics: averages over the time in which their work ran, "
		"whatever else ran then;\n  amounts in equal parts to all work that ran%s\n",
		rows->times);
}

static int path_metrics__row(const struct section_rows *rows, const void *vrow, struct table *t)
{
	const struct metered_row *row = vrow;
	char *name = NULL;
	int err;

	if (row->stack) {
		name = stack__path(row->stack, t->format, NULL);
		if (!name)
			return -ENOMEM;
	}
	err = metered_row__put(rows, row, name ?: "[idle]", t);
	free(name);
	return err;
}

SECTION(path_metrics, struct metered_row, .exit_row = metered_row__exit,
	.from = "xpuload --gpu-metrics records them", .was_recorded = has_metrics);
