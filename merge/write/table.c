// SPDX-License-Identifier: GPL-3.0-or-later
#include "write/table.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "escape.h"
#include "human.h"
#include "json_out.h"
#include "write/shorten.h"
#include "util.h"

#define CELL_MAX	64		/* maximum length of a number's text */

/* minimum width, in characters, of a call path, and of a name next to it */
#define LEAST_PATH	38
#define LEAST_NAME	24
#define LEAST_ALONE	32		/* minimum width of a name that has no path next to it */

uint64_t table__share(uint64_t part, uint64_t whole)
{
	/* The product has 128 bits, because ns times 1000 may overflow 64 bits. */
	return whole ? ((unsigned __int128)part * 1000 + whole / 2) / whole : 0;
}

bool column__is(const struct column *c, const char *name)
{
	return (c->key && !strcmp(c->key, name)) || (c->title && !strcmp(c->title, name));
}

/* Whether this is a text column. Text columns share the width that is left over by numbers. */
static bool column__is_text(const struct column *c)
{
	return c->type == COLUMN_NAME || c->type == COLUMN_PATH;
}

static bool column__has_string(const struct column *c)
{
	return c->type == COLUMN_WORD || column__is_text(c);
}

/* Formats a time with integer arithmetic. Only ms are rounded, to three decimals. */
static void time__format(char *buf, size_t size, uint64_t ns, enum unit unit)
{
	if (unit == UNIT_NS)
		snprintf(buf, size, "%" PRIu64, ns);
	else if (unit == UNIT_MS)
		snprintf(buf, size, "%" PRIu64 ".%03u", ns / 1000000,
			 (unsigned int)(ns / 1000 % 1000));
	else
		snprintf(buf, size, "%" PRIu64 ".%03u", ns / 1000, (unsigned int)(ns % 1000));
}

void table__format_time(char *buf, size_t size, uint64_t ns, bool human, enum unit unit)
{
	char text[HUMAN_MAX];

	if (human)
		snprintf(buf, size, "%s", human__time(text, ns));
	else
		time__format(buf, size, ns, unit);
}

/* Formats a cell that has a number and no name. */
static void cell__format(char *buf, size_t size, const struct table *t, const struct column *c,
			 const struct cell *cell)
{
	bool real = c->type == COLUMN_REAL;
	bool people = t->format == TABLE_TEXT, human = people && t->human && cell->n != CELL_NONE;
	bool rounded = people && fabs(cell->d) < 1e15;
	uint64_t n = cell->n;

	if (human && c->type == COLUMN_TIME)
		human__time(buf, n);
	else if (human && c->type == COLUMN_BYTES)
		human__bytes(buf, n);
	else if (real && human && fabs(cell->d) >= 100000 && fabs(cell->d) < 1e15)
		human__number(buf, cell->d, 1);
	else if (real && isfinite(cell->d))
		snprintf(buf, size, rounded ? "%.1f" : "%.7g", cell->d);
	else if (real || n == CELL_NONE)
		snprintf(buf, size, "%s", t->format == TABLE_JSON ? "null" : "");
	else if (c->type == COLUMN_SHARE)
		snprintf(buf, size, "%" PRIu64 ".%u", n / 10, (unsigned int)(n % 10));
	else if (c->type == COLUMN_TIME && t->format == TABLE_TEXT)
		time__format(buf, size, n, t->unit);
	else
		snprintf(buf, size, "%" PRIu64, n);
}

/*
 * Prints a name. A name that looks like a formula gets an apostrophe in front of it, because
 * recorded programs choose names, and a spreadsheet would evaluate the formula.
 */
static void print_csv(FILE *f, const char *s)
{
	char out[ESCAPE_MAX];
	size_t len;

	fputc('"', f);
	if (*s && strchr("=+-@\t\r", *s))
		fputc('\'', f);
	while ((len = escape__next(&s, ESCAPE_TEXT, out))) {
		if (*out == '"')
			fputc('"', f);
		fwrite(out, 1, len, f);
	}
	fputc('"', f);
}

/* ---- for programs ---------------------------------------------------------------------------- */

static void table__json_row(struct table *t, const struct cell *cells)
{
	struct json_out *j = t->json;
	char buf[CELL_MAX];
	size_t i;

	json_out__line(j, 2);
	json_out__open(j, '{');
	for (i = 0; i < t->nr_columns; i++) {
		const struct column *c = &t->columns[i];

		if (!c->key)
			continue;
		json_out__key(j, c->key);
		if (column__is_text(c)) {
			json_out__string(j, cells[i].s);
			continue;
		}
		cell__format(buf, sizeof(buf), t, c, &cells[i]);
		json_out__literal(j, buf);
	}
	json_out__close(j, '}');
}

