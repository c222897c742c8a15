// SPDX-License-Identifier: GPL-3.0-or-later
#include "write/diff.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "escape.h"
#include "human.h"
#include "write/changed_counters.h"
#include "write/html.h"
#include "write/shorten.h"
#include "write/table.h"
#include "write/text.h"

enum { A, B };

/* ---- values --------------------------------------------------------------------------------- */

/* Return: the cell's value in the base unit: ns, records or bytes. */
static uint64_t diff__raw(const struct diff *d, const struct tree_cell *cell, unsigned int side)
{
	const struct tree_value v = tree__value(&d->tree, cell, side);

	if (!folded__wants(d->sides[side], d->opts.unit, cell->kind))
		return 0;
	return d->opts.unit == UNIT_COUNT ? v.nr : d->opts.unit == UNIT_BYTES ? v.bytes : v.ns;
}

/* Return: the normalized value in the requested unit, rounded once, to the nearest, halves up. */
static uint64_t diff__value(const struct diff *d, uint64_t raw, unsigned int side)
{
	unsigned __int128 den = d->opts.unit == UNIT_US ? 1000 :
				d->opts.unit == UNIT_MS ? 1000000 : 1;
	unsigned __int128 num = raw;

	if (side == A) {
		num *= d->num;
		den *= d->den;
	}
	return (num + den / 2) / den;
}

static uint64_t diff__total(const struct diff *d, unsigned int side)
{
	uint64_t sum = 0;
	size_t i;

	if (d->opts.normalize == NORMALIZE_LAUNCHES)
		return d->sides[side]->sums.loss.nr_launches;
	for (i = 0; i < d->tree.cells.nr; i++)
		sum += diff__raw(d, &d->tree.cells.v[i], side);
	return sum;
}

int diff__init(struct diff *d, const struct session *a, const struct session *b,
	       const struct diff_opts *opts)
{
	int err;

	memset(d, 0, sizeof(*d));
	d->opts = *opts;
	d->sides[A] = a;
	d->sides[B] = b;
	d->num = d->den = 1;
	err = tree__init(&d->tree) ?: tree__add(&d->tree, a, A, &opts->by, 0) ?:
	      tree__add(&d->tree, b, B, &opts->by, 0) ?: tree__sort(&d->tree);
	if (err || opts->normalize == NORMALIZE_NONE)
		return err;
	d->num = diff__total(d, B);
	d->den = diff__total(d, A);
	return d->den ? 0 : -EDOM;
}

void diff__exit(struct diff *d)
{
	tree__exit(&d->tree);
}

/* ---- folded --------------------------------------------------------------------------------- */

/*
 * Fills @path, which has room for all levels, with the names from the root to @node. Return: their
 * number.
 */
static uint32_t diff__path(const struct diff *d, uint32_t node, const char **path)
{
	uint32_t nr = d->tree.nodes.v[node].depth, n;

	for (n = node; n != TREE_ROOT; n = d->tree.nodes.v[n].parent)
		path[d->tree.nodes.v[n].depth - 1] =
			d->tree.frames.v[d->tree.nodes.v[n].frame].name;
	return nr;
}

/* Return: room for the longest path, or NULL. */
static const char **diff__new_path(const struct diff *d)
{
	uint32_t deepest = 0;
	size_t i;

	for (i = 0; i < d->tree.nodes.nr; i++)
		deepest = max_t(uint32_t, deepest, d->tree.nodes.v[i].depth);
	return calloc(deepest + 1, sizeof(const char *));
}

