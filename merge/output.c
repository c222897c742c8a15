/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "output.h"

/* For the signal handler, which cannot be given an argument. */
static char *volatile open_tmp;

static int output__open_tmp(struct output *o)
{
	mode_t mask;
	int fd, err;

	if (asprintf(&o->tmp, "%s.XXXXXX", o->path) < 0) {
		o->tmp = NULL;
		return -ENOMEM;
	}
	fd = mkostemp(o->tmp, O_CLOEXEC);
	if (fd < 0) {
		err = -errno;
		free(o->tmp);
		o->tmp = NULL;
		return err;
	}
	open_tmp = o->tmp;
	/* mkstemp makes it private; the result is as open(2) would have made it. */
	mask = umask(0);
	umask(mask);
	if (fchmod(fd, 0666 & ~mask)) {
		err = -errno;
		close(fd);
		return err;
	}
	o->f = fdopen(fd, "w");
	if (!o->f) {
		err = -errno;
		close(fd);
		return err;
	}
	return 0;
}

int output__open(struct output *o, const char *path)
{
	struct stat st;
	int err = 0;

	memset(o, 0, sizeof(*o));
	if (!strcmp(path, "-")) {
		o->f = stdout;
		return 0;
	}
	if (!stat(path, &st)) {
		if (S_ISDIR(st.st_mode))
			return -EISDIR;
		/* Through a symbolic link the file it means is replaced, not the link. */
		o->path = realpath(path, NULL);
		if (!o->path)
			return -errno;
		if (!S_ISREG(st.st_mode)) {
			o->f = fopen(o->path, "we");
			err = o->f ? 0 : -errno;
			goto out;
		}
	} else {
		o->path = strdup(path);
		if (!o->path)
			return -ENOMEM;
	}
	err = output__open_tmp(o);
out:
	if (err)
		output__abort(o);
	return err;
}

int output__commit(struct output *o)
{
	int err = 0;

	/* A write may have failed long ago, and its errno is gone by now. */
	if (fflush(o->f))
		err = -errno;
	else if (ferror(o->f))
		err = -EIO;
	if (o->f != stdout) {
		/* Some file systems report a full disk only here. */
		if (fclose(o->f) && !err)
			err = -errno;
	}
	o->f = NULL;
	if (!err && o->tmp) {
		if (rename(o->tmp, o->path)) {
			err = -errno;
		} else {
			open_tmp = NULL;
			free(o->tmp);
			o->tmp = NULL;
		}
	}
	output__abort(o);
	return err;
}

void output__abort(struct output *o)
{
	if (o->f && o->f != stdout)
		fclose(o->f);
	if (o->tmp) {
		unlink(o->tmp);
		open_tmp = NULL;
	}
	free(o->tmp);
	free(o->path);
	memset(o, 0, sizeof(*o));
}

void output__abort_from_signal(void)
{
	if (open_tmp)
		unlink(open_tmp);
}
