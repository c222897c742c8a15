// SPDX-License-Identifier: GPL-3.0-or-later
#include "write/table.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "escape.h"
#include "json_out.h"
#include "util.h"

/* A name gets at least this many columns, however narrow the terminal is. */
#define LEAST_NAME	32
#define CELL_MAX	64		/* bytes of a number */

uint64_t table__share(uint64_t part, uint64_t whole)
{
	/* 128 bits because a sum of ns times 1000 may need them. */
	return whole ? ((unsigned __int128)part * 1000 + whole / 2) / whole : 0;
}

static int column__width(const struct column *c)
{
	switch (c->type) {
	case COLUMN_COUNT:
		return 10;
	case COLUMN_TIME:
		return 14;
	case COLUMN_BYTES:
		return 16;
	case COLUMN_SHARE:
		return 8;
	case COLUMN_REAL:
		return max_t(int, 8, c->title ? strlen(c->title) : 0);
	case COLUMN_NAME:
		break;
	}
	return 0;
}

/* Formats a time with integers. Only ms are rounded, to three decimals. */
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

/* Formats a cell that has a number and no name. */
static void cell__format(char *buf, size_t size, const struct table *t, const struct column *c,
			 const struct cell *cell)
{
	bool real = c->type == COLUMN_REAL;
	bool rounded = t->format == TABLE_TEXT && fabs(cell->d) < 1e15;
	uint64_t n = cell->n;

	if (real && isfinite(cell->d))
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

/* Cuts a name in the middle: the end of a kernel's name is as useful as its beginning, and the end of a
 * call path more so. */
static void print_cut(FILE *f, const char *s, size_t width)
{
	const char *at = s;
	char out[ESCAPE_MAX];
	size_t nr = 0, i;

	while (escape__next(&at, ESCAPE_TEXT, out))
		nr++;
	for (i = 0, at = s; escape__next(&at, ESCAPE_TEXT, out); i++) {
		if (nr <= width || i < width / 2 || i >= nr - (width - width / 2 - 3))
			fputs(out, f);
		else if (i == width / 2)
			fputs("...", f);
	}
}

/*
 * Prints a name. The recorded programs chose it, and a spreadsheet takes one that begins like a
 * formula for a formula, unless ' is before it.
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

void table__begin(struct table *t, const char *name, const struct column *columns,
		  size_t nr_columns)
{
	size_t i;

	t->columns = columns;
	t->nr_columns = nr_columns;
	t->nr_rows = 0;
	if (t->format == TABLE_JSON) {
		json_out__line(t->json, 0);
		json_out__key(t->json, name);
		json_out__open(t->json, '[');
		return;
	}
	if (t->format == TABLE_CSV && !t->alone)
		fprintf(t->f, "%s\n", name);
	for (i = 0; i < nr_columns; i++) {
		const struct column *c = &columns[i];

		if (t->format == TABLE_CSV)
			fprintf(t->f, "%s%s", i ? "," : "", c->key);
		else if (c->title)
			fprintf(t->f, "%s %*s", c->type == COLUMN_NAME ? " " : "", column__width(c),
				c->title);
	}
	fputc('\n', t->f);
}

static void table__json_row(struct table *t, const struct cell *cells)
{
	struct json_out *j = t->json;
	char buf[CELL_MAX];
	size_t i;

	json_out__line(j, 2);
	json_out__open(j, '{');
	for (i = 0; i < t->nr_columns; i++) {
		const struct column *c = &t->columns[i];

		json_out__key(j, c->key);
		if (c->type == COLUMN_NAME) {
			json_out__string(j, cells[i].s);
			continue;
		}
		cell__format(buf, sizeof(buf), t, c, &cells[i]);
		json_out__literal(j, buf);
	}
	json_out__close(j, '}');
}

void table__row(struct table *t, const struct cell *cells)
{
	unsigned int column = 0;
	char buf[CELL_MAX];
	size_t i;

	if (t->format == TABLE_JSON) {
		table__json_row(t, cells);
		t->nr_rows++;
		return;
	}
	for (i = 0; i < t->nr_columns; i++) {
		const struct column *c = &t->columns[i];
		bool csv = t->format == TABLE_CSV;

		if (!csv && !c->title)
			continue;
		if (csv && i)
			fputc(',', t->f);
		if (c->type != COLUMN_NAME) {
			cell__format(buf, sizeof(buf), t, c, &cells[i]);
			if (csv)
				fputs(buf, t->f);
			else
				column += fprintf(t->f, " %*s", column__width(c), buf);
		} else if (csv) {
			print_csv(t->f, cells[i].s);
		} else {
			fputs("  ", t->f);
			column += 2;
			print_cut(t->f, cells[i].s, !t->width ? SIZE_MAX :
				  t->width < column + LEAST_NAME ? LEAST_NAME : t->width - column);
		}
	}
	fputc('\n', t->f);
	t->nr_rows++;
}

void table__end(struct table *t)
{
	if (t->format == TABLE_JSON) {
		if (t->nr_rows)
			json_out__end_line(t->json);
		json_out__close(t->json, ']');
	} else if (t->format == TABLE_CSV && !t->alone) {
		fputc('\n', t->f);
	}
}
