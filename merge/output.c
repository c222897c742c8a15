// SPDX-License-Identifier: GPL-3.0-or-later
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUFFER_BYTES	(256 * 1024)

/* For the signal handler, which cannot be given an argument. */
static char *volatile open_tmp;

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

static int output__open_tmp(struct output *o)
{
	mode_t mask;

	if (asprintf(&o->tmp, "%s.XXXXXX", o->path) < 0) {
		o->tmp = NULL;
		return -ENOMEM;
	}
	/* Known before it exists, lest a signal between the two leaves it behind. */
	open_tmp = o->tmp;
	o->fd = mkostemp(o->tmp, O_CLOEXEC);
	if (o->fd < 0) {
		int err = -errno;

		open_tmp = NULL;
		free(o->tmp);
		o->tmp = NULL;
		return err;
	}
	/* mkstemp makes it private; the result is as open(2) would have made it. */
	mask = umask(0);
	umask(mask);
	return fchmod(o->fd, 0666 & ~mask) ? -errno : 0;
}

int output__open(struct output *o, const char *path)
{
	struct stat st;
	int err = 0;

	memset(o, 0, sizeof(*o));
	o->fd = -1;
	if (!strcmp(path, "-")) {
		o->fd = STDOUT_FILENO;
	} else if (!stat(path, &st)) {
		if (S_ISDIR(st.st_mode))
			return -EISDIR;
		/* Through a symbolic link the file it means is replaced, not the link. */
		o->path = realpath(path, NULL);
		if (!o->path)
			return -errno;
		if (S_ISREG(st.st_mode)) {
			err = output__open_tmp(o);
		} else {
			o->fd = open(o->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
			err = o->fd < 0 ? -errno : 0;
		}
	} else {
		o->path = strdup(path);
		err = o->path ? output__open_tmp(o) : -ENOMEM;
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
	if (!o->err && o->tmp) {
		if (rename(o->tmp, o->path)) {
			o->err = -errno;
		} else {
			open_tmp = NULL;
			free(o->tmp);
			o->tmp = NULL;
		}
	}
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
	if (o->tmp) {
		unlink(o->tmp);
		open_tmp = NULL;
	}
	free(o->tmp);
	free(o->path);
	memset(o, 0, sizeof(*o));
	o->fd = -1;
}

void output__abort_from_signal(void)
{
	if (open_tmp)
		unlink(open_tmp);
}
