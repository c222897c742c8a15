/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * dir.h - the directory of the tables: TABLE/rank=R/part-RECORDING.parquet
 *
 * Each recording has its own files in the directory, named after a hash that identifies the
 * recording. Any number of xpumerge processes, each with recordings of other ranks, can therefore
 * write into one directory. Merging a recording again replaces only its own files. The files of a
 * recording are renamed together, when all of them are complete.
 *
 * A file DIR/_xpuload_tables marks the directory as ours. A directory with other files, but without
 * this file, is refused. Subdirectories must belong to the user, and must not be symbolic links.
 */
#ifndef MERGE_TABLES_DIR_H
#define MERGE_TABLES_DIR_H

#include "write/output.h"
#include "write/tables/schema.h"
#include "util.h"

#define TABLES_NO_RANK	-1		/* the partition of processes without a rank */
#define TABLES_MAX_RANKS 4096		/* maximum number of ranks of one recording; further ranks
					 * go to TABLES_NO_RANK */

struct tables_file {
	struct output out;
	enum tables_id table;
	int64_t rank;
};

struct tables_dir {
	int fd;				/* -1: not open */
	ARRAY(struct tables_file *) files;	/* files of the recording that is being written */
};

/*
 * Opens the directory, and makes it if it does not exist. Return: 0 or -errno, for
 * tables_dir__strerror(); after an error there is nothing to close.
 */
int tables_dir__open(struct tables_dir *d, const char *path);
/* Closes the directory, and removes files that were not committed. */
void tables_dir__close(struct tables_dir *d);

/* Begins a file, which @d owns. Return: 0 or -errno. */
int tables_dir__create(struct tables_dir *d, enum tables_id table, int64_t rank, uint64_t recording,
		       struct tables_file **file);

/*
 * Renames all files of a recording to their final names, and removes remaining files of an earlier
 * merge of the recording. @rank: the partition of the recording's losses. Return: 0, or -errno of
 * the step that failed.
 */
int tables_dir__commit(struct tables_dir *d, uint64_t recording, int64_t rank);

/* Return: the text for an error that one of these functions returned. */
const char *tables_dir__strerror(int err);

#endif /* MERGE_TABLES_DIR_H */
