// SPDX-License-Identifier: GPL-3.0-or-later
#include "write/output.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define GZIP_WINDOW	(15 + 16)	/* the largest window, with gzip's header */
#define BUFFER_BYTES	(256 * 1024)

#define HANDLER_TRIES	10000		/* number of attempts to take the lock; limited, because the
					 * handler may have interrupted the thread that holds it */

/*
 * The open outputs of all threads. They are global, because a signal handler has no argument of its
 * own. Signal handlers can also take the lock.
 */
static struct output *volatile open_outputs;
static int outputs_locked;

static bool try_lock_outputs(void)
{
	return !__atomic_exchange_n(&outputs_locked, 1, __ATOMIC_ACQUIRE);
}

static void lock_outputs(void)
{
	while (!try_lock_outputs())
		sched_yield();
}

static void unlock_outputs(void)
{
	__atomic_store_n(&outputs_locked, 0, __ATOMIC_RELEASE);
}

static void output__write_all(struct output *o, const void *buf, size_t size)
{
	size_t done = 0;
	ssize_t n;

	while (done < size && !o->err) {
		n = write(o->fd, (const char *)buf + done, size - done);
		if (n >= 0)
			done += n;
		else if (errno != EINTR)
			o->err = -errno;
	}
}

/* Compresses @buf into the output. @flush: Z_NO_FLUSH, or Z_FINISH at the end. */
static void output__deflate(struct output *o, const char *buf, size_t size, int flush)
{
	unsigned char packed[16384];
	int ret = Z_OK;

	o->gzip->next_in = (unsigned char *)buf;
	o->gzip->avail_in = size;		/* fits: @size is less than the stream's buffer */
	do {
		o->gzip->next_out = packed;
		o->gzip->avail_out = sizeof(packed);
		ret = deflate(o->gzip, flush);
		output__write_all(o, packed, sizeof(packed) - o->gzip->avail_out);
	} while (!o->err && (flush == Z_FINISH ? ret == Z_OK : !o->gzip->avail_out));
}

/*
 * The write function of the stream. It keeps the error, because stdio remembers only that a write
 * failed, and errno may have changed by then.
 */
static ssize_t output__write(void *cookie, const char *buf, size_t size)
{
	struct output *o = cookie;

	if (o->gzip)
		output__deflate(o, buf, size, Z_NO_FLUSH);
	else
		output__write_all(o, buf, size);
	return o->err ? 0 : (ssize_t)size;
}

int output__compress(struct output *o)
{
	o->gzip = calloc(1, sizeof(*o->gzip));
	if (o->gzip && deflateInit2(o->gzip, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, 8,
				    Z_DEFAULT_STRATEGY) == Z_OK)
		return 0;
	free(o->gzip);
	o->gzip = NULL;
	return -ENOMEM;
}

static void output__end_gzip(struct output *o)
{
	if (!o->gzip)
		return;
	deflateEnd(o->gzip);
	free(o->gzip);
	o->gzip = NULL;
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

static void output__reset(struct output *o)
{
	memset(o, 0, sizeof(*o));
	o->fd = -1;
	o->file.dir_fd = -1;
}

/* Removes @o from the open outputs, if it is among them. */
static void output__forget(struct output *o)
{
	struct output *at;

	lock_outputs();
	if (open_outputs == o)
		open_outputs = o->next;
	for (at = open_outputs; at; at = at->next)
		if (at->next == o)
			at->next = o->next;
	unlock_outputs();
}

int output__open_at(struct output *o, int dir_fd, const char *path, unsigned int flags)
{
	int err;

	output__reset(o);
	lock_outputs();
	o->next = open_outputs;
	open_outputs = o;
	unlock_outputs();
	err = safefile__open(&o->file, dir_fd, path, flags);
	o->fd = o->file.fd;
	err = err ?: output__open_stream(o);
	if (err)
		output__abort(o);
	return err;
}

int output__open(struct output *o, const char *path, bool private)
{
	int err;

	if (strcmp(path, "-"))
		return output__open_at(o, AT_FDCWD, path,
				       SAFEFILE_LINKS | (private ? SAFEFILE_PRIVATE : 0));
	output__reset(o);
	o->fd = STDOUT_FILENO;
	err = output__open_stream(o);
	if (err)
		output__abort(o);
	return err;
}

int output__finish(struct output *o)
{
	if (o->f && fclose(o->f) && !o->err)
		o->err = -EIO;
	o->f = NULL;
	if (o->gzip && !o->err)
		output__deflate(o, NULL, 0, Z_FINISH);
	output__end_gzip(o);
	/* Some file systems report a full disk only here. */
	if (o->fd >= 0 && o->fd != STDOUT_FILENO && close(o->fd) && !o->err)
		o->err = -errno;
	o->fd = -1;
	return o->err;
}

int output__commit(struct output *o)
{
	int err;

	if (!output__finish(o))
		o->err = safefile__commit(&o->file);
	err = o->err;
	output__abort(o);
	return err;
}

void output__abort(struct output *o)
{
	if (o->f)
		fclose(o->f);
	output__end_gzip(o);
	if (o->fd >= 0 && o->fd != STDOUT_FILENO)
		close(o->fd);
	safefile__close(&o->file);
	output__forget(o);
	output__reset(o);
}

void output__abort_from_signal(void)
{
	const struct output *o;
	int i;

	/*
	 * No other thread frees an output while this thread holds the lock, which is never
	 * released.
	 */
	for (i = 0; i < HANDLER_TRIES && !try_lock_outputs(); i++)
		sched_yield();
	for (o = open_outputs; o; o = o->next)
		safefile__abort_from_signal(&o->file);
}
