// SPDX-License-Identifier: GPL-3.0-or-later
#include "write/section.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "escape.h"
#include "write/shorten.h"

/* a row of a table: the sums of one group of aggregates */
struct row {
	uintptr_t group[3];		/* identifies the row's group: aggregates with the same
					 * three numbers have one row; in the table of launch paths,
					 * the last number is odd for pending launches */
	const struct aggregate *a;	/* one of the group's aggregates; its names are the row's
					 * names */
	uint64_t nr;
	uint64_t sum_ns;
	uint64_t min_ns, max_ns, whole_ns;	/* full durations of the group's records */
	uint32_t leaf;			/* the work that took most of the row's time; NO_INDEX: no
					 * work */
	uint32_t nr_more;		/* how many other names the row's work has */
};

/* a part of a row: the work of one leaf */
struct row_part {
	uint32_t row;
	uint32_t leaf;
	const char *name;
	uint64_t ns;
};

/* the rows while they are being collected */
struct rows {
	const struct session *s;
	ARRAY(struct row) list;
	ARRAY(struct row_part) parts;	/* the parts of rows; only if leaves are requested */
	bool with_leaves;
	struct hashes by_group;
	uint64_t secret;
};

/* Orders by time, longest first; equal times in order of appearance, not by address. */
static int row__cmp_sum(const void *va, const void *vb)
{
	const struct row *a = va, *b = vb;

	return cmp3(b->sum_ns, a->sum_ns) ?: cmp3(b->nr, a->nr) ?: cmp3(a->a, b->a);
}

static bool row__is(const struct row *row, uintptr_t g0, uintptr_t g1, uintptr_t g2)
{
	return row->group[0] == g0 && row->group[1] == g1 && row->group[2] == g2;
}

/* Finds or adds the row of a group. Return: 0 or -ENOMEM. */
static int rows__get(struct rows *rows, const struct aggregate *a, uintptr_t g0, uintptr_t g1,
		     uintptr_t g2, uint32_t *row)
{
	uint32_t hash = hash__mix(g0 ^ g2, g1, rows->secret);
	const struct row new = { { g0, g1, g2 }, a, .min_ns = UINT64_MAX, .leaf = NO_INDEX };

	return hashes_get(&rows->by_group, hash, &rows->list, *row,
			  row__is(&rows->list.v[*row], g0, g1, g2), new);
}

/* Adds the work of @a to the row of its group. Return: 0 or -ENOMEM. */
static int rows__add(struct rows *rows, const struct aggregate *a, uintptr_t g0, uintptr_t g1,
		     uintptr_t g2)
{
	const struct aggregate_spread spread = aggregate__spread(&rows->s->sums.aggregates, a);
	struct row *to;
	uint32_t row;
	int err = rows__get(rows, a, g0, g1, g2, &row);

	if (err)
		return err;
	to = &rows->list.v[row];
	to->nr += a->nr;
	to->sum_ns += a->sum_ns;
	if (a->nr) {		/* 0: other aggregates count the records of @a */
		to->min_ns = min_t(uint64_t, to->min_ns, spread.min_ns);
		to->max_ns = max_t(uint64_t, to->max_ns, spread.max_ns);
	}
	to->whole_ns += spread.whole_ns;
	if (!rows->with_leaves)
		return 0;
	return array_push(&rows->parts, ((struct row_part){
		row, a->leaf, rows->s->model.leaves.v[a->leaf].name, a->sum_ns,
	}));
}

static int row_part__cmp(const void *va, const void *vb)
{
	const struct row_part *a = va, *b = vb;

	return cmp3(a->row, b->row) ?: cmp3(a->name, b->name) ?: cmp3(a->leaf, b->leaf);
}

/*
 * For each row, finds the work that took most of the row's time; if times are equal, takes the
 * first.
 */
static void rows__find_leaves(struct rows *rows)
{
	uint64_t most_ns = 0, ns = 0;
	size_t i;

	array_qsort(&rows->parts, row_part__cmp);
	for (i = 0; i < rows->parts.nr; i++) {
		const struct row_part *part = &rows->parts.v[i], *next = part + 1;
		struct row *row = &rows->list.v[part->row];
		bool last = i + 1 == rows->parts.nr || next->row != part->row;

		ns += part->ns;
		if (!last && next->name == part->name)
			continue;
		row->nr_more += row->leaf != NO_INDEX;
		if (row->leaf == NO_INDEX || ns > most_ns ||
		    (ns == most_ns && part->leaf < row->leaf)) {
			row->leaf = part->leaf;
			most_ns = ns;
		}
		ns = 0;
	}
	array_free(&rows->parts);
}

