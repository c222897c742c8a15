// SPDX-License-Identifier: GPL-3.0-or-later
#include "writer.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHUNK_BYTES	(1024 * 1024)
#define MAX_QUEUED	(256ull * 1024 * 1024)	/* behind: the ring is the next buffer */

struct chunk {
	struct chunk *next;
	size_t used, size;
	uint8_t data[];
};

struct writer {
	int fd;
	struct chunk *current;		/* the appender's */

	pthread_t thread;
	pthread_mutex_t lock;		/* all below */
	pthread_cond_t more;
	struct chunk *first, **last;
	uint64_t queued_bytes;
	uint64_t written_bytes;		/* whole records: where the file ends */
	uint64_t lost_bytes;
	int error;			/* negative errno */
	bool closing;
};

/* Writes all of @data; on failure *@done tells how far it got. */
static int write_all(int fd, const uint8_t *data, size_t len, size_t *done)
{
	ssize_t n;

	for (*done = 0; *done < len; *done += n) {
		n = write(fd, data + *done, len - *done);
		if (n < 0 && errno == EINTR)
			n = 0;
		else if (n < 0)
			return -errno;
	}
	return 0;
}

/* Bytes of whole records among the first @len of @c. */
static size_t chunk__whole(const struct chunk *c, size_t len)
{
	const struct xpu_record *r;
	size_t at = 0;

	for (; len - at >= sizeof(*r); at += r->size) {
		r = (const struct xpu_record *)(c->data + at);
		if (r->size > len - at)
			break;
	}
	return at;
}

static void *writer_thread(void *arg)
{
	struct writer *w = arg;
	struct chunk *c;
	size_t done, whole;
	int err;

	pthread_mutex_lock(&w->lock);
	for (;;) {
		while (!w->first && !w->closing)
			pthread_cond_wait(&w->more, &w->lock);
		c = w->first;
		if (!c)
			break;
		w->first = c->next;
		if (!w->first)
			w->last = &w->first;
		err = w->error;
		pthread_mutex_unlock(&w->lock);

		whole = 0;
		if (!err) {
			err = write_all(w->fd, c->data, c->used, &done);
			whole = err ? chunk__whole(c, done) : c->used;
		}

		pthread_mutex_lock(&w->lock);
		w->queued_bytes -= c->size;
		w->written_bytes += whole;
		w->lost_bytes += c->used - whole;
		if (err && !w->error) {
			w->error = err;
			if (ftruncate(w->fd, w->written_bytes))
				w->error = err;		/* a pipe or a device: nothing to mend */
		}
		free(c);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

int writer__open(int fd, const struct xpu_file_header *hdr, struct writer **wp)
{
	struct writer *w;
	sigset_t all, old;
	size_t done;
	int err;

	w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->fd = fd;
	w->last = &w->first;
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->more, NULL);

	err = write_all(w->fd, (const uint8_t *)hdr, sizeof(*hdr), &done);
	if (err)
		goto free_writer;
	w->written_bytes = sizeof(*hdr);

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = -pthread_create(&w->thread, NULL, writer_thread, w);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err)
		goto free_writer;
	*wp = w;
	return 0;

free_writer:
	pthread_mutex_destroy(&w->lock);
	pthread_cond_destroy(&w->more);
	free(w);
	return err;
}

void writer__flush(struct writer *w)
{
	struct chunk *c = w->current;

	if (!c || !c->used)
		return;
	w->current = NULL;
	pthread_mutex_lock(&w->lock);
	*w->last = c;
	w->last = &c->next;
	w->queued_bytes += c->size;
	pthread_cond_signal(&w->more);
	pthread_mutex_unlock(&w->lock);
}

static void writer__count_lost(struct writer *w, size_t size)
{
	pthread_mutex_lock(&w->lock);
	w->lost_bytes += size;
	pthread_mutex_unlock(&w->lock);
}

void *writer__reserve(struct writer *w, size_t size)
{
	struct chunk *c = w->current;
	size_t bytes = size > CHUNK_BYTES ? size : CHUNK_BYTES;
	void *room;

	if (c && c->size - c->used < size) {
		writer__flush(w);
		c = NULL;
	}
	if (!c) {
		if (writer__error(w)) {
			writer__count_lost(w, size);
			return NULL;
		}
		c = malloc(sizeof(*c) + bytes);
		if (!c) {
			writer__count_lost(w, size);
			return NULL;
		}
		c->next = NULL;
		c->used = 0;
		c->size = bytes;
		w->current = c;
	}
	room = c->data + c->used;
	c->used += size;
	return room;
}

void writer__append(struct writer *w, const struct xpu_record *r)
{
	void *room = writer__reserve(w, r->size);

	if (room)
		memcpy(room, r, r->size);
}

bool writer__is_behind(struct writer *w)
{
	bool behind;

	pthread_mutex_lock(&w->lock);
	behind = w->queued_bytes > MAX_QUEUED;
	pthread_mutex_unlock(&w->lock);
	return behind;
}

int writer__error(struct writer *w)
{
	int err;

	pthread_mutex_lock(&w->lock);
	err = -w->error;
	pthread_mutex_unlock(&w->lock);
	return err;
}

int writer__close(struct writer *w, uint64_t *bytes, uint64_t *lost_bytes)
{
	int err;

	if (!w)
		return 0;
	writer__flush(w);
	pthread_mutex_lock(&w->lock);
	w->closing = true;
	pthread_cond_signal(&w->more);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);

	err = w->error;
	if (close(w->fd) && !err)
		err = -errno;		/* NFS and quotas tell only now */
	if (bytes)
		*bytes = w->written_bytes;
	if (lost_bytes)
		*lost_bytes = w->lost_bytes;
	free(w->current);
	pthread_mutex_destroy(&w->lock);
	pthread_cond_destroy(&w->more);
	free(w);
	return err;
}
