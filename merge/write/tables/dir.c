// SPDX-License-Identifier: GPL-3.0-or-later
#include "write/tables/dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MARKER		"_xpuload_tables"
#define MARKER_MAX	64
#define NAME_BYTES	64

/* ---- opening and claiming the directory ------------------------------------------------------ */

/* Return: an open directory to read, or NULL; @fd stays open. */
static DIR *open_entries(int fd)
{
	int own = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = own < 0 ? NULL : fdopendir(own);

	if (!dir && own >= 0)
		close(own);
	return dir;
}

static bool is_dots(const char *name)
{
	return !strcmp(name, ".") || !strcmp(name, "..");
}

/* Checks that a directory is empty. Return: 0, -ENOTEMPTY, or another -errno. */
static int check_empty(int fd)
{
	const struct dirent *entry;
	DIR *dir = open_entries(fd);
	int err = 0;

	if (!dir)
		return -errno;
	/* Another process may be making the marker. */
	while (!err && (entry = readdir(dir)))
		if (!is_dots(entry->d_name) &&
		    strncmp(entry->d_name, MARKER ".", strlen(MARKER ".")))
			err = -ENOTEMPTY;
	closedir(dir);
	return err;
}

static int write_marker(int fd)
{
	struct output out;
	int err = output__open_at(&out, fd, MARKER, 0);

	if (err)
		return err;
	fprintf(out.f, "schema %d\n", TABLES_SCHEMA);
	return output__commit(&out);
}

/* Return: 1 if the directory has our marker, 0 if it has none, or -errno. */
static int check_marker(int dir_fd)
{
	int fd = openat(dir_fd, MARKER, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), schema;
	char text[MARKER_MAX] = "";
	ssize_t nr;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	nr = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (nr < 0 || sscanf(text, "schema %d", &schema) != 1)
		return -ENOTEMPTY;
	return schema == TABLES_SCHEMA ? 1 : -EPROTO;
}

/*
 * Checks that the directory has our marker, or puts the marker into an empty directory. Return: 0
 * or -errno.
 */
static int claim(int dir_fd)
{
	int ret = check_marker(dir_fd), err;

	if (ret)
		return min_t(int, ret, 0);
	err = check_empty(dir_fd);
	if (!err)
		return write_marker(dir_fd);
	/* Another xpumerge may have made the marker just now. */
	ret = err == -ENOTEMPTY ? check_marker(dir_fd) : 0;
	return ret > 0 ? 0 : err;
}

int tables_dir__open(struct tables_dir *d, const char *path)
{
	int err;

	memset(d, 0, sizeof(*d));
	d->fd = safefile__result_dir(AT_FDCWD, path, SAFEFILE_LINKS);
	if (d->fd < 0)
		return d->fd;
	err = claim(d->fd);
	if (err)
		tables_dir__close(d);
	return err;
}

static void drop_files(struct tables_dir *d)
{
	size_t i;

	for (i = 0; i < d->files.nr; i++) {
		output__abort(&d->files.v[i]->out);
		free(d->files.v[i]);
	}
	d->files.nr = 0;
}

void tables_dir__close(struct tables_dir *d)
{
	drop_files(d);
	array_free(&d->files);
	if (d->fd >= 0)
		close(d->fd);
	d->fd = -1;
}

const char *tables_dir__strerror(int err)
{
	if (err == -ENOTEMPTY)
		return "it has other files than tables: give an empty directory, or a new one";
	if (err == -EPROTO)
		return "its tables are of another version of the schema: give another directory";
	if (err == -EPERM)
		return "a directory of its tables belongs to somebody else";
	return safefile__strerror(err);
}

/* ---- files ---------------------------------------------------------------------------------- */

static void file_name(uint64_t recording, char name[NAME_BYTES])
{
	snprintf(name, NAME_BYTES, "part-%016" PRIx64 ".parquet", recording);
}