int diff__write_folded(const struct diff *d, FILE *f, bool waits, struct folded_result *result)
{
	const char **path = diff__new_path(d);
	const struct tree *t = &d->tree;
	size_t i, j;

	memset(result, 0, sizeof(*result));
	if (!path)
		return -ENOMEM;
	for (i = 0; i < t->cells.nr; i = j) {
		uint64_t raw[TREE_SIDES] = { 0 }, value[TREE_SIDES], ns = 0;
		bool wanted = false, wait;
		uint32_t nr, side, k;

		/* Add up work that has one name but ran on several devices. */
		for (j = i; j < t->cells.nr && t->cells.v[j].node == t->cells.v[i].node; j++)
			for (side = 0; side < TREE_SIDES; side++) {
				raw[side] += diff__raw(d, &t->cells.v[j], side);
				ns += tree__value(t, &t->cells.v[j], side).ns;
				wanted |= folded__wants(d->sides[side], d->opts.unit,
							t->cells.v[j].kind);
			}
		wait = t->cells.v[i].kind < NR_LEAF_KINDS && LEAVES_WAIT & 1u << t->cells.v[i].kind;
		if (!wanted || (wait && !waits))
			continue;
		if (wait)
			fputs(FOLDED_WAITS ";", f);
		nr = diff__path(d, t->cells.v[i].node, path);
		for (k = 0; k < nr; k++)
			fprintf(f, "%s%s", k ? ";" : "", path[k]);
		for (side = 0; side < TREE_SIDES; side++)
			value[side] = diff__value(d, raw[side], side);
		fprintf(f, " %" PRIu64 " %" PRIu64 "\n", value[A], value[B]);
		result->nr_lines++;
		if (d->opts.unit != UNIT_BYTES && !value[A] && !value[B] && ns) {
			result->nr_rounded_away++;
			result->rounded_away_ns += ns;
		}
	}
	free(path);
	return 0;
}

/* ---- text ----------------------------------------------------------------------------------- */

/* a line of a table */
struct row {
	uint32_t key;			/* the key: a frame, or a node */
	uint64_t ns[TREE_SIDES];	/* the times, with A normalized */
	uint64_t nr[TREE_SIDES];	/* number of records, not normalized */
	uint64_t whole_ns[TREE_SIDES];	/* full durations; ns includes only the parts in a time
					 * window */
	uint64_t avg_ns[TREE_SIDES];	/* average of full durations, not normalized */
};

typedef ARRAY(struct row) rows_t;

static int row__cmp_key(const void *va, const void *vb)
{
	const struct row *a = va, *b = vb;

	return cmp3(a->key, b->key);
}

static uint64_t row__change(const struct row *row)
{
	return row->ns[A] > row->ns[B] ? row->ns[A] - row->ns[B] : row->ns[B] - row->ns[A];
}

/* Orders by change, the largest first; equal changes by value, the largest first. */
static int row__cmp_change(const void *va, const void *vb)
{
	const struct row *a = va, *b = vb;

	return cmp3(row__change(b), row__change(a)) ?: cmp3(b->ns[B], a->ns[B]) ?:
	       cmp3(a->key, b->key);
}

static int rows__add(rows_t *rows, uint32_t key, const struct tree *t, const struct tree_cell *cell)
{
	const struct tree_value a = tree__value(t, cell, A), b = tree__value(t, cell, B);

	return array_push(rows, ((struct row){
		.key = key, .ns = { a.ns, b.ns }, .nr = { a.nr, b.nr },
		.whole_ns = { a.whole_ns, b.whole_ns },
	}));
}

/* Adds up the rows of each key, and sorts the sums by change. */
static void rows__sum(rows_t *rows, const struct diff *d)
{
	size_t i, nr = 0;

	if (!rows->nr)
		return;
	array_qsort(rows, row__cmp_key);
	for (i = 1; i < rows->nr; i++) {
		struct row *to = &rows->v[nr], *from = &rows->v[i];
		unsigned int side;

		if (to->key != from->key) {
			rows->v[++nr] = *from;
			continue;
		}
		for (side = 0; side < TREE_SIDES; side++) {
			to->ns[side] += from->ns[side];
			to->nr[side] += from->nr[side];
			to->whole_ns[side] += from->whole_ns[side];
		}
	}
	rows->nr = nr + 1;
	array_each(rows, row) {
		row->avg_ns[A] = row->nr[A] ? row->whole_ns[A] / row->nr[A] : 0;
		row->avg_ns[B] = row->nr[B] ? row->whole_ns[B] / row->nr[B] : 0;
		row->ns[A] = ((unsigned __int128)row->ns[A] * d->num + d->den / 2) / d->den;
	}
	array_qsort(rows, row__cmp_change);
}

