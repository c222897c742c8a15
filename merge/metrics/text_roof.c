// SPDX-License-Identifier: GPL-3.0-or-later
/* text_roof.c - where to work first: the time that perfect kernels would save */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "escape.h"
#include "human.h"
#include "metrics/roof_rows.h"
#include "metrics/state.h"
#include "write/section.h"
#include "write/shorten.h"

#define ANSWER_NAME 32 /* width of the name of a kernel in the first answer */

typedef ARRAY(struct roof_row) roof_rows_t;

/* what the rows of a table stand for */
enum roof_by { BY_KERNEL, BY_PATH, BY_LINE };

static double saved(const struct roof_row *row)
{
	return roof_use__is_known(&row->use) ? roof_use__save_ns(&row->use) : -1;
}

static int roof_row__cmp(const void *va, const void *vb)
{
	const struct roof_row *a = va, *b = vb;

	return cmp3(saved(b), saved(a)) ?: cmp3(b->ns, a->ns) ?: cmp3(a->order, b->order);
}

/* Return: the innermost line of Python in a call path; NULL: it has none. */
static const char *innermost_line(const struct stack *stack)
{
	uint32_t i;

	for (i = stack->nr; i--;)
		if (frame__is_python(stack->frames[i]))
			return stack->frames[i]->name;
	return NULL;
}

/* Sets what the row of an aggregate stands for. @row stays empty if the table has no such row. */
static void roof_row__of(struct roof_row *row, const struct session *s, const struct aggregate *a,
			 enum roof_by by)
{
	const struct stack *stack = s->model.chains.v[a->chain].stack;

	if (by == BY_PATH)
		row->stack = stack;
	else
		row->name = by == BY_KERNEL ? s->model.leaves.v[a->leaf].name :
					      innermost_line(stack);
}

/*
 * Finds or adds the row of an aggregate. Sets *@found to NULL if the table has no row for it.
 * Return: 0 or -ENOMEM.
 */
static int roof_rows__get(roof_rows_t *rows, struct idmap *index, const struct session *s,
			  const struct aggregate *a, enum roof_by by, struct roof_row **found)
{
	struct roof_row row = { .order = rows->nr };
	uint64_t key;
	uint32_t idx;
	int err = 0;

	*found = NULL;
	roof_row__of(&row, s, a, by);
	key = row.name ? (uintptr_t)row.name : (uintptr_t)row.stack;
	if (!key)
		return 0;
	if (!idmap__get(index, key, &idx)) {
		idx = rows->nr;
		err = idmap__put(index, key, idx) ?: array_push(rows, row);
	}
	if (!err)
		*found = &rows->v[idx];
	return err;
}

/*
 * Adds the sums of an aggregate's kernel or call path. Several aggregates may share these sums, so
 * @added notes which sums were added. Return: 0 or -ENOMEM.
 */
static int add_use(struct idmap *added, const struct roofs *roofs, const struct aggregate *a,
		   enum roof_by by, struct roof_use *to)
{
	uint32_t of = by == BY_KERNEL ? a->leaf : a->chain, ignored;
	const struct roof_use *use =
		by == BY_KERNEL ? roofs__of_leaf(roofs, of) : roofs__of_chain(roofs, of);

	if (!use || idmap__get(added, of, &ignored))
		return 0;
	roof_use__add(to, use);
	return idmap__put(added, of, 0);
}

#define INTENSITY_COLUMN 8 /* index in ROOF_COLUMNS; the column of operations is the next */

#define ROOF_COLUMNS(name, type) { \
	{ "time %", "time_percent", COLUMN_SHARE, 0 }, { "total", "total_ns", COLUMN_TIME, 0 }, \
	{ "count", "instances", COLUMN_COUNT, 2 }, { "saves", "save_ns", COLUMN_TIME, 0 }, \
	{ NULL, "save_ns_error", COLUMN_TIME, 0 }, { "roof %", NULL, COLUMN_WORD, 0 }, \
	{ NULL, "roof_percent", COLUMN_REAL, 0 }, { NULL, "roof_percent_error", COLUMN_REAL, 0 }, \
	{ NULL, NULL, COLUMN_WORD, 3 }, { NULL, NULL, COLUMN_WORD, 4 }, \
	{ NULL, "operations_per_byte", COLUMN_REAL, 0 }, \
	{ NULL, "operations_per_byte_error", COLUMN_REAL, 0 }, \
	{ NULL, "operations_per_ns", COLUMN_REAL, 0 }, \
	{ NULL, "operations_per_ns_error", COLUMN_REAL, 0 }, \
	{ NULL, "instructions_per_byte", COLUMN_REAL, 0 }, \
	{ NULL, "instructions_per_byte_error", COLUMN_REAL, 0 }, \
	{ NULL, "instructions_per_ns", COLUMN_REAL, 0 }, \
	{ NULL, "instructions_per_ns_error", COLUMN_REAL, 0 }, \
	{ "bound by", "bound", COLUMN_NAME, 1 }, { name, name, type, 0 }, \
}

