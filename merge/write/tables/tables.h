/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * tables.h - everything in recordings as tables of Parquet files, for query engines
 *
 * Launches, device work, calls, samples, waits and ranges become rows while they are joined, so memory
 * follows the launches in flight and not the recording. Call paths, their frames and processes are
 * tables of their own, which the others refer to by id. See doc/tables.md.
 *
 * The files are parquet/ (the format), schema.h (the tables), dir.h and part.h (their files), tables.c
 * (single events), ends.c (the tables that are written at the end of a recording).
 */
#ifndef MERGE_TABLES_H
#define MERGE_TABLES_H

#include "join/session.h"

struct tables;

/**
 * tables__new - open the directory of tables
 * @path: made unless it exists
 * @filtered: the session has a filter
 *
 * Return: 0; -ENOMEM; or another -errno, for tables_dir__strerror(). *@t is for the caller to free.
 */
int tables__new(struct tables **t, const char *path, bool filtered);
void tables__free(struct tables *t);

/* Return: what to put into struct session_opts, owned by @t. */
struct session_sink *tables__sink(struct tables *t);

/* Return: the text for the first file that could not be made or written; NULL: none. */
const char *tables__failed(const struct tables *t);

/* Writes all that is left. Return: 0 or -errno; then tables__failed() says why, or it is -ENOMEM. */
int tables__write(struct tables *t, const struct session *s);

#endif /* MERGE_TABLES_H */