#define CELL	48			/* maximum length of a number's text */

/* Formats a duration as @o requests. */
static void format_ns(char buf[CELL], const char *sign, uint64_t ns, const struct diff *d,
		      const struct diff_text *o)
{
	size_t len = snprintf(buf, CELL, "%s", sign);

	table__format_time(buf + len, CELL - len, ns, o->human, d->opts.unit);
}

/* Formats how much B is above or below A, in percent of A. */
static void format_change(char buf[CELL], const struct row *row)
{
	const char *sign = row->ns[B] < row->ns[A] ? "-" : "+";
	uint64_t tenths;

	if (!row->ns[A] || !row->ns[B]) {
		snprintf(buf, CELL, "%s", row->ns[B] ? "new" : row->ns[A] ? "gone" : "");
		return;
	}
	tenths = ((unsigned __int128)row__change(row) * 1000 + row->ns[A] / 2) / row->ns[A];
	snprintf(buf, CELL, "%s%" PRIu64 ".%u%%", sign, tenths / 10, (unsigned int)(tenths % 10));
}

/*
 * Whether a frame is a launch function. The text leaves out launch functions, because most paths
 * end in a launch function.
 */
static bool is_launch(const char *name)
{
	return !strncmp(name, "cu", 2) && strstr(name, "Launch") && !strchr(name, '(');
}

/* Return: the path to @node as text of a table cell, for the caller to free(), or NULL. */
static char *diff__cell_path(const struct diff *d, uint32_t node, const char **path)
{
	uint32_t nr = diff__path(d, node, path), i;
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	if (nr > 2 && is_launch(path[nr - 1]))
		nr--;
	for (i = 0; i < nr; i++)
		fprintf(f, "%s%s", i ? (char[]){ SHORTEN_FRAME, '\0' } : "", path[i]);
	if (fclose(f) || !text) {
		free(text);
		return NULL;
	}
	return text;
}

/* Adds a row to a table. @path: NULL if rows are frames, not nodes. Return: 0 or -ENOMEM. */
static int put_row(const struct diff *d, const struct row *row, const char **path,
		   const struct diff_text *o, struct table *t)
{
	char *name = path ? diff__cell_path(d, row->key, path) :
		     strdup(d->tree.frames.v[row->key].name);
	const char *sign = row->ns[B] < row->ns[A] ? "-" : row->ns[B] > row->ns[A] ? "+" : "";
	char change[CELL], percent[CELL], a[CELL], b[CELL], avg_a[CELL], avg_b[CELL];

	if (!name)
		return -ENOMEM;
	format_ns(change, sign, row__change(row), d, o);
	format_change(percent, row);
	format_ns(a, "", row->ns[A], d, o);
	format_ns(b, "", row->ns[B], d, o);
	format_ns(avg_a, "", row->avg_ns[A], d, o);
	format_ns(avg_b, "", row->avg_ns[B], d, o);
	table__row(t, (struct cell[]){
		{ .s = change }, { .s = percent }, { .s = a }, { .s = b }, { .s = avg_a },
		{ .s = avg_b }, { .n = row->nr[A] }, { .n = row->nr[B] }, { .s = name },
	});
	free(name);
	return 0;
}

