// SPDX-License-Identifier: GPL-3.0-or-later
#include "write/format.h"
#include "write/tables/dir.h"
#include "write/tables/tables.h"

static int open_tables(const char *path, const struct session_opts *opts,
		       struct session_sink **sink, void **events)
{
	struct tables *t;
	int err = tables__new(&t, path, filter__active(opts->filter));

	*sink = t ? tables__sink(t) : NULL;
	*events = t;
	return err;
}

static void drop(void *events)
{
	tables__free(events);
}

static const char *failed(const void *events)
{
	return tables__failed(events);
}

static int write_session(const struct session *s, FILE *f, const struct write_opts *o, void *events,
			 struct folded_result *result)
{
	(void)f, (void)o, (void)result;
	return tables__write(events, s);
}

/*
 * In the manual:
 * A directory of tables for query engines such as DuckDB, ClickHouse and Spark: launches, device
 * work, call paths and all else as Parquet files, a partition for each rank; see
 * .Sx DIRECTORY OF TABLES .
 * A name that ends in a slash, or an existing directory, picks this format.
 */
const struct format parquet_format = {
	.help = "Parquet files, for query engines",
	.binary = true,
	.options = FORMAT_MERGED,
	.by_range = true,
	.open = open_tables,
	.free = drop,
	.failed = failed,
	.error = tables_dir__strerror,
	.write = write_session,
};
