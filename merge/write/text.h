/* SPDX-License-Identifier: GPL-3.0-or-later */
/* text.h - the summary for people, and its tables for programs */
#ifndef MERGE_TEXT_H
#define MERGE_TEXT_H

#include <stdint.h>
#include <stdio.h>

#include "write/folded.h"
#include "join/session.h"
#include "write/table.h"

struct text_opts {
	enum unit unit;			/* UNIT_NS, UNIT_US or UNIT_MS */
	uint32_t max_rows;		/* maximum number of rows of each table; 0: all rows */
	enum table_format format;
	const char *table;		/* the only table to write; NULL: all */
	bool human;			/* each time has the unit that fits it, instead of @unit */
	unsigned int width;		/* width of the terminal; 0: nothing is left out or cut */
	struct by_list by;		/* properties of processes that tell launch paths apart */
	bool color;
	const char *sort;		/* tables that have this column are sorted by it; NULL:
					 * tables are sorted by time */
};

/*
 * Return: whether a table, or any table if @table is NULL, has the column @column. @in_bytes: look
 * only in tables of bytes
 */
bool text__has_column(const char *table, const char *column, bool in_bytes);

#define TEXT_MAX_COLUMNS	512	/* larger than the number of columns of all tables */

/*
 * Fills @keys with the column keys of a table, or of all tables if @table is NULL. A NULL follows
 * the last key.
 */
void text__columns(const char *table, const char *keys[TEXT_MAX_COLUMNS]);

/* Return: whether that table is shown only if results are bytes. */
bool text__is_in_bytes(const char *table);

/* Return: the names of the tables, ended by NULL. */
const char *const *text__tables(void);

/*
 * Writes the summary of @s, or only the tables that @opts requests. @s must have been made with the
 * option stats. Sets *@no_rows if the table of @opts has no rows, or if no table with rows has the
 * column to sort by. Return: 0 or -ENOMEM; an error of @f stays in its error flag.
 */
int text__write(const struct session *s, FILE *f, const struct text_opts *opts, bool *no_rows);

/**
 * text__why_no_rows - find out why a table has no rows
 * @why: set to the option that records such rows, or NULL
 *
 * Return: whether the table's events were recorded, so that an empty table is a valid result.
 */
bool text__why_no_rows(const char *table, const struct session *s, const char **why);

/* Writes the header of one recording: its command, host and so on, "label: value" on each line. */
void text__write_head(const struct session *s, const struct input *in, FILE *f);

/* Writes the messages of the shim, one on each line, after @prefix. */
void text__write_messages(const struct session *s, FILE *f, const char *prefix);

struct json_out;

/*
 * Prints the member "tables" of a recording: those tables of features that the html page shows.
 * Prints nothing if none of these tables has rows. Return: 0 or -ENOMEM.
 */
int text__page(const struct session *s, struct json_out *j);

#endif /* MERGE_TEXT_H */
