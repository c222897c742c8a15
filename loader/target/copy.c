// SPDX-License-Identifier: GPL-3.0-or-later
#include "target/copy.h"

#include <errno.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/bounds.h"

#define CHUNK_BYTES	(4 << 20)	/* bytes to copy before checking @stop again */

/*
 * Copies up to @n bytes at @at. Return: the number of copied bytes, 0 at the end of the file, or a
 * negative errno.
 */
static ssize_t copy_chunk(int from, int to, off_t at, size_t n)
{
	char buf[65536];
	off_t in = at, out = at;
	ssize_t got, put, done;

	/* This shares blocks if the file system can. It fails between some file systems. */
	got = copy_file_range(from, &in, to, &out, n, 0);
	if (got > 0)
		return got;
	got = pread(from, buf, n < sizeof(buf) ? n : sizeof(buf), at);
	for (done = 0; done < got; done += put) {
		put = pwrite(to, buf + done, got - done, at + done);
		if (put < 0)
			return -errno;
	}
	return got < 0 ? -errno : got;
}

/* Finds the start and the end of the next data at or after @at. Return: false if no data follow. */
static bool next_data(int fd, off_t at, off_t size, off_t *start, off_t *end)
{
	*start = lseek(fd, at, SEEK_DATA);
	if (*start < 0 && errno == ENXIO)
		return false;
	*end = *start < 0 ? -1 : lseek(fd, *start, SEEK_HOLE);
	/* The file system does not know the file's holes, or its answer is invalid. */
	if (*start < at || *end <= *start) {
		*start = at;
		*end = size;
	}
	if (*end > size)
		*end = size;
	return *start < size;
}

/* Return: how many bytes may be written to the file system of @fd. */
static uint64_t room(int fd)
{
	struct statvfs st;

	return fstatvfs(fd, &st) ? UINT64_MAX : (uint64_t)st.f_bavail * st.f_frsize / 2;
}

int copy__file(int from, int to, uint64_t max_bytes, const atomic_bool *stop, uint64_t *bytes)
{
	uint64_t room_bytes = room(to);
	off_t at, end = 0;
	struct stat st;
	ssize_t n;

	*bytes = 0;
	if (fstat(from, &st))
		return -errno;
	if ((uint64_t)st.st_size > LIMIT_KEPT_SIZE || st.st_blocks * 512ull > max_bytes)
		return -EFBIG;
	if (st.st_blocks * 512ull > room_bytes)
		return -ENOSPC;
	while (next_data(from, end, st.st_size, &at, &end)) {
		for (; at < end; at += n) {
			n = end - at < CHUNK_BYTES ? end - at : CHUNK_BYTES;
			if (*stop)
				return -EINTR;
			if (*bytes + n > max_bytes)
				return -EFBIG;
			if (*bytes + n > room_bytes)
				return -ENOSPC;
			n = copy_chunk(from, to, at, n);
			if (n < 0)
				return n;
			if (!n)
				return 0;	/* the file has become shorter */
			*bytes += n;
		}
	}
	return ftruncate(to, st.st_size) ? -errno : 0;
}