static const struct column kernel_roof_columns[] = ROOF_COLUMNS("name", COLUMN_NAME);
static const struct column path_roof_columns[] = ROOF_COLUMNS("path", COLUMN_PATH);
static const struct column line_roof_columns[] = ROOF_COLUMNS("line", COLUMN_NAME);

/*
 * Shows people the columns about operations or instructions. Few recordings have these columns.
 * Return: 0 or -ENOMEM.
 */
static int show_operations(struct section_rows *to, const struct column *columns)
{
	bool count = roof__counts_instructions(metrics__of(&to->s->model));

	to->nr_columns = ARRAY_SIZE(kernel_roof_columns);
	to->columns = malloc(sizeof(kernel_roof_columns));
	if (!to->columns)
		return -ENOMEM;
	memcpy(to->columns, columns, sizeof(kernel_roof_columns));
	to->columns[INTENSITY_COLUMN].title = count ? "inst/byte" : "op/byte";
	to->columns[INTENSITY_COLUMN + 1].title = count ? "inst/s" : "op/s";
	return 0;
}

static int roof__collect(struct section_rows *to, enum roof_by by)
{
	const struct session *s = to->s;
	const struct roofs *roofs = &metrics_state__of(&s->model)->sums.roofs;
	struct idmap index = { 0 }, added = { 0 };
	roof_rows_t rows = { 0 };
	struct roof_row *row;
	bool operations = false;
	size_t i;
	int err = 0;

	for (i = 0; i < s->sums.aggregates.nr && roofs->uses.nr && !err; i++) {
		const struct aggregate *a = &s->sums.aggregates.v[i];

		if (s->model.leaves.v[a->leaf].kind != LEAF_KERNEL)
			continue;
		to->sum_ns += a->sum_ns;
		err = roof_rows__get(&rows, &index, s, a, by, &row);
		if (err || !row)
			continue;
		row->ns += a->sum_ns;
		row->nr += a->nr;
		err = add_use(&added, roofs, a, by, &row->use);
		operations |= row->use.rates[RATE_OPERATIONS].ns > 0;
	}
	idmap__free(&index);
	idmap__free(&added);
	array_qsort(&rows, roof_row__cmp);
	to->v = rows.v;
	to->nr = rows.nr;
	return err || !operations ? err :
	       show_operations(to, by == BY_KERNEL ? kernel_roof_columns :
			       by == BY_PATH ? path_roof_columns : line_roof_columns);
}

static void roof__head(const struct section_rows *rows, const char *what, FILE *f)
{
	fprintf(f, "%s, by the time that perfect kernels would save: they do the same work, and "
		"keep the unit that they use most (their roof) always busy%s\n", what, rows->times);
}

/* Writes a value with its error, or "unknown", for people. */
static void value_text(char text[HUMAN_MAX], double value, double error)
{
	if (isnan(value))
		strcpy(text, "unknown");
	else
		human__with_error(text, value, error);
}

static int roof_row__put(const struct section_rows *rows, const struct roof_row *row,
			 const char *name, struct table *t)
{
	const struct roof_use *use = &row->use;
	bool known = roof_use__is_known(use);
	double error_ns = roof_use__error_ns(use), percent = known ? roof_use__percent(use) : NAN;
	double error = known ? 100 * error_ns / (use->ns + use->unknown_ns) : NAN;
	struct solved_value intensity = roof_use__intensity(use);
	struct solved_value rate = roof_use__rate(use, RATE_OPERATIONS);
	bool count = roof__counts_instructions(metrics__of(&rows->s->model));
	char (*texts)[HUMAN_MAX] = ((struct roof_row *)row)->texts;

	value_text(texts[0], percent, error);
	value_text(texts[1], intensity.value, intensity.error);
	value_text(texts[2], rate.value * 1e9, rate.error * 1e9);
	return table__row(t, (struct cell[]){
		{ .n = table__share(row->ns, rows->sum_ns) }, { .n = row->ns }, { .n = row->nr },
		{ .n = known ? roof_use__save_ns(use) : CELL_NONE },
		{ .n = known ? error_ns : CELL_NONE },
		{ .s = texts[0] }, { .d = percent }, { .d = error },
		{ .s = texts[1] }, { .s = texts[2] },
		{ .d = count ? NAN : intensity.value }, { .d = count ? NAN : intensity.error },
		{ .d = count ? NAN : rate.value }, { .d = count ? NAN : rate.error },
		{ .d = count ? intensity.value : NAN }, { .d = count ? intensity.error : NAN },
		{ .d = count ? rate.value : NAN }, { .d = count ? rate.error : NAN },
		{ .s = roof_use__bound(use) },
		{ .s = name },
	});
}

