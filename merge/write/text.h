/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * text.h - the summary for people, and its tables for programs
 */
#ifndef MERGE_TEXT_H
#define MERGE_TEXT_H

#include <stdint.h>
#include <stdio.h>

#include "write/folded.h"
#include "join/session.h"
#include "write/table.h"

struct text_opts {
	enum unit unit;			/* UNIT_NS, UNIT_US or UNIT_MS */
	uint32_t max_rows;		/* of each table; 0: all */
	enum table_format format;
	const char *table;		/* only that one; NULL: all */
	bool human;			/* each time in the unit that fits it, in place of @unit */
	unsigned int width;		/* of the terminal; 0: nothing is left out or cut */
	struct by_list by;		/* properties of processes, to tell launch paths apart by */
	bool color;
	const char *sort;		/* of each table that has such a column; NULL: by time */
};

/* Return: whether that table has such a column; NULL: any table. @memory: any that --memory shows */
bool text__has_column(const char *table, const char *column, bool memory);

/* Return: whether --memory shows that table. */
bool text__is_of_memory(const char *table);

/* Return: the names of the tables, up to a NULL. */
const char *const *text__tables(void);

/*
 * Writes all of @s, which was made with stats. Sets *@no_rows if the table of @opts has none, or no table
 * that is shown has the column to sort by. Return: 0 or -ENOMEM; an error of @f stays in its error flag.
 */
int text__write(const struct session *s, FILE *f, const struct text_opts *opts, bool *no_rows);

/**
 * text__why_no_rows - why a table has no rows
 * @why: set to who records such rows, or NULL
 *
 * Return: whether the recording has what the table shows, so that the table's answer is: none.
 */
bool text__why_no_rows(const char *table, const struct session *s, const char **why);

/* Writes the header of one recording: its command, host and so on, "label: value" on each line. */
void text__write_head(const struct session *s, const struct input *in, FILE *f);

/* Writes the messages of the shim, one on each line, after @prefix. */
void text__write_messages(const struct session *s, FILE *f, const char *prefix);

/* When most GPU memory was in use, and who held most of it then. */
struct memory_peak {
	uint64_t bytes;			/* 0: no memory was recorded, or none was used */
	uint64_t at_ns;			/* since the start */
	size_t nr_recordings;		/* with memory; the peak is that of one */
	/* Sums of --memory peak, for devices and for the host, at the peaks of all recordings. */
	struct heap_parts parts;
	uint64_t host_bytes;
	bool by_device;			/* each device at its own peak */
	uint64_t holder_bytes;
	char *holder;			/* call path and kind of memory, SHORTEN_FRAME between; NULL: none */
};

/* Return: 0 or -ENOMEM; the caller frees peak->holder in any case. */
int text__memory_peak(const struct session *s, struct memory_peak *peak);

/* Writes the peak of memory and its largest holder, if memory was recorded. */
void text__write_memory(const struct session *s, FILE *f);

#endif /* MERGE_TEXT_H */