static int print_rows(const struct diff *d, FILE *f, rows_t *rows, const char *title,
		      const char **path, const struct diff_text *o)
{
	const char *unit = d->opts.unit == UNIT_NS ? "ns" : d->opts.unit == UNIT_MS ? "ms" : "us";
	const struct column columns[] = {
		{ "B - A", "change", COLUMN_WORD, 0 }, { "", "percent", COLUMN_WORD, 0 },
		{ "A", "a", COLUMN_WORD, 1 }, { "B", "b", COLUMN_WORD, 2 },
		{ "avg A", "avg_a", COLUMN_WORD, 4 }, { "avg B", "avg_b", COLUMN_WORD, 3 },
		{ "count A", "count_a", COLUMN_COUNT, 6 },
		{ "count B", "count_b", COLUMN_COUNT, 5 },
		{ path ? "path" : "name", "name", path ? COLUMN_PATH : COLUMN_NAME, 0 },
	};
	struct table t = { .f = f, .width = o->width, .color = o->color };
	size_t nr_differ = 0, shown, i;
	int err = 0;

	rows__sum(rows, d);
	for (i = 0; i < rows->nr; i++)
		nr_differ += row__change(&rows->v[i]) != 0;
	fprintf(f, "\n%s%s: %zu, of which %zu differ%s%s%s%s\n", o->color ? "\033[1m" : "", title,
		rows->nr, nr_differ, nr_differ == 1 ? "s" : "", o->human ? "" : ", times in ",
		o->human ? "" : unit, o->color ? "\033[m" : "");
	if (!rows->nr)
		return 0;
	table__begin(&t, title, columns, ARRAY_SIZE(columns));
	shown = d->opts.max_rows ? min_t(size_t, d->opts.max_rows, rows->nr) : rows->nr;
	for (i = 0; i < shown && !err; i++)
		err = put_row(d, &rows->v[i], path, o, &t);
	if (table__end(&t))
		err = -ENOMEM;
	if (shown < rows->nr)
		fprintf(f, "  ... and %zu more\n", rows->nr - shown);
	return err;
}

/* Describes the normalization in words; @buf is "" without normalization. */
static void diff__describe(const struct diff *d, char *buf, size_t size)
{
	buf[0] = 0;
	if (d->opts.normalize != NORMALIZE_NONE)
		snprintf(buf, size, "A is multiplied by %.6g, as if both had the same %s",
			 (double)d->num / d->den, d->opts.normalize == NORMALIZE_LAUNCHES ?
			 "number of launches" : "total");
}

/* Prints the kernels' counters that changed. Return: 0 or -ENOMEM. */
static int print_counters(const struct diff *d, FILE *f, const struct diff_text *o)
{
	struct changed_counters counters = { 0 };
	int err;

	/*
	 * A side here is the sum of its recordings, so the spread of several runs is unknown. The
	 * output of --json has it.
	 */
	if (d->sides[A]->model.inputs.nr > 1 || d->sides[B]->model.inputs.nr > 1)
		return 0;
	err = changed_counters__add(&counters, d->sides[A], A) ?:
	      changed_counters__add(&counters, d->sides[B], B);
	if (!err) {
		changed_counters__find(&counters);
		err = changed_counters__print(&counters, (struct table){
			.f = f, .width = o->width, .color = o->color,
		}, d->opts.max_rows);
	}
	changed_counters__exit(&counters);
	return err;
}

int diff__write_text(const struct diff *d, FILE *f, const struct diff_text *o)
{
	const struct tree *t = &d->tree;
	const char **path = diff__new_path(d);
	rows_t work = { 0 }, paths = { 0 };
	unsigned int side;
	char words[128];
	int err = path ? 0 : -ENOMEM;
	size_t k;

	array_each_while(&t->cells, cell, !err) {
		const struct tree_node *n = &t->nodes.v[cell->node];

		/*
		 * CPU time belongs to no kernel or copy, so only the table of call paths shows it.
		 */
		if (cell->kind != LEAF_CPU)
			err = rows__add(&work, n->frame, t, cell) ?:
			      rows__add(&paths, n->parent, t, cell);
		else
			err = rows__add(&paths, cell->node, t, cell);
	}
	if (err)
		goto out;
	for (side = 0; side < TREE_SIDES; side++) {
		const struct session *s = d->sides[side];

		fprintf(f, "%s%c\n", side ? "\n" : "", 'A' + side);
		for (k = 0; k < s->model.inputs.nr; k++)
			text__write_head(s, &s->model.inputs.v[k], f);
		session__print_loss(s, f);
	}
	diff__describe(d, words, sizeof(words));
	if (words[0])
		fprintf(f, "\n%s\n", words);
	err = print_rows(d, f, &work, "kernels and other work", NULL, o) ?:
	      print_rows(d, f, &paths, "call paths", path, o) ?: print_counters(d, f, o);
out:
	free(path);
	array_free(&work);
	array_free(&paths);
	return err;
}