static void table__csv_row(struct table *t, const struct cell *cells)
{
	const char *between = "";
	char buf[CELL_MAX];
	size_t i;

	for (i = 0; i < t->nr_columns; i++) {
		if (!t->columns[i].key)
			continue;
		fputs(between, t->f);
		between = ",";
		if (column__is_text(&t->columns[i])) {
			print_csv(t->f, cells[i].s);
			continue;
		}
		cell__format(buf, sizeof(buf), t, &t->columns[i], &cells[i]);
		fputs(buf, t->f);
	}
	fputc('\n', t->f);
}

/* ---- for people ------------------------------------------------------------------------------ */

/* the layout of a table */
struct layout {
	struct table *t;
	size_t nr;			/* rows */
	char **texts;			/* for each row and column: the text; NULL: the column is
					 * not shown */
	size_t *widths;			/* for each column */
	bool *shown;			/* for each column */
};

/* Return: the text of a cell, allocated, or NULL. */
static char *cell__text(const struct table *t, const struct column *c, const struct cell *cell)
{
	char buf[CELL_MAX], out[ESCAPE_MAX], *text = NULL;
	const char *at = cell->s;
	size_t size;
	FILE *f;

	if (!column__has_string(c)) {
		cell__format(buf, sizeof(buf), t, c, cell);
		return strdup(buf);
	}
	f = open_memstream(&text, &size);
	if (!f)
		return NULL;
	while (*at) {
		if (c->type == COLUMN_PATH && *at == SHORTEN_FRAME)
			fputc(*at++, f);
		else if (escape__next(&at, ESCAPE_TEXT, out))
			fputs(out, f);
	}
	if (fclose(f) || !text) {
		free(text);
		return NULL;
	}
	return text;
}

static int layout__init(struct layout *l, struct table *t)
{
	size_t nr = t->nr_columns, row, i;

	*l = (struct layout){ .t = t, .nr = t->nr_rows };
	l->texts = calloc(l->nr * nr + 1, sizeof(*l->texts));
	l->widths = calloc(nr + 1, sizeof(*l->widths));
	l->shown = calloc(nr + 1, sizeof(*l->shown));
	if (!l->texts || !l->widths || !l->shown)
		return -ENOMEM;
	for (i = 0; i < nr; i++) {
		l->shown[i] = t->columns[i].title != NULL;
		l->widths[i] = l->shown[i] ? strlen(t->columns[i].title) : 0;
		for (row = 0; row < l->nr && l->shown[i]; row++) {
			char *text = cell__text(t, &t->columns[i], &t->cells.v[row * nr + i]);

			l->texts[row * nr + i] = text;
			if (!text)
				return -ENOMEM;
			l->widths[i] = max_t(size_t, l->widths[i], shorten__width(text));
		}
	}
	return 0;
}

static void layout__exit(struct layout *l)
{
	size_t i;

	for (i = 0; l->texts && i < l->nr * l->t->nr_columns; i++)
		free(l->texts[i]);
	free(l->texts);
	free(l->widths);
	free(l->shown);
}

/* Return: the total width of the columns of numbers, and of the gaps between all columns. */
static size_t layout__taken(const struct layout *l)
{
	size_t i, taken = 0;

	for (i = 0; i < l->t->nr_columns; i++)
		if (l->shown[i])
			taken += column__is_text(&l->t->columns[i]) ? 2 : 1 + l->widths[i];
	return taken;
}

/* Return: the minimum width of a column of text. */
static size_t layout__least(const struct layout *l, size_t column, size_t nr_texts)
{
	size_t width = l->t->width, least;

	if (nr_texts < 2)
		least = max_t(size_t, LEAST_ALONE, width * 2 / 5);
	else if (l->t->columns[column].type == COLUMN_PATH)
		least = max_t(size_t, LEAST_PATH, width * 3 / 10);
	else
		least = max_t(size_t, LEAST_NAME, width / 5);
	return min_t(size_t, least, l->widths[column]);
}

static size_t layout__nr_texts(const struct layout *l)
{
	size_t i, nr = 0;

	for (i = 0; i < l->t->nr_columns; i++)
		nr += l->shown[i] && column__is_text(&l->t->columns[i]);
	return nr;
}

