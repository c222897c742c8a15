// SPDX-License-Identifier: GPL-3.0-or-later
#include "import/database.h"

#include <errno.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/sqlite_memory.h"

#define STRING_BYTES	(16 << 20)	/* maximum size of a name, in bytes */

/* ---- opening --------------------------------------------------------------------------------- */

bool database__no_memory(const struct database *d)
{
	return sqlite_memory__failures() != d->failures;
}

int database__fail(struct database *d, const char *what)
{
	if (database__no_memory(d) || sqlite3_errcode(d->db) == SQLITE_NOMEM)
		return -ENOMEM;
	return msgs__refuse(d->msgs, "%s: %s: %s", d->path, what,
			    d->db ? sqlite3_errmsg(d->db) : "no memory");
}

static void database__watch(struct database *d)
{
	sqlite_memory__watch();
	d->failures = sqlite_memory__failures();
}

int database__open(struct database *d, const char *path)
{
	char *uri, *p;
	int status;

	database__watch(d);
	/*
	 * Open the file so that SQLite writes nothing, not even a journal next to the file. Escape
	 * special characters of the URI with '%'.
	 */
	uri = malloc(3 * strlen(path) + 64);
	if (!uri)
		return -ENOMEM;
	p = stpcpy(uri, *path == '/' ? "file://" : "file:");
	for (; *path; path++)
		p += strchr("?#%", *path) ? sprintf(p, "%%%02x", *path) : (*p = *path, 1);
	strcpy(p, "?mode=ro&immutable=1");
	status = sqlite3_open_v2(uri, &d->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL);
	free(uri);
	return status == SQLITE_OK ? 0 : database__fail(d, "cannot be opened");
}