/* Sorts the rows, the longest first, and passes them to @to. Return: @err. */
static int rows__finish(struct rows *rows, int err, struct section_rows *to)
{
	size_t i;

	hashes__free(&rows->by_group);
	rows__find_leaves(rows);
	array_qsort(&rows->list, row__cmp_sum);
	to->v = rows->list.v;
	to->nr = rows->list.nr;
	for (i = 0; i < to->nr; i++)
		to->sum_ns += rows->list.v[i].sum_ns;
	return err;
}

/* ---- launch sites --------------------------------------------------------------------------- */

/*
 * Whether nvcc generated the function: the stub that <<<>>> calls, or a function that the stub
 * calls.
 */
static bool frame__is_stub(const struct frame *frame)
{
	return !strncmp(frame->name, "__cudaLaunchKernel", 18) ||
	       !strncmp(frame->name, "__device_stub_", 14);
}

/* Whether the frame's function has the kernel's name, as the stub that <<<>>> calls has. */
static bool frame__is_of(const struct frame *frame, const char *kernel)
{
	size_t len = strcspn(frame->name, "(<");

	if (!strncmp(kernel, "void ", 5))
		kernel += 5;
	return len && len == strcspn(kernel, "(<") && !strncmp(frame->name, kernel, len);
}

/*
 * Return: the number of the stack's frames, without the frames that launch @kernel; at least 1.
 * @kernel may be NULL.
 */
static uint32_t stack__nr_own(const struct stack *stack, const char *kernel)
{
	uint32_t nr = stack->nr;
	bool launches = false;

	while (nr > 1 &&
	       (frame__is_call(stack->frames[nr - 1]) || frame__is_stub(stack->frames[nr - 1]))) {
		nr--;
		launches = true;
	}
	return nr > 1 && launches && kernel && frame__is_of(stack->frames[nr - 1], kernel) ?
	       nr - 1 : nr;
}

/*
 * People see successive nameless frames of one library as one frame. Return: the end of the frames
 * that people see as one frame with frame @i, which is the first of them.
 */
static uint32_t stack__run_end(const struct stack *stack, uint32_t i, uint32_t nr)
{
	const struct frame *first = stack->frames[i];

	for (i++; i < nr && first->dso && !first->symbolized; i++)
		if (stack->frames[i]->dso != first->dso || stack->frames[i]->symbolized)
			break;
	return i;
}

/* Prints the outer @nr frames, for people. */
static void print_frames(FILE *f, const struct stack *stack, uint32_t nr)
{
	uint32_t i, end;

	for (i = 0; i < nr; i = end) {
		const struct frame *frame = stack->frames[i];

		end = stack__run_end(stack, i, nr);
		escape__print(f, end - i > 1 ? frame->dso->name : frame->name, ESCAPE_TEXT);
		if (end - i > 1)
			fprintf(f, ", %" PRIu32 " frames", end - i);
		if (end < nr)
			fputc(SHORTEN_FRAME, f);
	}
}

/* Prints all frames as in a folded line, which other programs can read. */
static void print_folded(FILE *f, const struct stack *stack)
{
	uint32_t i;

	for (i = 0; i < stack->nr; i++) {
		fputs(i ? ";" : "", f);
		escape__print(f, stack->frames[i]->name, ESCAPE_FOLDED);
	}
}

char *stack__path(const struct stack *stack, enum table_format format, const char *kernel)
{
	char *name = NULL;
	size_t size;
	FILE *f = open_memstream(&name, &size);

	if (!f)
		return NULL;
	if (format == TABLE_TEXT)
		/* Leave out the launch: the work itself shows it. */
		print_frames(f, stack, stack__nr_own(stack, kernel));
	else
		print_folded(f, stack);
	if (fclose(f)) {
		free(name);
		return NULL;
	}
	return name;
}

static bool row__is_pending(const struct row *row)
{
	return row->group[2] & 1;
}

static const char *row__comm(const struct session *s, const struct row *row)
{
	return aggregate__owner(&s->sums.aggregates, row->a)->comm;
}

/*
 * Puts the properties that --by requests, each followed by @behind: "[rank 0];[node n1];". Return:
 * 0 or -ENOMEM.
 */
static int put_roots(folded_text_t *text, const struct section_rows *rows,
		     const struct aggregate *a, char behind)
{
	uint32_t i, nr = rows->by ? rows->by->nr : 0;
	int err = 0;

	text->nr = 0;
	for (i = 0; i < nr && !err; i++)
		err = folded__put_root(text, rows->s, a, rows->by->v[i], 0) ?:
		      array_push(text, behind);
	return err ?: array_push(text, '\0');
}

