// SPDX-License-Identifier: GPL-3.0-or-later
#include "write/parquet/parquet.h"

#include <errno.h>
#include <stdlib.h>

#include "version.h"
#include "write/parquet/chunk.h"

#define MAGIC	"PAR1"
#define MAGIC_BYTES	4

struct parquet {
	struct parquet_encoder *encoder;
	FILE *f;
	const struct parquet_column *columns;
	size_t nr_columns;
	int64_t **cells;		/* for each column: its cells, one for each row */
	size_t nr, cap, max_rows;	/* rows that are held in memory: number, capacity, limit */
	uint64_t offset;		/* bytes written */
	uint64_t nr_rows;		/* number of rows of all row groups */
	struct bytes groups;		/* the footer's entries for row groups */
	size_t nr_groups;
};

struct parquet *parquet__new(struct parquet_encoder *e, FILE *f,
			     const struct parquet_column *columns, size_t nr, size_t max_rows)
{
	struct parquet *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->encoder = e;
	p->f = f;
	p->columns = columns;
	p->nr_columns = nr;
	p->max_rows = max_rows;
	p->cells = calloc(nr, sizeof(*p->cells));
	if (!p->cells) {
		free(p);
		return NULL;
	}
	fwrite(MAGIC, MAGIC_BYTES, 1, f);
	p->offset = MAGIC_BYTES;
	return p;
}

void parquet__free(struct parquet *p)
{
	size_t i;

	if (!p)
		return;
	for (i = 0; i < p->nr_columns; i++)
		free(p->cells[i]);
	free(p->cells);
	bytes__free(&p->groups);
	free(p);
}

size_t parquet__held_bytes(const struct parquet *p)
{
	return p->nr * p->nr_columns * sizeof(**p->cells);
}

/* Makes room for more rows. Return: 0 or -ENOMEM. */
static int parquet__grow(struct parquet *p)
{
	size_t cap = p->cap ? 2 * p->cap : 64, i;
	int64_t *v;

	cap = min_t(size_t, p->max_rows, cap);

	for (i = 0; i < p->nr_columns; i++) {
		v = realloc(p->cells[i], cap * sizeof(*v));
		if (!v)
			return -ENOMEM;
		p->cells[i] = v;
	}
	p->cap = cap;
	return 0;
}

int parquet__put(struct parquet *p, const int64_t *cells)
{
	size_t i;
	int err = p->nr < p->cap ? 0 : parquet__grow(p);

	if (err)
		return err;
	for (i = 0; i < p->nr_columns; i++)
		p->cells[i][p->nr] = cells[i];
	return ++p->nr < p->max_rows ? 0 : parquet__flush(p);
}

/* Puts the structure RowGroup of parquet.thrift, and writes the columns inside it. */
int parquet__flush(struct parquet *p)
{
	struct thrift t = { .to = &p->groups };
	struct chunk_bytes bytes, all = { 0 };
	uint64_t from = p->offset;
	size_t i;
	int err = 0;

	if (!p->nr)
		return 0;
	thrift__begin(&t, 0);
	thrift__list(&t, 1, THRIFT_STRUCT, p->nr_columns);
	for (i = 0; i < p->nr_columns && !err; i++) {
		const struct chunk chunk = { &p->columns[i], p->cells[i], p->nr };

		err = chunk__write(p->encoder, &chunk, p->f, p->offset, &t, &bytes);
		if (err)
			return err;
		p->offset += bytes.packed;
		all.plain += bytes.plain;
		all.packed += bytes.packed;
	}
	thrift__int(&t, 2, THRIFT_I64, all.plain);
	thrift__int(&t, 3, THRIFT_I64, p->nr);
	thrift__int(&t, 5, THRIFT_I64, from);
	thrift__int(&t, 6, THRIFT_I64, all.packed);
	thrift__end(&t);
	p->nr_groups++;
	p->nr_rows += p->nr;
	p->nr = 0;
	return p->groups.oom ? -ENOMEM : 0;
}

/* Puts the structure SchemaElement of a column. */
static void put_column(struct thrift *t, const struct parquet_column *column)
{
	thrift__begin(t, 0);
	thrift__int(t, 1, THRIFT_I32, parquet_type__number(column->type));
	thrift__int(t, 3, THRIFT_I32, column->optional);
	thrift__string(t, 4, column->name);
	if (column->type == PARQUET_STRING) {
		thrift__int(t, 6, THRIFT_I32, 0);	/* converted type UTF8, for older readers */
		thrift__begin(t, 10);			/* logical type ... */
		thrift__begin(t, 1);			/* ... STRING */
		thrift__end(t);
		thrift__end(t);
	}
	thrift__end(t);
}

static void put_schema(struct thrift *t, const struct parquet *p)
{
	size_t i;

	thrift__list(t, 2, THRIFT_STRUCT, 1 + p->nr_columns);
	thrift__begin(t, 0);
	thrift__string(t, 4, "schema");
	thrift__int(t, 5, THRIFT_I32, p->nr_columns);
	thrift__end(t);
	for (i = 0; i < p->nr_columns; i++)
		put_column(t, &p->columns[i]);
}

/* Puts the structure FileMetaData. */
static void put_footer(struct thrift *t, const struct parquet *p, const struct parquet_pair *pairs,
		       size_t nr)
{
	size_t i;

	thrift__begin(t, 0);
	thrift__int(t, 1, THRIFT_I32, 2);
	put_schema(t, p);
	thrift__int(t, 3, THRIFT_I64, p->nr_rows);
	thrift__list(t, 4, THRIFT_STRUCT, p->nr_groups);
	bytes__put(t->to, p->groups.v, p->groups.nr);
	thrift__list(t, 5, THRIFT_STRUCT, nr);
	for (i = 0; i < nr; i++) {
		thrift__begin(t, 0);
		thrift__string(t, 1, pairs[i].key);
		thrift__string(t, 2, pairs[i].value);
		thrift__end(t);
	}
	thrift__string(t, 6, "xpuload version " XPU_VERSION);
	/*
	 * Say that values are ordered by their type: otherwise readers ignore the statistics of
	 * strings.
	 */
	thrift__list(t, 7, THRIFT_STRUCT, p->nr_columns);
	for (i = 0; i < p->nr_columns; i++) {
		thrift__begin(t, 0);
		thrift__begin(t, 1);
		thrift__end(t);
		thrift__end(t);
	}
	thrift__end(t);
}

int parquet__finish(struct parquet *p, const struct parquet_pair *pairs, size_t nr)
{
	struct bytes footer = { 0 };
	struct thrift t = { .to = &footer };
	int err = parquet__flush(p);

	if (err)
		return err;
	put_footer(&t, p, pairs, nr);
	bytes__put_le(&footer, footer.nr, 4);
	bytes__put(&footer, MAGIC, MAGIC_BYTES);
	err = footer.oom ? -ENOMEM : 0;
	if (!err)
		fwrite(footer.v, footer.nr, 1, p->f);
	bytes__free(&footer);
	return err;
}
