// SPDX-License-Identifier: GPL-3.0-or-later
#include "metrics/state.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "human.h"
#include "write/section.h"

/* ---- GPUs: a row is one metric of one set ---------------------------------------------------- */

struct gpu_metric {
	const struct metric_set *set;
	uint32_t metric;		/* the metric's index in the set */
	uint64_t nr;			/* number of rows with a value */
	double ns, sum, max;		/* sum: the sum of values * ns, or of amounts */
	double idle;			/* the amount while nothing ran */
	struct metric_check check;
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
			sum.check = sums->checks.v[i * XPU_MAX_METRICS + row.metric];
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
	fputs("GPU metrics: over the whole recording; idle: while no work that is recorded ran; "
	      "solved: the average that the values of kernels and of idle time add up to; "
	      "residue: how far samples are from it, root mean square\n", f);
}

static int gpu_metrics__row(const struct section_rows *rows, const void *vrow, struct table *t)
{
	const struct gpu_metric *row = vrow;
	const struct metric_name *name = gpu_metric__name(rows->s, row);
	bool amount = name->kind == XPU_METRIC_SUM;

	return table__row(t, (struct cell[]){
		{ .n = rows->s->model.gpus.list.v[row->set->gpu].number }, { .n = row->nr },
		{ .d = amount ? NAN : row->sum / row->ns }, { .d = row->max },
		{ .d = amount ? row->sum : NAN }, { .d = amount ? row->idle : NAN },
		{ .d = row->check.solved }, { .d = row->check.residue },
		{ .s = name->name }, { .s = name->unit }, { .s = name->title },
	});
}

