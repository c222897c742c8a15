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
};

/* Rows as they are collected. */
struct rows {
	const struct session *s;
	ARRAY(struct row) list;
	struct hashes by_group;
	uint64_t secret;
};

/* Orders by time, longest first; equal times in order of appearance, not of addresses in memory. */
static int row__cmp_sum(const void *va, const void *vb)
{
	const struct row *a = va, *b = vb;

	return cmp3(b->sum_ns, a->sum_ns) ?: cmp3(b->nr, a->nr) ?: cmp3(a->a, b->a);
}

static bool row__is(const struct row *row, uintptr_t g0, uintptr_t g1, uintptr_t g2)
{
	return row->group[0] == g0 && row->group[1] == g1 && row->group[2] == g2;
}

/* Adds the work of @a to the row of its group. Return: 0 or -ENOMEM. */
static int rows__add(struct rows *rows, const struct aggregate *a, uintptr_t g0, uintptr_t g1,
		     uintptr_t g2)
{
	const struct aggregate_spread spread = aggregate__spread(&rows->s->sums.aggregates, a);
	uint32_t hash = hash__mix(g0 ^ g2, g1, rows->secret), i;
	size_t at = HASHES_START;
	struct row *to;
	int err;

	while (hashes__next(&rows->by_group, hash, &at, &i)) {
		to = &rows->list.v[i];
		if (!row__is(to, g0, g1, g2))
			continue;
		to->nr += a->nr;
		to->sum_ns += a->sum_ns;
		to->min_ns = min_t(uint64_t, to->min_ns, spread.min_ns);
		to->max_ns = max_t(uint64_t, to->max_ns, spread.max_ns);
		return 0;
	}
	err = hashes__add(&rows->by_group, hash, rows->list.nr);
	return err ?: array_push(&rows->list, ((struct row){
		{ g0, g1, g2 }, a, a->nr, a->sum_ns, spread.min_ns, spread.max_ns,
	}));
}

/* Hands the rows over, the longest first. Return: @err. */
static int rows__finish(struct rows *rows, int err, struct section_rows *to)
{
	size_t i;

	hashes__free(&rows->by_group);
	if (rows->list.nr)
		qsort(rows->list.v, rows->list.nr, sizeof(*rows->list.v), row__cmp_sum);
	to->v = rows->list.v;
	to->nr = rows->list.nr;
	for (i = 0; i < to->nr; i++)
		to->sum_ns += rows->list.v[i].sum_ns;
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

char *stack__path(const struct stack *stack, enum table_format format)
{
	char *name = NULL;
	size_t size;
	FILE *f = open_memstream(&name, &size);

	if (!f)
		return NULL;
	if (format == TABLE_TEXT)
		print_stack(f, stack);
	else
		print_folded(f, stack);
	if (fclose(f)) {
		free(name);
		return NULL;
	}
	return name;
}

static const char *row__comm(const struct session *s, const struct row *row)
{
	return aggregate__owner(&s->sums.aggregates, row->a)->comm;
}

/* Return: the name of a row, for the caller to free(), or NULL. */
static char *launch_site__name(const struct session *s, const struct row *row,
			       enum table_format format)
{
	const struct stack *stack = s->model.chains.v[row->a->chain].stack;
	const char *comm = row__comm(s, row);
	char *path = stack__path(stack, format), *name = NULL;

	if (!path || format != TABLE_TEXT)
		return path;
	if (asprintf(&name, "%s: %s%s", *comm ? comm : "[unknown]", path,
		     row->group[2] ? " (pending)" : "") < 0)
		name = NULL;
	free(path);
	return name;
}

static int launch_sites__collect(struct section_rows *to)
{
	const struct session *s = to->s;
	const struct aggregates *all = &s->sums.aggregates;
	struct rows rows = { .s = s, .secret = secret() };
	size_t i;
	int err = 0;

	for (i = 0; i < all->nr && !err; i++) {
		const struct aggregate *a = &all->v[i];
		enum leaf_kind kind = s->model.leaves.v[a->leaf].kind;

		if (leaf_kind__is_device(kind) || kind == LEAF_PENDING)
			err = rows__add(&rows, a, (uintptr_t)s->model.chains.v[a->chain].stack,
					(uintptr_t)aggregate__owner(all, a)->comm, kind == LEAF_PENDING);
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
		{ .n = row->nr - nr_works }, { .s = row__comm(rows->s, row) }, { .s = name },
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
	struct rows rows = { .s = s, .secret = secret() };
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
