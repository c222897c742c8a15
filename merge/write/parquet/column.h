/* SPDX-License-Identifier: GPL-3.0-or-later */
/* column.h - the columns of a Parquet file, and the memory for encoding them */
#ifndef MERGE_PARQUET_COLUMN_H
#define MERGE_PARQUET_COLUMN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum parquet_type {
	PARQUET_BOOL,
	PARQUET_INT64,
	PARQUET_DOUBLE,
	PARQUET_STRING,			/* UTF-8 */
};

/* How a column is usually encoded; booleans are always bits. */
enum parquet_encoding {
	PARQUET_PLAIN,
	PARQUET_DICTIONARY,		/* a dictionary; if too many values differ: DELTA, or PLAIN
					 * for strings */
	PARQUET_DELTA,			/* the differences of numbers; only for INT64 */
};

struct parquet_column {
	const char *name;
	enum parquet_type type;
	enum parquet_encoding encoding;
	bool optional;			/* the column may contain PARQUET_NULL */
};

/*
 * A cell has 64 bits: a number, or the result of parquet__double() or parquet__string(). A string
 * that occurs in many rows should have the same pointer in all of them, because dictionaries
 * compare pointers. The string must stay valid until its row has been written. Bytes that are not
 * UTF-8 are written as U+FFFD.
 */
#define PARQUET_NULL	(INT64_MIN + 1)

static inline int64_t parquet__string(const char *s)
{
	return s ? (intptr_t)s : PARQUET_NULL;
}

/* Return: the string as a cell; PARQUET_NULL if the string is empty or NULL. */
static inline int64_t parquet__known(const char *s)
{
	return parquet__string(s && *s ? s : NULL);
}

static inline int64_t parquet__double(double d)
{
	union { double d; int64_t n; } u = { .d = d };

	return u.n;
}

/* Memory for encoding the row groups of any number of files, one after another. */
struct parquet_encoder;

/* Return: an encoder for the caller to free, which must outlive its files; or NULL. */
struct parquet_encoder *parquet_encoder__new(void);
void parquet_encoder__free(struct parquet_encoder *e);

#endif /* MERGE_PARQUET_COLUMN_H */
