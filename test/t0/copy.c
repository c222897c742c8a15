// SPDX-License-Identifier: GPL-3.0-or-later
/* The copying of malicious files: holes stay holes, and sizes are limited. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "target/copy.h"
#include "tap.h"

#define GB		(1ull << 30)
#define ISLAND		70000		/* bytes of data at each offset in islands[] */

static const off_t islands[] = { 0, GB, 3 * GB + 12345 };

static atomic_bool stop;

static int new_file(void)
{
	char path[] = "copy.XXXXXX";
	int fd = mkstemp(path);

	if (fd < 0)
		bail("cannot make a file");
	unlink(path);
	return fd;
}

static uint64_t disk_bytes(int fd)
{
	struct stat st;

	return fstat(fd, &st) ? 0 : st.st_blocks * 512ull;
}

static off_t size_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) ? -1 : st.st_size;
}

static void fill(char *data, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		data[i] = i * 7 + i / 256 + 1;
}

static bool same_islands(int fd)
{
	static char expected[ISLAND], data[ISLAND];
	size_t i;

	fill(expected, ISLAND);
	for (i = 0; i < sizeof(islands) / sizeof(islands[0]); i++)
		if (pread(fd, data, ISLAND, islands[i]) != ISLAND ||
		    memcmp(data, expected, ISLAND))
			return false;
	return true;
}

int main(void)
{
	static char data[ISLAND];
	int from = new_file(), to = new_file();
	uint64_t bytes;
	size_t i;

	fill(data, ISLAND);
	for (i = 0; i < sizeof(islands) / sizeof(islands[0]); i++)
		if (pwrite(from, data, ISLAND, islands[i]) != ISLAND)
			bail("cannot write");
	if (ftruncate(from, 4 * GB) || disk_bytes(from) > 100 << 20) {
		skip(1, "this file system has no holes");
		return done_testing();
	}
	is_int(copy__file(from, to, GB, &stop, &bytes), 0,
	       "a file of 4 GB, most of it holes, is copied");
	is_int(size_of(to), 4 * GB, "the copy of a file with holes has the same length");
	ok(same_islands(to), "the copy of a file with holes has the same data");
	ok(bytes < 4 << 20,
	   "only the data of a file with holes are copied: %llu", (unsigned long long)bytes);
	ok(disk_bytes(to) <= disk_bytes(from) + (4 << 20),
	   "the copy of a file with holes takes as little space");

	is_int(copy__file(from, new_file(), ISLAND, &stop, &bytes), -EFBIG,
	       "a file with more data than is allowed is refused");
	ok(bytes <= ISLAND, "no more data than allowed are copied");
	stop = true;
	is_int(copy__file(from, new_file(), GB, &stop, &bytes), -EINTR, "a copy can be stopped");
	is_int(bytes, 0, "a copy stops before it has copied anything");
	stop = false;
	if (!ftruncate(from, 1ll << 42))
		is_int(copy__file(from, new_file(), GB, &stop, &bytes), -EFBIG,
		       "a file that is too long is refused, even if it is empty");
	return done_testing();
}
