/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * dir.h - the directory of the tables: TABLE/rank=R/part-RECORDING.parquet
 *
 * Each recording has files of its own in it, named after a hash of what identifies the recording, so
 * any number of xpumerge, each with the recordings of its ranks, can write into one directory, and one
 * that merges a recording again replaces that recording's files and no others. The files of a recording
 * get their names together, when all of them are whole.
 *
 * A file DIR/_xpuload_tables says that the directory is one of ours. A directory that has other files
 * and not this one is refused. Directories in it are followed through no link, and have to be the
 * invoker's own.
 */
#ifndef MERGE_TABLES_DIR_H
#define MERGE_TABLES_DIR_H

#include "write/output.h"
#include "write/tables/schema.h"
#include "util.h"

#define TABLES_NO_RANK	-1		/* the partition of processes without one */
#define TABLES_MAX_RANKS 4096		/* of one recording; further ones are in TABLES_NO_RANK */

struct tables_file {
	struct output out;
	enum tables_id table;
	int64_t rank;
};

struct tables_dir {
	int fd;				/* -1: not open */
	ARRAY(struct tables_file *) files;	/* of the recording that is being written */
};

/*
 * Opens the directory, and makes it if there is none. Return: 0 or -errno, for tables_dir__strerror();
 * then there is nothing to close.
 */
int tables_dir__open(struct tables_dir *d, const char *path);
/* Leaves no trace of files that were not committed. */
void tables_dir__close(struct tables_dir *d);

/* Begins a file, which stays @d's. Return: 0 or -errno. */
int tables_dir__create(struct tables_dir *d, enum tables_id table, int64_t rank, uint64_t recording,
		       struct tables_file **file);

/*
 * Gives all files of a recording their names, and removes what is left there of the files that an
 * earlier merge of the recording had written. @rank: the partition of its losses. Return: 0, or -errno of
 * the step that failed.
 */
int tables_dir__commit(struct tables_dir *d, uint64_t recording, int64_t rank);

/* Return: the text for an error of these functions. */
const char *tables_dir__strerror(int err);

#endif /* MERGE_TABLES_DIR_H */
