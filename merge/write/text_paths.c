// SPDX-License-Identifier: GPL-3.0-or-later
#include "write/section.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "escape.h"

/* The table shows this many frames of a call path, the innermost ones. */
#define SHOWN_FRAMES	6

/* A row of a table: the sums of one group of aggregates. */
struct row {
	uintptr_t group[3];		/* equal: one row */
	const struct aggregate *a;	/* one of them, for its names */
	uint64_t nr;
	uint64_t sum_ns;
	uint64_t min_ns, max_ns;
	uint64_t bytes;
};

typedef ARRAY(struct row) rows_t;

static int row__cmp_group(const void *va, const void *vb)
{
	const struct row *a = va, *b = vb;

	return cmp3(a->group[0], b->group[0]) ?: cmp3(a->group[1], b->group[1]) ?:
	       cmp3(a->group[2], b->group[2]);
}

/* Orders by time, longest first; equal times in order of appearance, not of addresses in memory. */
static int row__cmp_sum(const void *va, const void *vb)
{
	const struct row *a = va, *b = vb;

	return cmp3(b->sum_ns, a->sum_ns) ?: cmp3(b->nr, a->nr) ?: cmp3(a->a, b->a);
}

static int rows__add(rows_t *rows, const struct aggregate *a, uintptr_t g0, uintptr_t g1,
		     uintptr_t g2)
{
	return array_push(rows, ((struct row){ { g0, g1, g2 }, a, a->nr, a->sum_ns, a->min_ns,
					       a->max_ns, a->bytes }));
}

/* Makes one row for each group, the longest first. */
static void rows__group(rows_t *rows)
{
	size_t i, nr = 0;

	if (!rows->nr)
		return;
	qsort(rows->v, rows->nr, sizeof(*rows->v), row__cmp_group);
	for (i = 1; i < rows->nr; i++) {
		struct row *to = &rows->v[nr], *from = &rows->v[i];

		if (row__cmp_group(to, from)) {
			rows->v[++nr] = *from;
			continue;
		}
		to->nr += from->nr;
		to->sum_ns += from->sum_ns;
		to->bytes += from->bytes;
		to->min_ns = min_t(uint64_t, to->min_ns, from->min_ns);
		to->max_ns = max_t(uint64_t, to->max_ns, from->max_ns);
		if (from->a < to->a)
			to->a = from->a;
	}
	rows->nr = nr + 1;
	qsort(rows->v, rows->nr, sizeof(*rows->v), row__cmp_sum);
}

/* Hands the rows over, grouped. Return: @err. */
static int rows__finish(rows_t *rows, int err, struct section_rows *to)
{
	size_t i;

	if (!err)
		rows__group(rows);
	to->v = rows->v;
	to->nr = rows->nr;
	for (i = 0; i < rows->nr; i++)
		to->sum_ns += rows->v[i].sum_ns;
	return err;
}

/* ---- launch sites --------------------------------------------------------------------------- */

/* Prints the innermost frames, for people. */
static void print_stack(FILE *f, const struct stack *stack)
{
	uint32_t i = stack->nr > SHOWN_FRAMES ? stack->nr - SHOWN_FRAMES : 0;

	if (i)
		fputs("... > ", f);
	for (; i < stack->nr; i++) {
		escape__print(f, stack->frames[i]->name, ESCAPE_TEXT);
		fputs(i + 1 < stack->nr ? " > " : "", f);
	}
}

/* Prints all frames, as in a folded line, for programs. */
static void print_folded(FILE *f, const struct stack *stack)
{
	uint32_t i;

	for (i = 0; i < stack->nr; i++) {
		fputs(i ? ";" : "", f);
		escape__print(f, stack->frames[i]->name, ESCAPE_FOLDED);
	}
}

/* Return: the name of a row, for the caller to free(), or NULL. */
static char *launch_site__name(const struct session *s, const struct row *row,
			       enum table_format format)
{
	const struct stack *stack = s->model.chains.v[row->a->chain].stack;
	char *name = NULL;
	size_t size;
	FILE *f = open_memstream(&name, &size);