/* Leaves out columns until texts of the minimum widths fit. Return: the sum of these widths. */
static size_t layout__drop(struct layout *l)
{
	size_t nr_texts = layout__nr_texts(l), needed = 0, drop, i;

	for (i = 0; i < l->t->nr_columns; i++)
		if (l->shown[i] && column__is_text(&l->t->columns[i]))
			needed += layout__least(l, i, nr_texts);
	while (layout__taken(l) + needed > l->t->width) {
		drop = SIZE_MAX;
		for (i = 0; i < l->t->nr_columns; i++)
			if (l->shown[i] && l->t->columns[i].rank &&
			    (drop == SIZE_MAX || l->t->columns[i].rank >= l->t->columns[drop].rank))
				drop = i;
		if (drop == SIZE_MAX)
			break;
		l->shown[drop] = false;
	}
	return needed;
}

/* Fits a column into its width. Return: 0 or -ENOMEM. */
static int layout__shorten(struct layout *l, size_t column, size_t width)
{
	size_t nr = l->t->nr_columns, row;
	const char **texts = calloc(l->nr + 1, sizeof(*texts));
	char **out = calloc(l->nr + 1, sizeof(*out));
	int err = texts && out ? 0 : -ENOMEM;

	for (row = 0; row < l->nr && !err; row++)
		texts[row] = l->texts[row * nr + column];
	err = err ?: shorten__column(texts, l->nr, width, out);
	for (row = 0; row < l->nr && !err; row++) {
		free(l->texts[row * nr + column]);
		l->texts[row * nr + column] = out[row];
	}
	free(texts);
	free(out);
	return err;
}

/*
 * Gives the remaining width to the columns of text: first their minimum widths, then as much as
 * they need, from left to right.
 */
static int layout__fit(struct layout *l)
{
	size_t needed = l->t->width ? layout__drop(l) : 0, nr_texts = layout__nr_texts(l);
	size_t rest, i, least;
	int err = 0;

	rest = l->t->width > layout__taken(l) + needed ?
	       l->t->width - layout__taken(l) - needed : 0;
	for (i = 0; i < l->t->nr_columns && !err; i++) {
		if (!l->shown[i] || !column__is_text(&l->t->columns[i]))
			continue;
		if (l->t->width) {
			least = layout__least(l, i, nr_texts);
			rest += least;
			l->widths[i] = min_t(size_t, l->widths[i], rest);
			rest -= l->widths[i];
		}
		err = layout__shorten(l, i, l->t->width ? l->widths[i] : 0);
	}
	return err;
}

/* Return: the color for a share, in three steps as in perf's report. */
static const char *share__color(uint64_t permille)
{
	return permille >= 50 ? "\033[31m" : permille >= 5 ? "\033[32m" : "";
}

static void layout__print_cell(const struct layout *l, size_t row, size_t column, bool last)
{
	const struct table *t = l->t;
	const struct column *c = &t->columns[column];
	const char *text = row == SIZE_MAX ? c->title : l->texts[row * t->nr_columns + column];
	const char *color = t->color && row != SIZE_MAX && c->type == COLUMN_SHARE && *text ?
			    share__color(t->cells.v[row * t->nr_columns + column].n) : "";
	size_t pad = l->widths[column] - min_t(size_t, l->widths[column], shorten__width(text));

	fputs(column__is_text(c) ? "  " : " ", t->f);
	if (!column__is_text(c))
		fprintf(t->f, "%*s", (int)pad, "");
	fprintf(t->f, "%s%s%s", color, text, *color ? "\033[m" : "");
	if (column__is_text(c) && !last)
		fprintf(t->f, "%*s", (int)pad, "");
}

/* Prints a row of the table. @row: its number, or SIZE_MAX for the titles. */
static void layout__print_row(const struct layout *l, size_t row)
{
	size_t i, last = 0;

	for (i = 0; i < l->t->nr_columns; i++)
		if (l->shown[i] && (row == SIZE_MAX || *l->texts[row * l->t->nr_columns + i]))
			last = i;
	fputs(row == SIZE_MAX && l->t->color ? "\033[2m" : "", l->t->f);
	for (i = 0; i <= last; i++)
		if (l->shown[i])
			layout__print_cell(l, row, i, i == last);
	fputs(row == SIZE_MAX && l->t->color ? "\033[m\n" : "\n", l->t->f);
}

static int table__print(struct table *t)
{
	struct layout l;
	size_t row;
	int err = layout__init(&l, t) ?: layout__fit(&l);

	if (!err) {
		layout__print_row(&l, SIZE_MAX);
		for (row = 0; row < l.nr; row++)
			layout__print_row(&l, row);
	}
	layout__exit(&l);
	return err;
}

/* ---- the whole table ------------------------------------------------------------------------- */