static const struct column gpu_metrics_columns[] = {
	{ "GPU", "device", COLUMN_COUNT, 0 }, { "samples", "samples", COLUMN_COUNT, 0 },
	{ "average", "average", COLUMN_REAL, 0 }, { "max", "max", COLUMN_REAL, 0 },
	{ "total", "total", COLUMN_REAL, 0 }, { "idle", "idle", COLUMN_REAL, 0 },
	{ "solved", "solved", COLUMN_REAL, 0 }, { "residue", "residue", COLUMN_REAL, 0 },
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
	const struct stack *stack;	/* stack of a call path; NULL for other rows. The idle row
					 * has neither a name nor a stack. */
	uint64_t ns;
	uint64_t nr;
	size_t order;			/* order of appearance */
	struct metric_use *uses;	/* one for each index in metrics.names */
	char (*texts)[HUMAN_MAX];	/* for each use: the value with its error, for people */
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
	row.texts = calloc(metrics__of(&s->model)->names.nr + 1, sizeof(*row.texts));
	if (!row.uses || !row.texts || array_push(rows, row)) {
		free(row.uses);
		free(row.texts);
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

#define COLUMNS_OF_METRIC	3	/* the value for people, and the value and its error for
					 * programs */

/*
 * Makes the columns: the first @before columns of the section, the columns of each metric, then the
 * other columns of the section. Tables for people leave out metrics that are always 0, and clock
 * rates, which are similar in all rows. Return: 0 or -ENOMEM.
 */
static int metered_rows__columns(struct section_rows *to, const struct column *columns, size_t nr,
				 size_t before, const metered_rows_t *rows)
{
	const struct metrics *metrics = metrics__of(&to->s->model);
	size_t nr_metric = COLUMNS_OF_METRIC * metrics->names.nr, i, k;
	bool together = false;
	struct column *c;

	to->columns = c = malloc((nr + nr_metric + 1) * sizeof(*to->columns));
	if (!to->columns)
		return -ENOMEM;
	to->nr_columns = nr + nr_metric + 1;
	memcpy(c, columns, before * sizeof(*c));
	c += before;
	for (i = 0; i < metrics->names.nr; i++) {
		const struct metric_name *name = &metrics->names.v[i];
		bool wanted = false;

		for (k = 0; k < rows->nr && strcmp(name->unit, "MHz"); k++) {
			wanted |= rows->v[k].uses[i].sum != 0 || rows->v[k].uses[i].unknown_ns > 0;
			together |= rows->v[k].uses[i].together;
		}
		*c++ = (struct column){ wanted ? name->title : NULL, NULL, COLUMN_WORD, 3 + i };
		*c++ = (struct column){ NULL, name->key, COLUMN_REAL, 0 };
		*c++ = (struct column){ NULL, metric__is_solved(name) ? name->error_key : NULL,
					COLUMN_REAL, 0 };
	}
	*c++ = (struct column){ together ? "together" : NULL, "together", COLUMN_COUNT, 2 };
	memcpy(c, columns + before, (nr - before) * sizeof(*c));
	return 0;
}

/* Passes the sorted rows to @to. Return: @err, or -ENOMEM. */
static int metered_rows__finish(metered_rows_t *rows, struct idmap *index, int err,
				struct section_rows *to)
{
	size_t i;

	idmap__free(index);
	array_qsort(rows, metered_row__cmp);
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
	free(((struct metered_row *)row)->texts);
}

/* Writes a value for people: "90.20+-0.31", "70.1", or "unknown". */
static void metric_use__text(const struct metric_use *use, const struct metric_name *name,
			     char text[HUMAN_MAX])
{
	double value = metric_use__value(use, name->kind);

	*text = 0;
	if (isnan(value) && use->unknown_ns > 0)
		strcpy(text, "unknown");
	else if (!isnan(value) && metric__is_solved(name))
		human__with_error(text, value, metric_use__error(use));
	else if (!isnan(value))
		human__number(text, value, 1);
}

static int metered_row__put(const struct section_rows *rows, const struct metered_row *row,
			    const char *name, struct table *t)
{
	const struct metrics *metrics = metrics__of(&rows->s->model);
	bool idle = !row->name && !row->stack;
	uint32_t together = 0;
	size_t i, k;
	struct cell *cells = calloc(COLUMNS_OF_METRIC * metrics->names.nr + 5, sizeof(*cells));

	if (!cells)
		return -ENOMEM;
	cells[0].n = idle ? CELL_NONE : table__share(row->ns, rows->sum_ns);
	cells[1].n = row->ns;
	cells[2].n = idle ? CELL_NONE : row->nr;
	for (i = 0, k = 3; i < metrics->names.nr; i++) {
		metric_use__text(&row->uses[i], &metrics->names.v[i], row->texts[i]);
		cells[k++].s = row->texts[i];
		cells[k++].d = metric_use__value(&row->uses[i], metrics->names.v[i].kind);
		cells[k++].d = metric_use__error(&row->uses[i]);
		together = together ?: row->uses[i].together;
	}
	cells[k++].n = together ?: CELL_NONE;
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
	fprintf(f, "kernels and GPU metrics: solved from samples of the whole GPU, with standard "
		"errors, or unknown; kernels that cannot be told apart have one value together%s\n",
		rows->times);
}

static int kernel_metrics__row(const struct section_rows *rows, const void *row, struct table *t)
{
	return metered_row__put(rows, row, ((const struct metered_row *)row)->name, t);
}

SECTION(kernel_metrics, struct metered_row, .exit_row = metered_row__exit,
	.from = "xpuload --gpu-metrics records them", .was_recorded = has_metrics);

/* Adds the solved metrics of a row. Return: 0 or -ENOMEM. */
static int metered_row__values(const struct metered_row *row, const struct metrics *metrics,
			       kernel_values_t *to)
{
	size_t i;
	int err = 0;

	for (i = 0; i < metrics->names.nr && !err; i++) {
		const struct metric_name *name = &metrics->names.v[i];

		if (metric__is_solved(name))
			err = array_push(to, ((struct kernel_value){
				.kernel = row->name, .counter = name->name, .unit = name->unit,
				.value = metric_use__value(&row->uses[i], name->kind),
				.error = metric_use__error(&row->uses[i]),
				.ns = row->ns, .together = row->uses[i].together,
			}));
	}
	return err;
}

int metrics__kernel_values(const struct session *s, kernel_values_t *values)
{
	struct section_rows rows = { .s = s };
	int err = kernel_metrics__collect(&rows);
	size_t i;

	for (i = 0; i < rows.nr; i++) {
		struct metered_row *row = (struct metered_row *)rows.v + i;

		err = err ?: metered_row__values(row, metrics__of(&s->model), values);
		metered_row__exit(&rows, row);
	}
	free(rows.v);
	free(rows.columns);
	return err;
}

/*
 * Adds the row for the time in which nothing ran, if its metrics are known. Return: 0 or -ENOMEM.
 */
static int path_metrics__idle(const struct session *s, metered_rows_t *rows)
{
	const struct metrics *metrics = metrics__of(&s->model);
	struct metered_row *row;
	bool any = false;
	size_t i, k;
	int err = metered_rows__new(rows, s, NULL, NULL);

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
		metered_row__exit(NULL, &rows->v[--rows->nr]);
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
	fprintf(f, "launch paths and GPU metrics: the values of their kernels, by time. Power is "
		"an average over the time in which the work ran, whatever else ran then. Amounts "
		"go in equal parts to all work that ran%s\n", rows->times);
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