	if (!f)
		return NULL;
	if (format == TABLE_TEXT) {
		fprintf(f, "%s: ", *row->a->comm ? row->a->comm : "[unknown]");
		print_stack(f, stack);
		fputs(row->group[2] ? " (pending)" : "", f);
	} else {
		print_folded(f, stack);
	}
	if (fclose(f)) {
		free(name);
		return NULL;
	}
	return name;
}

static int launch_sites__collect(struct section_rows *to)
{
	const struct session *s = to->s;
	rows_t rows = { 0 };
	size_t i;
	int err = 0;

	for (i = 0; i < s->sums.aggregates.nr && !err; i++) {
		const struct aggregate *a = &s->sums.aggregates.v[i];
		enum leaf_kind kind = s->model.leaves.v[a->leaf].kind;

		if (leaf_kind__is_device(kind) || kind == LEAF_PENDING)
			err = rows__add(&rows, a, (uintptr_t)s->model.chains.v[a->chain].stack,
					(uintptr_t)a->comm, kind == LEAF_PENDING);
	}
	return rows__finish(&rows, err, to);
}

static void launch_sites__head(const struct section_rows *rows, FILE *f)
{
	fprintf(f, "launch paths: %zu, device time in %s\n", rows->nr, rows->unit);
}

static int launch_sites__row(const struct section_rows *rows, const void *vrow, struct table *t)
{
	const struct row *row = vrow;
	uint64_t nr_works = row->group[2] ? 0 : row->nr;
	char *name = launch_site__name(rows->s, row, t->format);

	if (!name)
		return -ENOMEM;
	table__row(t, (struct cell[]){
		{ .n = table__share(row->sum_ns, rows->sum_ns) }, { .n = row->sum_ns },
		{ .n = row->nr }, { .n = row->sum_ns / row->nr },
		{ .n = nr_works ? row->min_ns : 0 }, { .n = row->max_ns },
		{ .n = row->nr - nr_works }, { .s = row->a->comm }, { .s = name },
	});
	free(name);
	return 0;
}

static const struct column launch_sites_columns[] = {
	{ "time %", "time_percent", COLUMN_SHARE }, { "total", "total_ns", COLUMN_TIME },
	{ "instances", "instances", COLUMN_COUNT }, { "avg", "avg_ns", COLUMN_TIME },
	{ NULL, "min_ns", COLUMN_TIME }, { NULL, "max_ns", COLUMN_TIME },
	{ NULL, "pending", COLUMN_COUNT }, { NULL, "comm", COLUMN_NAME },
	{ "path", "path", COLUMN_NAME },
};

SECTION(launch_sites, struct row);

/* ---- CPU time by the function that was innermost in the samples ------------------------------ */

static int cpu_functions__collect(struct section_rows *to)
{
	const struct session *s = to->s;
	rows_t rows = { 0 };
	size_t i;
	int err = 0;

	for (i = 0; i < s->sums.aggregates.nr && !err; i++) {
		const struct aggregate *a = &s->sums.aggregates.v[i];
		const struct stack *stack = s->model.chains.v[a->chain].stack;

		if (s->model.leaves.v[a->leaf].kind == LEAF_CPU)
			err = rows__add(&rows, a, (uintptr_t)stack->frames[stack->nr - 1]->name, 0,
					0);
	}
	return rows__finish(&rows, err, to);
}

static void cpu_functions__head(const struct section_rows *rows, FILE *f)
{
	fprintf(f, "CPU time: %" PRIu64 " samples in %zu functions, times in %s\n",
		rows->s->sums.nr_samples, rows->nr, rows->unit);
}

static int cpu_functions__row(const struct section_rows *rows, const void *vrow, struct table *t)
{
	const struct row *row = vrow;

	table__row(t, (struct cell[]){
		{ .n = table__share(row->sum_ns, rows->sum_ns) }, { .n = row->sum_ns },
		{ .n = row->nr }, { .s = (const char *)row->group[0] },
	});
	return 0;
}

static const struct column cpu_functions_columns[] = {
	{ "time %", "time_percent", COLUMN_SHARE }, { "total", "total_ns", COLUMN_TIME },
	{ "samples", "samples", COLUMN_COUNT }, { "function", "function", COLUMN_NAME },
};

SECTION(cpu_functions, struct row);
