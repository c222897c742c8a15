/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * table.h - tables for people, as CSV, as JSON
 *
 *	table__begin(&t, "kernels", columns, nr_columns);
 *	table__row(&t, cells);			any number of times
 *	table__end(&t);
 *
 * For people, columns are as wide as their contents. If the table is wider than the terminal,
 * columns of the highest rank are left out, and names and call paths are cut so that their
 * differences can be seen.
 *
 * In CSV (RFC 4180, except for line ends), a table begins with a line for its name and a line of
 * column keys, and ends with an empty line; a table that is written alone has only keys and rows.
 * In JSON, a table is a member with the table's name, whose value is an array of objects. In both,
 * times and sizes are integers in ns and bytes, whatever unit people see.
 */
#ifndef MERGE_TABLE_H
#define MERGE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "util.h"
#include "write/folded.h"

enum table_format {
	TABLE_TEXT,
	TABLE_CSV,
	TABLE_JSON,
};

enum column_type {
	COLUMN_COUNT,
	COLUMN_TIME,			/* ns */
	COLUMN_BYTES,
	COLUMN_SHARE,			/* a share, in tenths of a percent */
	COLUMN_REAL,			/* a real number, cell.d; NaN: no number */
	COLUMN_WORD,			/* a short word, cell.s, aligned to the right; for people */
	COLUMN_NAME,			/* a name, aligned to the left; only the last columns are
					 * names */
	COLUMN_PATH,			/* a call path; in tables for people, SHORTEN_FRAME is
					 * between the frames */
};

struct column {
	const char *title;		/* title for people; NULL: people do not see the column */
	const char *key;		/* key for programs; NULL: only people see the column */
	enum column_type type;
	unsigned int rank;		/* columns of higher rank are left out first; 0: never */
};

/* The value of a cell without a number. Such a cell is shown empty, or as null. */
#define CELL_NONE	UINT64_MAX

struct cell {
	uint64_t n;
	const char *s;			/* for COLUMN_WORD, COLUMN_NAME, COLUMN_PATH */
	double d;			/* COLUMN_REAL */
};

struct table {
	FILE *f;			/* for TABLE_TEXT and TABLE_CSV */
	struct json_out *json;		/* for TABLE_JSON: the writer, inside an object */
	enum table_format format;
	bool human;			/* for TABLE_TEXT: times and sizes have units that fit */
	enum unit unit;			/* for TABLE_TEXT: if not human, UNIT_NS, UNIT_US or
					 * UNIT_MS */
	bool alone;			/* for TABLE_CSV: no other table follows */
	bool color;			/* for TABLE_TEXT: with escapes for terminals */
	unsigned int width;		/* for TABLE_TEXT: width of the terminal; 0: nothing is left
					 * out or cut */
	const char *sort;		/* key or title of the column to sort by; NULL: unsorted */
	size_t max_rows;		/* maximum number of rows to write; 0: all rows */
	const struct column *columns;
	size_t nr_columns;
	uint64_t nr_rows;
	bool sorts;			/* the table has the column to sort by */
	ARRAY(struct cell) cells;	/* cells of all rows, if the rows are kept until the end */
	int err;			/* 0 or -ENOMEM */
};

void table__begin(struct table *t, const char *name, const struct column *columns,
		  size_t nr_columns);
/* Adds a row. @cells: one for each column. Return: 0; table__end() returns errors. */
int table__row(struct table *t, const struct cell *cells);
/* Adds a row and frees @text, to which @cells point. Return: 0; -ENOMEM if @text is NULL. */
int table__row_free(struct table *t, char *text, const struct cell *cells);
/* Ends the table. Return: 0 or -ENOMEM. */
int table__end(struct table *t);

/* Return: whether a column has that key or title. */
bool column__is(const struct column *c, const char *name);

/*
 * Formats a time for people: if @human is set, in the unit that fits, otherwise in @unit (UNIT_NS,
 * UNIT_US or UNIT_MS).
 */
void table__format_time(char *buf, size_t size, uint64_t ns, bool human, enum unit unit);

/* Return: a part's share of the whole, in tenths of a percent, rounded. */
uint64_t table__share(uint64_t part, uint64_t whole);

#endif /* MERGE_TABLE_H */
