/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * partition.h - the tables of one recording, divided by rank, written row by row
 *
 * A row goes to the partition of its process's rank. Rows of all partitions together take bounded
 * memory: at the limit, the largest table writes a row group.
 */
#ifndef MERGE_TABLES_PARTITION_H
#define MERGE_TABLES_PARTITION_H

#include "write/tables/dir.h"

struct partition {
	int64_t rank;
	struct parquet *tables[NR_TABLES];	/* the tables that are written; NULL: not yet
						 * begun */
	struct tables_file *files[NR_TABLES];
};

struct partitions {
	struct tables_dir dir;
	struct parquet_encoder *encoder;
	uint64_t recording;		/* the number in the recording's file names */
	ARRAY(struct partition) list;
	size_t max_held_bytes;		/* maximum size of rows in memory */
	size_t nr_put;			/* number of rows put since memory was last checked */
	int err;			/* 0, or -errno of the first file that failed */
};

/*
 * Opens directory @path. Return: 0; -ENOMEM; or another -errno, for tables_dir__strerror(). The
 * caller calls partitions__close(), even after a failure.
 */
int partitions__open(struct partitions *p, const char *path);
/* Opens the same directory as @of, like partitions__open(). */
int partitions__open_again(struct partitions *p, const struct partitions *of);
void partitions__close(struct partitions *p);

/*
 * Finds or makes the partition of a rank; ranks beyond TABLES_MAX_RANKS share the partition
 * TABLES_NO_RANK. *@nr: its index. Return: 0 or -ENOMEM.
 */
int partitions__find(struct partitions *p, int64_t rank, uint32_t *nr);

/* Adds a row. Return: 0 or -errno; an error of a file is also in p->err. */
int partitions__put(struct partitions *p, uint32_t partition, unsigned int table,
		    const int64_t *cells);

/* Writes all rows of a table. Return: 0 or -ENOMEM. */
int partitions__flush(struct partitions *p, enum tables_id table);

/*
 * Ends the recording: every partition gets a file for every table, even for a table without rows.
 * @rank: the rank whose partition gets the recording's losses. Return: like partitions__put().
 */
int partitions__commit(struct partitions *p, int64_t rank, const struct parquet_pair *pairs,
		       size_t nr);

#endif /* MERGE_TABLES_PARTITION_H */