/* Return: the call path of a row, for the caller to free(), or NULL. */
static char *launch_site__path(const struct section_rows *rows, const struct row *row,
			       enum table_format format)
{
	const struct session *s = rows->s;
	const struct stack *stack = s->model.chains.v[row->a->chain].stack;
	const struct leaf *leaf = row->leaf == NO_INDEX ? NULL : &s->model.leaves.v[row->leaf];
	const char *comm = row__comm(s, row);
	bool people = format == TABLE_TEXT;
	folded_text_t roots = { 0 };
	char *path, *name = NULL;

	path = stack__path(stack, format,
			   leaf && !row->nr_more && leaf->kind == LEAF_KERNEL ? leaf->name : NULL);
	if (!path || put_roots(&roots, rows, row->a, people ? SHORTEN_FRAME : ';') ||
	    (people ?
	     asprintf(&name, "%s%s%c%s", roots.v, *comm ? comm : "[unknown]", SHORTEN_FRAME, path) :
	     asprintf(&name, "%s%s", roots.v, path)) < 0)
		name = NULL;
	array_free(&roots);
	free(path);
	return name;
}

/* Return: the name of a row's largest work, for the caller to free(), or NULL. */
static char *launch_site__work(const struct session *s, const struct row *row)
{
	const struct leaf *leaf = row->leaf == NO_INDEX ? NULL : &s->model.leaves.v[row->leaf];
	char *name = NULL, more[32] = "";

	if (!leaf || leaf->kind == LEAF_PENDING)
		return strdup("(pending)");
	if (row->nr_more)
		snprintf(more, sizeof(more), " and %" PRIu32 " more", row->nr_more);
	if (asprintf(&name, "%s%s%s", leaf_kind__prefix(leaf->kind), leaf->name, more) < 0)
		return NULL;
	return name;
}

/*
 * Finds the number of a process's group: processes with the same texts for --by are one group.
 * @known: 0 if the process is new; set to the number, which counts from 1 in order of appearance
 *
 * Return: 0 or -ENOMEM.
 */
static int process__group(const struct section_rows *rows, const struct aggregate *a,
			  struct strpool *pool, folded_text_t *text, uint32_t *known)
{
	const char *roots;
	int err;

	if (*known)
		return 0;
	err = put_roots(text, rows, a, ';');
	roots = err ? NULL : strpool__intern(pool, text->v, text->nr - 1);
	if (!roots)
		return -ENOMEM;
	*known = 1 + strpool__id(roots);
	return 0;
}

static int launch_sites__collect(struct section_rows *to)
{
	const struct session *s = to->s;
	const struct aggregates *all = &s->sums.aggregates;
	uint32_t *groups = calloc(s->model.machine.procs.nr + 1, sizeof(*groups)), *group;
	struct rows rows = { .s = s, .secret = secret(), .with_leaves = true };
	struct strpool pool = { 0 };
	folded_text_t text = { 0 };
	int err = groups ? 0 : -ENOMEM;

	array_each_while(all, a, !err) {
		enum leaf_kind kind = s->model.leaves.v[a->leaf].kind;

		if (!leaf_kind__is_device(kind) && kind != LEAF_PENDING)
			continue;
		group = &groups[s->model.chains.v[a->chain].proc];
		err = process__group(to, a, &pool, &text, group) ?:
		      rows__add(&rows, a, (uintptr_t)s->model.chains.v[a->chain].stack,
				(uintptr_t)aggregate__owner(all, a)->comm,
				2 * (uintptr_t)*group + (kind == LEAF_PENDING));
	}
	array_free(&text);
	strpool__free(&pool);
	free(groups);
	return rows__finish(&rows, err, to);
}

static void launch_sites__head(const struct section_rows *rows, FILE *f)
{
	fprintf(f, "launch paths: %zu, by device time%s\n", rows->nr, rows->times);
}

static int launch_sites__row(const struct section_rows *rows, const void *vrow, struct table *t)
{
	const struct row *row = vrow;
	uint64_t nr_works = row__is_pending(row) ? 0 : row->nr;
	char *path = launch_site__path(rows, row, t->format);
	char *work = launch_site__work(rows->s, row);
	int err = path && work ? 0 : -ENOMEM;

	if (!err)
		table__row(t, (struct cell[]){
			{ .n = table__share(row->sum_ns, rows->sum_ns) }, { .n = row->sum_ns },
			{ .n = row->nr }, { .n = row->nr ? row->whole_ns / row->nr : CELL_NONE },
			{ .n = nr_works || !row->nr ? row->min_ns : 0 },
			{ .n = row->nr ? row->max_ns : CELL_NONE },
			{ .n = row->nr - nr_works }, { .s = row__comm(rows->s, row) },
			{ .s = path }, { .s = work },
		});
	free(path);
	free(work);
	return err;
}

