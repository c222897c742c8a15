/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * parquet.h - writes a table as a Parquet file, row by row
 *
 *	p = parquet__new(encoder, f, columns, nr_columns, max_rows);
 *	parquet__put(p, (int64_t[]){ 1, parquet__string("a"), PARQUET_NULL });
 *	...
 *	parquet__finish(p, pairs, nr_pairs);
 *	parquet__free(p);
 *
 * Up to max_rows rows are kept in memory, and then written as a row group. In a row group, a column
 * may have a dictionary, and has one data page (version 1), compressed by zstd. The footer has the
 * smallest and the greatest value of each column of a row group, except for doubles and long
 * strings.
 *
 * The files here: bytes.h and thrift.h write the notation of the footer. encode.h encodes values.
 * column.h describes columns. chunk.h writes a column of a row group. parquet.c writes the file.
 *
 * Source: parquet.thrift, Encodings.md and README.md of the Parquet format, 2.10.
 */
#ifndef MERGE_PARQUET_H
#define MERGE_PARQUET_H

#include <stdio.h>

#include "write/parquet/column.h"

struct parquet_pair {			/* a pair in the footer's metadata */
	const char *key, *value;
};

struct parquet;

/**
 * parquet__new - begin a file
 * @f: the file to write to; its errors stay in its error flag
 * @columns: @nr columns, which must stay valid
 * @max_rows: maximum number of rows of a row group
 *
 * Return: the file, for the caller to parquet__free(), or NULL.
 */
struct parquet *parquet__new(struct parquet_encoder *e, FILE *f,
			     const struct parquet_column *columns, size_t nr, size_t max_rows);
void parquet__free(struct parquet *p);

/* Adds a row, which has a cell for each column. Return: 0 or -ENOMEM. */
int parquet__put(struct parquet *p, const int64_t *cells);

/* Return: how many bytes of memory the unwritten rows take. */
size_t parquet__held_bytes(const struct parquet *p);

/* Writes the rows that are held as a row group. Return: 0 or -ENOMEM. */
int parquet__flush(struct parquet *p);

/* Writes the remaining rows and the footer. Return: 0 or -ENOMEM. */
int parquet__finish(struct parquet *p, const struct parquet_pair *pairs, size_t nr);

#endif /* MERGE_PARQUET_H */
