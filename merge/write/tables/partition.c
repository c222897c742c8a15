// SPDX-License-Identifier: GPL-3.0-or-later
#include "write/tables/partition.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define GROUP_ROWS	131072		/* number of rows of a row group */
#define MAX_HELD_BYTES	(256u << 20)	/* maximum size of rows in memory, for all tables */
#define LOOK_EVERY	4096		/* number of rows after which memory is checked */

/*
 * Allows as many open files as the system permits: the number of ranks times the number of tables
 * may exceed the default limit of open files.
 */
static void allow_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur == limit.rlim_max)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static int partitions__init(struct partitions *p)
{
	memset(p, 0, sizeof(*p));
	p->dir.fd = -1;
	p->max_held_bytes = MAX_HELD_BYTES;
	p->encoder = parquet_encoder__new();
	return p->encoder ? 0 : -ENOMEM;
}

int partitions__open(struct partitions *p, const char *path)
{
	int err = partitions__init(p);

	if (err)
		return err;
	allow_files();
	return tables_dir__open(&p->dir, path);
}

int partitions__open_again(struct partitions *p, const struct partitions *of)
{
	int err = partitions__init(p);

	if (err)
		return err;
	p->dir.fd = fcntl(of->dir.fd, F_DUPFD_CLOEXEC, 0);
	return p->dir.fd < 0 ? -errno : 0;
}

static void partitions__drop(struct partitions *p)
{
	size_t i, table;

	for (i = 0; i < p->list.nr; i++)
		for (table = 0; table < NR_TABLES; table++)
			parquet__free(p->list.v[i].tables[table]);
	p->list.nr = 0;
}

void partitions__close(struct partitions *p)
{
	partitions__drop(p);
	array_free(&p->list);
	tables_dir__close(&p->dir);
	parquet_encoder__free(p->encoder);
}

int partitions__find(struct partitions *p, int64_t rank, uint32_t *nr)
{
	for (*nr = 0; *nr < p->list.nr; ++*nr)
		if (p->list.v[*nr].rank == rank)
			return 0;
	/* Limit the number of files. No host has this many ranks. */
	if (p->list.nr >= TABLES_MAX_RANKS && rank != TABLES_NO_RANK)
		return partitions__find(p, TABLES_NO_RANK, nr);
	return array_push(&p->list, ((struct partition){ .rank = rank }));
}

/* Begins a table of a partition, unless it exists. Return: 0 or -errno. */
static int partition__begin(struct partitions *p, struct partition *to, enum tables_id table)
{
	struct tables_schema schema = tables__schema(table);
	struct tables_file *file;

	if (to->tables[table] || !schema.columns)
		return 0;
	p->err = tables_dir__create(&p->dir, table, to->rank, p->recording, &file);
	if (p->err)
		return p->err;
	to->files[table] = file;
	to->tables[table] =
		parquet__new(p->encoder, file->out.f, schema.columns, schema.nr, GROUP_ROWS);
	return to->tables[table] ? 0 : -ENOMEM;
}

/*
 * Writes the rows of the largest tables until the other rows fit into memory. Return: 0 or -ENOMEM.
 */
static int partitions__shrink(struct partitions *p)
{
	size_t all, most, held, i, table;
	struct parquet *largest;
	int err = 0;

	do {
		for (all = most = 0, largest = NULL, i = 0; i < p->list.nr; i++) {
			for (table = 0; table < NR_TABLES; table++) {
				struct parquet *t = p->list.v[i].tables[table];

				held = t ? parquet__held_bytes(t) : 0;
				all += held;
				if (held > most) {
					most = held;
					largest = t;
				}
			}
		}
		if (all > p->max_held_bytes && largest)
			err = parquet__flush(largest);
	} while (!err && all > p->max_held_bytes && largest);
	return err;
}

int partitions__put(struct partitions *p, uint32_t partition, unsigned int table,
		    const int64_t *cells)
{
	struct partition *to = &p->list.v[partition];
	int err = partition__begin(p, to, table) ?: parquet__put(to->tables[table], cells);

	if (err)
		return err;
	/* Stop reading the recording if a file cannot be written. */
	p->err = to->files[table]->out.err;
	if (!p->err && ++p->nr_put % LOOK_EVERY == 0)
		err = partitions__shrink(p);
	return err ?: p->err;
}

int partitions__flush(struct partitions *p, enum tables_id table)
{
	size_t i;
	int err = 0;

	for (i = 0; i < p->list.nr && !err; i++)
		if (p->list.v[i].tables[table])
			err = parquet__flush(p->list.v[i].tables[table]);
	return err;
}

int partitions__commit(struct partitions *p, int64_t rank, const struct parquet_pair *pairs,
		       size_t nr)
{
	size_t i, table;
	int err = 0;

	for (i = 0; i < p->list.nr && !err; i++) {
		for (table = 0; table < NR_TABLES && !err; table++) {
			err = partition__begin(p, &p->list.v[i], table);
			if (!err && p->list.v[i].tables[table])
				err = parquet__finish(p->list.v[i].tables[table], pairs, nr);
		}
	}
	if (!err)
		err = p->err = tables_dir__commit(&p->dir, p->recording, rank);
	partitions__drop(p);
	return err;
}