/* Opens TABLE/rank=R, and makes both directories if needed. Return: a descriptor or -errno. */
static int open_partition(const struct tables_dir *d, enum tables_id table, int64_t rank)
{
	int table_fd = safefile__result_dir(d->fd, tables__schema(table).name, 0), fd;
	char name[NAME_BYTES];

	if (table_fd < 0)
		return table_fd;
	snprintf(name, sizeof(name), "rank=%" PRId64, rank);
	fd = safefile__result_dir(table_fd, name, 0);
	close(table_fd);
	return fd;
}

int tables_dir__create(struct tables_dir *d, enum tables_id table, int64_t rank, uint64_t recording,
		       struct tables_file **file)
{
	int fd = open_partition(d, table, rank), err = -ENOMEM;
	struct tables_file *made;
	char name[NAME_BYTES];

	if (fd < 0)
		return fd;
	made = calloc(1, sizeof(*made));
	if (!made || array_reserve(&d->files, d->files.nr + 1))
		goto out;
	made->table = table;
	made->rank = rank;
	file_name(recording, name);
	err = output__open_at(&made->out, fd, name, 0);
	if (err)
		goto out;
	d->files.v[d->files.nr++] = *file = made;
	made = NULL;
out:
	free(made);
	close(fd);
	return err;
}

static bool has_file(const struct tables_dir *d, enum tables_id table, const char *partition)
{
	char name[NAME_BYTES];
	size_t i;

	for (i = 0; i < d->files.nr; i++) {
		snprintf(name, sizeof(name), "rank=%" PRId64, d->files.v[i]->rank);
		if (d->files.v[i]->table == table && !strcmp(name, partition))
			return true;
	}
	return false;
}

/*
 * Removes the recording's old file of a table from each partition that gets no new file of this
 * table. Return: 0 or -errno.
 */
static int remove_old(const struct tables_dir *d, enum tables_id table, uint64_t recording)
{
	int table_fd = safefile__result_dir(d->fd, tables__schema(table).name, 0), fd, err = 0;
	const struct dirent *entry;
	char name[NAME_BYTES];
	DIR *dir;

	if (table_fd < 0)
		return table_fd;
	dir = open_entries(table_fd);
	if (!dir)
		err = -errno;
	file_name(recording, name);
	while (dir && (entry = readdir(dir))) {
		if (strncmp(entry->d_name, "rank=", 5) || has_file(d, table, entry->d_name))
			continue;
		fd = safefile__open_dir(table_fd, entry->d_name, false);
		if (fd < 0)
			continue;
		safefile__unlink(fd, name, 0);
		close(fd);
	}
	if (dir)
		closedir(dir);
	close(table_fd);
	return err;
}

/* Return: whether an earlier merge of the recording wrote losses into that partition. */
static bool was_merged(const struct tables_dir *d, uint64_t recording, int64_t rank)
{
	char name[NAME_BYTES], path[3 * NAME_BYTES];
	struct stat st;

	file_name(recording, name);
	snprintf(path, sizeof(path), "%s/rank=%" PRId64 "/%s", tables__schema(tables_losses).name,
		 rank, name);
	return !fstatat(d->fd, path, &st, AT_SYMLINK_NOFOLLOW);
}

int tables_dir__commit(struct tables_dir *d, uint64_t recording, int64_t rank)
{
	/*
	 * Thousands of partitions may be on a remote server: do not search them without a reason.
	 */
	bool again = was_merged(d, recording, rank) || was_merged(d, recording, TABLES_NO_RANK);
	int err = 0, table;
	size_t i;

	for (i = 0; i < d->files.nr && !err; i++)
		err = output__finish(&d->files.v[i]->out);
	for (i = 0; i < d->files.nr && !err; i++)
		err = output__commit(&d->files.v[i]->out);
	for (table = 0; again && table < NR_TABLES && !err; table++)
		err = tables__schema(table).columns ? remove_old(d, table, recording) : 0;
	drop_files(d);
	return err;
}
