/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * tables.h - everything in recordings as tables of Parquet files, for query engines
 *
 * Launches, device work, calls, samples, waits and ranges become rows while they are joined, so
 * memory depends on the launches in flight, not on the size of the recording. Processes, call paths
 * and frames have tables of their own; the other tables refer to them by id. See doc/tables.md.
 *
 * The code is in parquet/ (the format), schema.h (the tables), dir.h and partition.h (the files of
 * the tables), tables.c (single events), and closing_tables.c (the tables that are written at the
 * end of a recording).
 */
#ifndef MERGE_TABLES_H
#define MERGE_TABLES_H

#include "join/session.h"

struct tables;

/**
 * tables__new - open the directory of tables
 * @path: the directory, made unless it exists
 * @filtered: the session has a filter
 *
 * Return: 0, -ENOMEM, or another -errno, for tables_dir__strerror(). The caller frees *@t.
 */
int tables__new(struct tables **t, const char *path, bool filtered);
void tables__free(struct tables *t);

/* Return: the sink for struct session_opts, owned by @t. */
struct session_sink *tables__sink(struct tables *t);

/* Return: the message about the first file that could not be made or written, or NULL. */
const char *tables__failed(const struct tables *t);

/*
 * Writes the tables that are not yet written. Return: 0; -ENOMEM; or another -errno, which
 * tables__failed() explains.
 */
int tables__write(struct tables *t, const struct session *s);

#endif /* MERGE_TABLES_H */