void table__begin(struct table *t, const char *name, const struct column *columns,
		  size_t nr_columns)
{
	const char *between = "";
	size_t i;

	t->columns = columns;
	t->nr_columns = nr_columns;
	t->nr_rows = 0;
	t->err = 0;
	t->sorts = false;
	for (i = 0; i < nr_columns && t->sort; i++)
		t->sorts |= column__is(&columns[i], t->sort);
	if (t->format == TABLE_JSON) {
		json_out__line(t->json, 0);
		json_out__key(t->json, name);
		json_out__open(t->json, '[');
	} else if (t->format == TABLE_CSV) {
		if (!t->alone)
			fprintf(t->f, "%s\n", name);
		for (i = 0; i < nr_columns; i++) {
			if (!columns[i].key)
				continue;
			fprintf(t->f, "%s%s", between, columns[i].key);
			between = ",";
		}
		fputc('\n', t->f);
	}
}

/* Keeps a row until the table is written. */
static void table__keep(struct table *t, const struct cell *cells)
{
	size_t i;

	if (!t->err)
		t->err = array_reserve(&t->cells, t->cells.nr + t->nr_columns);
	for (i = 0; i < t->nr_columns && !t->err; i++) {
		struct cell cell = cells[i];

		if (column__has_string(&t->columns[i])) {
			cell.s = strdup(cell.s);
			if (!cell.s)
				t->err = -ENOMEM;
		}
		t->cells.v[t->cells.nr++] = cell;
	}
}

static void table__write_row(struct table *t, const struct cell *cells)
{
	if (t->format == TABLE_JSON)
		table__json_row(t, cells);
	else
		table__csv_row(t, cells);
}

int table__row(struct table *t, const struct cell *cells)
{
	t->nr_rows++;
	if (t->format == TABLE_TEXT || t->sorts)
		table__keep(t, cells);
	else
		table__write_row(t, cells);
	return 0;
}

int table__row_free(struct table *t, char *text, const struct cell *cells)
{
	int err = text ? table__row(t, cells) : -ENOMEM;

	free(text);
	return err;
}

/* Orders cells of one column: numbers with the largest first, names alphabetically. */
static int cell__cmp(const struct column *c, const struct cell *a, const struct cell *b)
{
	if (column__is_text(c))
		return strcmp(a->s, b->s);
	if (c->type == COLUMN_REAL)
		return cmp3(!isfinite(a->d), !isfinite(b->d)) ?: cmp3(b->d, a->d);
	return cmp3(a->n == CELL_NONE, b->n == CELL_NONE) ?: cmp3(b->n, a->n);
}

static int row__cmp(const void *va, const void *vb, void *ctx)
{
	const struct cell *a = *(const struct cell *const *)va,
			  *b = *(const struct cell *const *)vb;
	const struct table *t = ctx;
	size_t i = 0;

	while (!column__is(&t->columns[i], t->sort))
		i++;
	return cell__cmp(&t->columns[i], &a[i], &b[i]) ?: cmp3(a, b);
}

static int table__sort(struct table *t)
{
	size_t nr = t->nr_columns, i;
	const struct cell **rows = calloc(t->nr_rows + 1, sizeof(*rows));
	struct cell *cells = calloc(t->cells.nr + 1, sizeof(*cells));

	for (i = 0; rows && cells && i < t->nr_rows; i++)
		rows[i] = &t->cells.v[i * nr];
	if (rows && cells) {
		qsort_r(rows, t->nr_rows, sizeof(*rows), row__cmp, t);
		for (i = 0; i < t->nr_rows; i++)
			memcpy(&cells[i * nr], rows[i], nr * sizeof(*cells));
		memcpy(t->cells.v, cells, t->cells.nr * sizeof(*cells));
	} else {
		t->err = -ENOMEM;
	}
	free(cells);
	free(rows);
	return t->err;
}

/* Writes the rows that were kept. */
static void table__write_kept(struct table *t)
{
	size_t i;

	if (t->sorts && table__sort(t))
		return;
	if (t->max_rows)
		t->nr_rows = min_t(uint64_t, t->nr_rows, t->max_rows);
	if (t->format == TABLE_TEXT)
		t->err = table__print(t);
	for (i = 0; i < t->nr_rows && t->format != TABLE_TEXT; i++)
		table__write_row(t, &t->cells.v[i * t->nr_columns]);
}

int table__end(struct table *t)
{
	size_t i;

	if (!t->err && (t->format == TABLE_TEXT || t->sorts))
		table__write_kept(t);
	for (i = 0; i < t->cells.nr; i++)
		if (column__has_string(&t->columns[i % t->nr_columns]))
			free((char *)t->cells.v[i].s);
	array_free(&t->cells);
	if (t->format == TABLE_JSON) {
		if (t->nr_rows)
			json_out__end_line(t->json);
		json_out__close(t->json, ']');
	} else if (t->format == TABLE_CSV && !t->alone) {
		fputc('\n', t->f);
	}
	return t->err;
}