int database__open_mem(struct database *d, const void *buf, size_t size)
{
	database__watch(d);
	if (sqlite3_open_v2(":memory:", &d->db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK ||
	    sqlite3_deserialize(d->db, "main", (void *)buf, size, size,
				SQLITE_DESERIALIZE_READONLY) != SQLITE_OK)
		return database__fail(d, "cannot be opened");
	return 0;
}

int database__check(struct database *d, const char *what)
{
	if (!d->db)
		return -ENOMEM;
	sqlite3_limit(d->db, SQLITE_LIMIT_LENGTH, STRING_BYTES);
	sqlite3_limit(d->db, SQLITE_LIMIT_ATTACHED, 0);
	sqlite3_db_config(d->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(d->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	if (sqlite3_exec(d->db, "PRAGMA cell_size_check = 1; PRAGMA query_only = 1; "
			 "SELECT count(*) FROM sqlite_master", NULL, NULL, NULL) != SQLITE_OK)
		return database__fail(d, what);
	return 0;
}

void database__close(struct database *d)
{
	strpool__free(&d->selected);
	sqlite3_close(d->db);
	d->db = NULL;
}

/* ---- reading --------------------------------------------------------------------------------- */

bool database__has_table(struct database *d, const char *table)
{
	sqlite3_stmt *stmt = NULL;
	bool found = false;

	if (sqlite3_prepare_v2(d->db, "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = "
			       "?1 AND rootpage > 0", -1, &stmt, NULL) == SQLITE_OK) {
		sqlite3_bind_text(stmt, 1, table, -1, SQLITE_STATIC);
		found = sqlite3_step(stmt) == SQLITE_ROW;
	}
	sqlite3_finalize(stmt);
	return found;
}

bool database__has_column(struct database *d, const char *table, const char *column)
{
	return sqlite3_table_column_metadata(d->db, NULL, table, column, NULL, NULL, NULL, NULL,
					     NULL) == SQLITE_OK;
}

int database__select(struct database *d, const char *table, const char *columns,
		     unsigned int nr_needed, const char *rest, sqlite3_stmt **stmt)
{
	char *copy = strdup(columns), *sql = NULL, *name, *next = NULL;
	unsigned int nr = 0;
	size_t size;
	bool whole;
	FILE *f;
	int err = 0;

	*stmt = NULL;
	if (!copy)
		return -ENOMEM;
	if (!database__has_table(d, table)) {
		err = database__no_memory(d) ? -ENOMEM : 0;
		goto out;
	}
	f = strpool__intern(&d->selected, table, strlen(table)) ? open_memstream(&sql, &size) :
								  NULL;
	if (!f) {
		err = -ENOMEM;
		goto out;
	}
	for (name = strtok_r(copy, " ", &next); name; name = strtok_r(NULL, " ", &next), nr++) {
		bool there = database__has_column(d, table, name);

		if (!there && nr < nr_needed && !err && !database__no_memory(d)) {
			msgs__add(d->msgs,
				  "%s: table %s: the column %s is missing: unknown version of %s",
				  d->path, table, name, d->tool);
			err = -EINVAL;
		}
		fprintf(f, there ? "%s \"%s\"" : "%s NULL", nr ? "," : "SELECT", name);
	}
	fprintf(f, " FROM \"%s\" %s", table, rest);
	whole = !ferror(f);
	if (fclose(f) || !whole || !sql || database__no_memory(d))
		err = -ENOMEM;
	if (!err && sqlite3_prepare_v2(d->db, sql, -1, stmt, NULL) != SQLITE_OK)
		err = database__fail(d, table);
out:
	free(sql);
	free(copy);
	return err;
}

bool database__next(struct database *d, sqlite3_stmt **stmt, const char *table, int *err)
{
	/* SQLITE_OK means that no step was made: sqlite3_step() never returns it. */
	int status = *stmt && !*err ? sqlite3_step(*stmt) : SQLITE_OK;

	if (status == SQLITE_ROW)
		return true;
	if (status != SQLITE_DONE && status != SQLITE_OK)
		*err = database__fail(d, table);
	sqlite3_finalize(*stmt);
	*stmt = NULL;
	if (status == SQLITE_OK || !d->nr_strange)
		return false;
	msgs__add(d->msgs, "%s: table %s: %" PRIu64 " %s with impossible times or ids ignored",
		  d->path, table, d->nr_strange, PLURAL(d->nr_strange, "row", "rows"));
	d->unclean = true;
	d->nr_strange = 0;
	return false;
}

static bool database__has_events(struct database *d, const char *table)
{
	sqlite3_stmt *stmt = NULL;
	char *sql;
	bool found;

	if (!database__has_column(d, table, "start") &&
	    !database__has_column(d, table, "timestamp"))
		return false;
	sql = sqlite3_mprintf("SELECT 1 FROM \"%w\" LIMIT 1", table);
	found = sql && sqlite3_prepare_v2(d->db, sql, -1, &stmt, NULL) == SQLITE_OK &&
		sqlite3_step(stmt) == SQLITE_ROW;
	sqlite3_finalize(stmt);
	sqlite3_free(sql);
	return found;
}

int database__unread(struct database *d, struct strpool *pool, const char **names)
{
	enum { NAMES_MAX = 16 };
	static const char list[] = "the list of tables";
	sqlite3_stmt *stmt = NULL;
	const char *name;
	uint32_t nr = 0, known;
	int err = 0;

	*names = NULL;
	if (sqlite3_prepare_v2(d->db, "SELECT name FROM sqlite_master WHERE type = 'table' AND "
			       "rootpage > 0", -1, &stmt, NULL) != SQLITE_OK)
		err = database__fail(d, list);
	while (database__next(d, &stmt, list, &err)) {
		name = (const char *)sqlite3_column_text(stmt, 0) ?: "";
		known = d->selected.nr;
		if (!strpool__intern(&d->selected, name, strlen(name)))
			err = -ENOMEM;
		if (err || d->selected.nr == known || !database__has_events(d, name) ||
		    nr++ >= NAMES_MAX)
			continue;
		*names = strpool__internf(pool, "%s%s%s", *names ?: "", *names ? ", " : "", name);
		err = *names ? 0 : -ENOMEM;
	}
	if (!err && nr > NAMES_MAX) {
		*names = strpool__internf(pool, "%s and %" PRIu32 " more", *names, nr - NAMES_MAX);
		err = *names ? 0 : -ENOMEM;
	}
	return err;
}

bool column__is_null(sqlite3_stmt *stmt, int i)
{
	return sqlite3_column_type(stmt, i) == SQLITE_NULL;
}

uint32_t column__u32(sqlite3_stmt *stmt, int i)
{
	return sqlite3_column_int64(stmt, i);
}