static const struct column launch_sites_columns[] = {
	{ "time %", "time_percent", COLUMN_SHARE, 0 }, { "total", "total_ns", COLUMN_TIME, 0 },
	{ "count", "instances", COLUMN_COUNT, 1 }, { "avg", "avg_ns", COLUMN_TIME, 2 },
	{ NULL, "min_ns", COLUMN_TIME, 0 }, { NULL, "max_ns", COLUMN_TIME, 0 },
	{ NULL, "pending", COLUMN_COUNT, 0 }, { NULL, "comm", COLUMN_NAME, 0 },
	{ "call path", "path", COLUMN_PATH, 0 }, { "largest work", NULL, COLUMN_NAME, 0 },
};

SECTION(launch_sites, struct row);

/* Cuts @path after the frame of stack__place(), whose callees are library functions. */
static void launch_site__cut(const struct session *s, const struct row *row, char *path)
{
	const struct stack *stack = s->model.chains.v[row->a->chain].stack;
	const struct frame *place = stack__place(stack);
	uint32_t nr = stack__nr_own(stack, row->leaf == NO_INDEX || row->nr_more ? NULL :
				    s->model.leaves.v[row->leaf].name);
	uint32_t i = nr;
	char *end;

	if (!place || frame__place(place) == PLACE_ANYBODYS)
		return;
	while (i && stack->frames[i - 1] != place)
		i--;
	for (; i && i < nr; i = stack__run_end(stack, i, nr)) {
		end = strrchr(path, SHORTEN_FRAME);
		if (end)
			*end = '\0';
	}
}

int launch_sites__largest(const struct session *s, char **path, uint64_t *permille)
{
	struct section_rows rows = { .s = s };
	const struct row *row;
	int err;

	*path = NULL;
	err = launch_sites__collect(&rows);
	row = rows.v;
	if (!err && rows.nr && row->sum_ns) {
		*path = launch_site__path(&rows, row, TABLE_TEXT);
		*permille = table__share(row->sum_ns, rows.sum_ns);
		err = *path ? 0 : -ENOMEM;
		if (!err)
			launch_site__cut(s, row, *path);
	}
	free(rows.v);
	return err;
}

/* ---- CPU time by the function that was innermost in the samples ------------------------------ */

static int cpu_functions__collect(struct section_rows *to)
{
	const struct session *s = to->s;
	struct rows rows = { .s = s, .secret = secret() };
	int err = 0;

	array_each_while(&s->sums.aggregates, a, !err) {
		const struct stack *stack = s->model.chains.v[a->chain].stack;

		if (s->model.leaves.v[a->leaf].kind == LEAF_CPU)
			err = rows__add(&rows, a, (uintptr_t)stack->frames[stack->nr - 1]->name, 0,
					0);
	}
	return rows__finish(&rows, err, to);
}

static void cpu_functions__head(const struct section_rows *rows, FILE *f)
{
	uint64_t nr = rows->s->sums.nr_samples;

	fprintf(f, "CPU time: %" PRIu64 " sample%s in %zu function%s%s\n", nr, nr == 1 ? "" : "s",
		rows->nr, rows->nr == 1 ? "" : "s", rows->times);
}

static int cpu_functions__row(const struct section_rows *rows, const void *vrow, struct table *t)
{
	const struct row *row = vrow;

	return table__row(t, (struct cell[]){
		{ .n = table__share(row->sum_ns, rows->sum_ns) }, { .n = row->sum_ns },
		{ .n = row->nr }, { .s = (const char *)row->group[0] },
	});
}

static const struct column cpu_functions_columns[] = {
	{ "time %", "time_percent", COLUMN_SHARE, 0 }, { "total", "total_ns", COLUMN_TIME, 0 },
	{ "samples", "samples", COLUMN_COUNT, 1 }, { "function", "function", COLUMN_NAME, 0 },
};

SECTION(cpu_functions, struct row, .from = "xpuload records them without --gpu-only");

int cpu_functions__largest(const struct session *s, const char **name, uint64_t *permille)
{
	struct section_rows rows = { .s = s };
	const struct row *row;
	int err;

	*name = NULL;
	err = cpu_functions__collect(&rows);
	row = rows.v;
	if (!err && rows.nr) {
		*name = (const char *)row->group[0];
		*permille = table__share(row->sum_ns, rows.sum_ns);
	}
	free(rows.v);
	return err;
}
