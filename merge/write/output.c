// SPDX-License-Identifier: GPL-3.0-or-later
#include "write/output.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define BUFFER_BYTES	(256 * 1024)

/* The open output, for the signal handler: a handler has no argument of its own. */
static const struct safefile *volatile open_file;

/*
 * The stream's writes come through here: stdio remembers that one failed, but not why, and by the
 * time it is asked another errno is there.
 */
static ssize_t output__write(void *cookie, const char *buf, size_t size)
{
	struct output *o = cookie;
	size_t done = 0;
	ssize_t n;

	while (done < size && !o->err) {
		n = write(o->fd, buf + done, size - done);
		if (n >= 0)
			done += n;
		else if (errno != EINTR)
			o->err = -errno;
	}
	return o->err ? 0 : (ssize_t)size;
}

static int output__open_stream(struct output *o)
{
	static const cookie_io_functions_t io = { .write = output__write };

	o->f = fopencookie(o, "w", io);
	if (!o->f)
		return -ENOMEM;
	setvbuf(o->f, NULL, _IOFBF, BUFFER_BYTES);
	return 0;
}

int output__open(struct output *o, const char *path, bool private)
{
	unsigned int flags = SAFEFILE_LINKS | (private ? SAFEFILE_PRIVATE : 0);
	int err = 0;

	memset(o, 0, sizeof(*o));
	o->fd = -1;
	o->file.dir_fd = -1;
	if (!strcmp(path, "-")) {
		o->fd = STDOUT_FILENO;
	} else {
		open_file = &o->file;
		err = safefile__open(&o->file, AT_FDCWD, path, flags);
		o->fd = o->file.fd;
	}
	if (!err)
		err = output__open_stream(o);
	if (err)
		output__abort(o);
	return err;
}

int output__commit(struct output *o)
{
	int err;

	if (fclose(o->f) && !o->err)
		o->err = -EIO;
	o->f = NULL;
	/* Some file systems report a full disk only here. */
	if (o->fd != STDOUT_FILENO && close(o->fd) && !o->err)
		o->err = -errno;
	o->fd = -1;
	if (!o->err)
		o->err = safefile__commit(&o->file);
	err = o->err;
	output__abort(o);
	return err;
}

void output__abort(struct output *o)
{
	if (o->f)
		fclose(o->f);
	if (o->fd >= 0 && o->fd != STDOUT_FILENO)
		close(o->fd);
	safefile__close(&o->file);
	open_file = NULL;
	memset(o, 0, sizeof(*o));
	o->fd = -1;
	o->file.dir_fd = -1;
}

void output__abort_from_signal(void)
{
	if (open_file)
		safefile__abort_from_signal(open_file);
}
