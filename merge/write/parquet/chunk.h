/* SPDX-License-Identifier: GPL-3.0-or-later */
/* chunk.h - one column of a row group: its pages, and its entry in the footer */
#ifndef MERGE_PARQUET_CHUNK_H
#define MERGE_PARQUET_CHUNK_H

#include <stdio.h>

#include "write/parquet/column.h"
#include "write/parquet/thrift.h"

/* The format's numbers for encodings. */
enum {
	ENCODING_PLAIN			= 0,
	ENCODING_RLE			= 3,
	ENCODING_DELTA_BINARY_PACKED	= 5,
	ENCODING_RLE_DICTIONARY		= 8,
};

enum {
	CODEC_NONE	= 0,
	CODEC_ZSTD	= 6,
};

/* A column to write. */
struct chunk {
	const struct parquet_column *column;
	const int64_t *v;		/* a cell for each row */
	size_t nr;
};

/* Sizes of a chunk that was written. */
struct chunk_bytes {
	uint64_t plain, packed;
};

/**
 * chunk__write - write the pages of a column
 * @f: the file; its errors stay in its error flag
 * @offset: size of the file so far
 * @footer: gets the chunk's struct ColumnChunk
 * @bytes: set to the size of the pages, before and after compression
 *
 * Return: 0 or -ENOMEM.
 */
int chunk__write(struct parquet_encoder *e, const struct chunk *c, FILE *f, uint64_t offset,
		 struct thrift *footer, struct chunk_bytes *bytes);

/* Return: the format's number for a type. */
int parquet_type__number(enum parquet_type type);

#endif /* MERGE_PARQUET_CHUNK_H */
