/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * unparquet.h - reads Parquet files as strictly as possible, for tests of the writer
 *
 * It follows the format's specification and shares no code with the writer. It reads only features
 * that xpumerge's files may have: flat columns, data pages of version 1, zstd, and the encodings
 * PLAIN, RLE_DICTIONARY and DELTA_BINARY_PACKED. It also tests what readers may rely on: sizes and
 * offsets are consistent, pages have no bytes left over, statistics match the values.
 */
#ifndef TEST_LIB_UNPARQUET_H
#define TEST_LIB_UNPARQUET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { UNPARQUET_BOOL = 0, UNPARQUET_INT64 = 2, UNPARQUET_DOUBLE = 5, UNPARQUET_STRING = 6 };

struct unparquet_value {
	bool null;
	int64_t n;			/* INT64 and BOOL */
	double d;
	char *s;			/* STRING, with a NUL after its bytes */
	size_t bytes;
};

struct unparquet_column {
	char *name;
	int type;
	bool optional;
	struct unparquet_value *v;	/* one value for each row */
	unsigned int encodings;		/* bit mask of 1 << encoding, over all values */
};

struct unparquet {
	size_t nr_columns, nr_rows, nr_groups;
	struct unparquet_column *columns;
	size_t nr_pairs;
	char **keys, **values;
	char error[256];		/* why the file cannot be read */
	struct unparquet_memory *memory;	/* all bytes of the file */
};

/* Return: 0, or -1 with u->error set. In both cases the caller calls unparquet__free(). */
int unparquet__read(struct unparquet *u, const char *path);
void unparquet__free(struct unparquet *u);

#endif /* TEST_LIB_UNPARQUET_H */