/* ---- growth --------------------------------------------------------------------------------- */

/* Sums up device work by call path. Return: the device time of A, normalized, or -ENOMEM. */
static int64_t rows__of_device(rows_t *rows, const struct diff *d)
{
	const struct tree *t = &d->tree;
	uint64_t sum_ns = 0;
	size_t i;
	int err = 0;

	array_each_while(&t->cells, cell, !err) {
		if (leaf_kind__is_device(cell->kind))
			err = rows__add(rows, t->nodes.v[cell->node].parent, t, cell);
	}
	if (err)
		return err;
	rows__sum(rows, d);
	for (i = 0; i < rows->nr; i++)
		sum_ns += rows->v[i].ns[A];
	return min_t(uint64_t, sum_ns, INT64_MAX);
}

static bool row__grew(const struct row *row, double percent, uint64_t least_ns)
{
	return row->ns[B] > row->ns[A] && row__change(row) >= least_ns &&
	       row__change(row) > row->ns[A] * percent / 100;
}

/* Prints a call path that grew. Return: 0 or -ENOMEM. */
static int print_grown(const struct diff *d, FILE *f, const struct row *row, const char **path)
{
	char change[CELL], a[HUMAN_MAX], b[HUMAN_MAX];
	char *text = diff__cell_path(d, row->key, path), *line = NULL;
	int err;

	if (!text)
		return -ENOMEM;
	format_change(change, row);
	err = shorten__column((const char *const *)&text, 1, 0, &line);
	if (!err)
		fprintf(f, "  %s, from %s to %s: %s\n", change, human__time(a, row->ns[A]),
			human__time(b, row->ns[B]), line);
	free(line);
	free(text);
	return err;
}

int64_t diff__print_grown(const struct diff *d, FILE *f, double percent)
{
	const char **path = diff__new_path(d);
	int64_t sum_ns, nr = 0, err = 0;
	rows_t rows = { 0 };
	size_t i;

	sum_ns = path ? rows__of_device(&rows, d) : -ENOMEM;
	for (i = 0; i < rows.nr && sum_ns >= 0; i++)
		nr += row__grew(&rows.v[i], percent, sum_ns / 1000);
	if (nr)
		fprintf(f, "%" PRId64 " call path%s %s over %g %% more device time in B:\n", nr,
			nr == 1 ? "" : "s", nr == 1 ? "takes" : "take", percent);
	for (i = 0, nr = 0; i < rows.nr && sum_ns >= 0 && !err; i++) {
		if (!row__grew(&rows.v[i], percent, sum_ns / 1000))
			continue;
		nr++;
		if (!d->opts.max_rows || nr <= d->opts.max_rows)
			err = print_grown(d, f, &rows.v[i], path);
	}
	array_free(&rows);
	free(path);
	return sum_ns < 0 ? sum_ns : err ?: nr;
}

/* ---- html ----------------------------------------------------------------------------------- */

int diff__write_html(const struct diff *d, FILE *f, const char *unit)
{
	const struct html_side sides[TREE_SIDES] = {
		{ d->sides[A], (double)d->num / d->den }, { d->sides[B], 1 },
	};
	char words[128];

	diff__describe(d, words, sizeof(words));
	return html__write(f, sides, TREE_SIDES,
			   &(struct html_opts){
				   .unit = unit, .normalize = words, .by = d->opts.by,
			   });
}
