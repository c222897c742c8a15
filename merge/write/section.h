/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * section.h - the description of a table of the summary
 *
 * Each table is one struct section, in one of the text_*.c. text.c lists the tables and writes all
 * of them alike: a heading for people, the columns, and as many rows as the limit allows.
 */
#ifndef MERGE_SECTION_H
#define MERGE_SECTION_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "join/session.h"
#include "write/table.h"
#include "util.h"

/* the rows of one table */
struct section_rows {
	const struct session *s;
	const char *times;		/* for people: text such as ", times in us", or "" */
	bool people;			/* the table is text; false: it is for programs */
	const struct by_list *by;	/* properties that tell launch paths apart; NULL: none */
	void *v;			/* allocated: nr rows, each of section.row_bytes, in
					 * order */
	size_t nr;
	uint64_t sum_ns;		/* the total time, which is 100 % in the column of shares */
	struct column *columns;		/* allocated; replaces section.columns unless it is NULL */
	size_t nr_columns;
};

/*
 * Return: a call path as text of a table cell, for the caller to free(), or NULL. For programs, the
 * text is a folded line; for people, it has the form of shorten.h, without the frames of the
 * launch. @kernel: the kernel that the path launches, or NULL
 */
char *stack__path(const struct stack *stack, enum table_format format, const char *kernel);

struct section {
	const char *name;		/* the table's name, for --table and for programs */
	const struct column *columns;
	size_t nr_columns;
	size_t row_bytes;

	bool in_bytes;			/* the table is shown if results are bytes, and only then */
	const char *before;		/* for a feature's table: the name of the table that follows
					 * it. If this is NULL, the feature's table comes after
					 * all tables that belong to no feature. */
	bool on_page;			/* for a feature's table: the html page also has its first
					 * rows */

	/*
	 * For a message about a recording that has no rows for this table: a text that says which
	 * option records such rows; or NULL.
	 */
	const char *from;
	/*
	 * Return: whether the table's events were recorded; if so, 0 rows are a valid result. NULL:
	 * a recording of these events always has rows.
	 */
	bool (*was_recorded)(const struct session *s);

	/*
	 * Collects the rows: sets v, nr, sum_ns and perhaps columns; the caller frees v and
	 * columns. Return: 0 or -ENOMEM.
	 */
	int (*collect)(struct section_rows *rows);
	/*
	 * Prints whole lines above the table, for people. Called if the table has rows, or if
	 * was_recorded() is true and head_without_rows is set.
	 */
	bool head_without_rows;
	void (*head)(const struct section_rows *rows, FILE *f);
	/* Passes the row's cells to table__row(). Return: 0 or -ENOMEM. */
	int (*row)(const struct section_rows *rows, const void *row, struct table *t);
	/* Frees what a row owns; may be NULL. */
	void (*exit_row)(const struct section_rows *rows, void *row);
};

/* These columns show statistics of durations, as nsys stats does. */
#define TIME_COLUMNS(count, name) \
	{ "time %", "time_percent", COLUMN_SHARE, 0 }, { "total", "total_ns", COLUMN_TIME, 0 }, \
	{ "count", count, COLUMN_COUNT, 1 }, { "avg", "avg_ns", COLUMN_TIME, 2 }, \
	{ "med", "median_ns", COLUMN_TIME, 4 }, { "min", "min_ns", COLUMN_TIME, 5 }, \
	{ "max", "max_ns", COLUMN_TIME, 3 }, { "stddev", "stddev_ns", COLUMN_TIME, 6 }, \
	{ name, name, COLUMN_NAME, 0 }

/*
 * Makes the cells for the average, median, minimum, maximum and standard deviation of full
 * durations or sizes. The cells are empty if no work began between --from and --to.
 */
#define STATS_CELL(s, of)	{ .n = (s)->nr ? of(s) : CELL_NONE }
#define STATS_CELLS(s) \
	STATS_CELL(s, stats__mean), STATS_CELL(s, stats__median), STATS_CELL(s, stats__min), \
	STATS_CELL(s, stats__max), STATS_CELL(s, stats__stddev)

/* Adds a row of TIME_COLUMNS. Return: 0. */
int section_rows__times(const struct section_rows *rows, const struct stats *ns, const char *name,
			struct table *t);

/*
 * Defines the section @name from the objects named after it: name_columns, name__collect() and so
 * on.
 */
#define SECTION(name_, row_type, ...) \
	const struct section section_##name_ = { \
		.name = #name_, \
		.columns = name_##_columns, \
		.nr_columns = ARRAY_SIZE(name_##_columns), \
		.row_bytes = sizeof(row_type), \
		.collect = name_##__collect, \
		.head = name_##__head, \
		.row = name_##__row, \
		__VA_ARGS__ \
	}

/*
 * These functions find the name or call path of a table's first row, and the "time %" of this row.
 * *@name or *@path is NULL if the table has no rows; the caller frees *@path. Return: 0 or -ENOMEM.
 */
int kernels__largest(const struct session *s, const char **name, uint64_t *permille);
int launch_sites__largest(const struct session *s, char **path, uint64_t *permille);
int cpu_functions__largest(const struct session *s, const char **name, uint64_t *permille);

/* text_device.c: work on the devices, by device and stream */
extern const struct section section_kernels,
	section_memory_time, section_memory_size;
extern const struct section section_devices, section_streams;
/* text_paths.c: call paths that caused the work */
extern const struct section section_launch_sites, section_cpu_functions;
/* text_python.c: lines of Python that caused the work */
extern const struct section section_python_lines;
/* text_calls.c: CUDA API calls */
extern const struct section section_api_calls;
/* text_processes.c: activities of processes, and their places in a job */
extern const struct section section_processes;

#endif /* MERGE_SECTION_H */