static bool has_roofs(const struct session *s)
{
	return metrics__of(&s->model)->names.nr;
}

static int kernel_roof__collect(struct section_rows *to)
{
	return roof__collect(to, BY_KERNEL);
}

static void kernel_roof__head(const struct section_rows *rows, FILE *f)
{
	roof__head(rows, "kernels", f);
}

static int kernel_roof__row(const struct section_rows *rows, const void *vrow, struct table *t)
{
	const struct roof_row *row = vrow;

	return roof_row__put(rows, row, row->name, t);
}

SECTION(kernel_roof, struct roof_row, .from = "xpuload --gpu-metrics records them",
	.was_recorded = has_roofs, .on_page = true);

static int path_roof__collect(struct section_rows *to)
{
	return roof__collect(to, BY_PATH);
}

static void path_roof__head(const struct section_rows *rows, FILE *f)
{
	roof__head(rows, "launch paths", f);
}

static int path_roof__row(const struct section_rows *rows, const void *vrow, struct table *t)
{
	const struct roof_row *row = vrow;
	char *path = stack__path(row->stack, t->format, NULL);

	if (!path)
		return -ENOMEM;
	roof_row__put(rows, row, path, t);
	free(path);
	return 0;
}

SECTION(path_roof, struct roof_row, .from = "xpuload --gpu-metrics records them",
	.was_recorded = has_roofs);

static int line_roof__collect(struct section_rows *to)
{
	return roof__collect(to, BY_LINE);
}

static void line_roof__head(const struct section_rows *rows, FILE *f)
{
	roof__head(rows, "lines of Python", f);
}

static int line_roof__row(const struct section_rows *rows, const void *vrow, struct table *t)
{
	return kernel_roof__row(rows, vrow, t);
}

SECTION(line_roof, struct roof_row, .from = "xpuload --gpu-metrics records them",
	.was_recorded = has_roofs);

/* ---- the first answer ------------------------------------------------------------------------ */

/* Return: a kernel's name that is safe for terminals, for the caller to free(), or NULL. */
static char *fit(const char *name, unsigned int width)
{
	char safe[1024], *out;
	const char *text = safe;

	escape__line(safe, sizeof(safe), name, ESCAPE_TEXT);
	return shorten__column(&text, 1, width ? ANSWER_NAME : 0, &out) ? NULL : out;
}

/* Writes how much time perfect kernels would save, and the kernel that would save the most. */
void roof__answer(const struct session *s, FILE *f, const struct feature_answer *a)
{
	char save[HUMAN_MAX], error[HUMAN_MAX], time[HUMAN_MAX], *name = NULL;
	struct section_rows rows = { .s = s };
	struct roof_use sum = { 0 };
	const struct roof_row *row;
	size_t i;

	if (roof__collect(&rows, BY_KERNEL) || !rows.nr)
		goto out;
	row = rows.v;
	for (i = 0; i < rows.nr; i++)
		roof_use__add(&sum, &row[i].use);
	name = fit(row->name, a->width);
	if (!name || !(sum.ns > 0) || saved(row) <= 0)
		goto out;
	fprintf(f, "perfect kernels would save %s +- %s of %s", human__time(save, sum.save_ns),
		human__time(error, sum.error_ns), human__time(time, sum.ns));
	if (sum.unknown_ns > 0)
		fprintf(f, " (the roof of %s more is unknown)", human__time(time, sum.unknown_ns));
	fprintf(f, ", most in %s (%s +- %s, bound by %s)\n", name, human__time(save, saved(row)),
		human__time(error, roof_use__error_ns(&row->use)), roof_use__bound(&row->use));
out:
	free(name);
	free(rows.columns);
	free(rows.v);
}
