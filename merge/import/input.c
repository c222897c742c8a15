// SPDX-License-Identifier: GPL-3.0-or-later
#include "import/input.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "import/import.h"

#define RELEASE_BYTES	((size_t)4 << 20)

/* Return: whether the file was mapped; otherwise it must be read. */
static bool input_file__map(struct input_file *in, const char *path)
{
	struct stat st;
	void *base;
	int fd;

	/* Open a FIFO only once, because its writer may end as soon as the FIFO is closed. */
	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return false;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size < 2 ||
	    (uintmax_t)st.st_size > SIZE_MAX) {
		close(fd);
		return false;
	}
	base = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (base == MAP_FAILED)
		return false;
	if (!memcmp(base, "\x1f\x8b", 2)) {	/* a gzip file */
		munmap(base, st.st_size);
		return false;
	}
	madvise(base, st.st_size, MADV_SEQUENTIAL);
	in->buf = base;
	in->size = st.st_size;
	in->mapped = true;
	return true;
}

int input_file__open(struct input_file *in, const char *path)
{
	int err;

	memset(in, 0, sizeof(*in));
	if (input_file__map(in, path))
		return 0;
	err = import__load(path, &in->own, &in->size);
	in->buf = in->own;
	return err;
}

void input_file__close(struct input_file *in)
{
	if (in->mapped)
		munmap((void *)in->buf, in->size);
	free(in->own);
	memset(in, 0, sizeof(*in));
}

void input_file__release(struct input_file *in, const char *upto)
{
	size_t to = upto - in->buf;

	if (!in->mapped || to < in->released + 2 * RELEASE_BYTES)
		return;
	to = (to - RELEASE_BYTES) & ~(RELEASE_BYTES - 1);
	madvise((void *)(in->buf + in->released), to - in->released, MADV_DONTNEED);
	in->released = to;
}
