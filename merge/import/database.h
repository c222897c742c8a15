/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * database.h - reads the tables of another tool's SQLite database
 *
 *	struct database d = { .path = "x.sqlite", .tool = "the tool", .msgs = &msgs };
 *
 *	err = database__open(&d, d.path) ?: database__check(&d, "cannot be read");
 *	err = err ?: database__select(&d, "names", "id name", 1, "", &stmt);
 *	while (database__next(&d, &stmt, "names", &err))
 *		...
 *	database__close(&d);
 *
 * The database is untrusted. Only real tables are read, because a view would run SQL that the
 * file's author chose.
 */
#ifndef MERGE_DATABASE_H
#define MERGE_DATABASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util.h"

struct sqlite3;
struct sqlite3_stmt;

struct database {
	const char *path;		/* the name of the file, for messages */
	const char *tool;		/* the program that writes such databases, for messages */
	struct msgs *msgs;
	struct sqlite3 *db;
	struct strpool selected;	/* names of tables that database__select() found */
	unsigned long failures;		/* allocation failures before this file was opened */
	uint64_t nr_strange;		/* number of impossible rows in the current table */
	bool unclean;			/* some rows were skipped */
};

/* Opens a file read-only. Return: 0; -EINVAL, with a message; or -ENOMEM. */
int database__open(struct database *d, const char *path);

/* Opens a database in memory, which is not modified. Return: as database__open(). */
int database__open_mem(struct database *d, const void *buf, size_t size);

/* Return: 0 if the database can be read; -EINVAL, with the message @what; or -ENOMEM. */
int database__check(struct database *d, const char *what);
void database__close(struct database *d);

/* Return: whether SQLite has run out of memory since the file was opened. */
bool database__no_memory(const struct database *d);

/*
 * Adds a message that consists of @what and SQLite's error. Return: -EINVAL; or -ENOMEM, without a
 * message.
 */
int database__fail(struct database *d, const char *what);

/* Return: whether a real table of that name exists. */
bool database__has_table(struct database *d, const char *table);
bool database__has_column(struct database *d, const char *table, const char *column);

/**
 * database__select - select all rows of a table
 * @table: letters, digits and underscores
 * @columns: names separated by blanks. NULL replaces a missing column, unless it is one of the
 *	     first @nr_needed columns
 * @rest: the end of the SQL statement, such as ORDER BY, or ""
 *
 * Return: 0, with *@stmt NULL if the table is missing; or -errno.
 */
int database__select(struct database *d, const char *table, const char *columns,
		     unsigned int nr_needed, const char *rest, struct sqlite3_stmt **stmt);

/*
 * Return: whether another row exists; false if *@err was already set. If the result is false,
 * *@stmt has been freed and set to NULL, and *@err is 0 or the error. After the last row, a message
 * gives the number of strange rows.
 */
bool database__next(struct database *d, struct sqlite3_stmt **stmt, const char *table, int *err);

/*
 * Finds the tables of events that were never selected. Events are rows with a start or a timestamp.
 * Sets *@names to the names of these tables, kept in @pool, or to NULL. Return: 0 or -errno.
 */
int database__unread(struct database *d, struct strpool *pool, const char **names);

bool column__is_null(struct sqlite3_stmt *stmt, int i);
uint32_t column__u32(struct sqlite3_stmt *stmt, int i);

#endif /* MERGE_DATABASE_H */
