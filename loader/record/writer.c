// SPDX-License-Identifier: GPL-3.0-or-later
#include "record/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "block.h"
#include "base/host_clock.h"

#define CHUNK_BYTES	(256 * 1024)		/* bytes of records to pack into a block */
#define MAX_QUEUED	(256ull * 1024 * 1024)	/* with more bytes queued, the disk counts as too
						 * slow, and records wait in the ring */
#define MAX_SPARE	8
#define RETRY_NS	200000000ull	/* time between attempts to write a block to a full disk */
/*
 * A record is written after at most a second. At first, it is written after at most an eighth of
 * the recording's age. If all processes are killed, only records newer than this are lost.
 */
#define FLUSH_NS	1000000000ull
#define FLUSH_PART	8

/* Records that will become one block. */
struct chunk {
	struct chunk *next;
	size_t used, size;
	uint64_t time_ns;		/* when the first record was added */
	uint8_t data[];
};

struct writer {
	int fd;
	struct chunk *current;		/* used only by the appender */
	uint64_t start_ns;
	struct block_packer *packer;	/* used only by @thread once there are records */

	pthread_t thread;
	pthread_mutex_t lock;		/* protects the members below */
	pthread_cond_t more;
	pthread_cond_t closes;		/* signaled when the writer closes; uses clock__now() */
	struct chunk *first, **last;
	struct chunk *spare;		/* chunks of CHUNK_BYTES with pages already allocated */
	unsigned int nr_spare;
	uint64_t queued_bytes;
	uint64_t written_bytes;		/* the file's length, in whole blocks */
	uint64_t lost_bytes;		/* lost bytes, of records or of written blocks */
	int error;			/* negative errno */
	int waits;			/* negative errno while a block is tried again; otherwise
					 * 0 */
	bool closing, ended;
};

/* Writes all of @data. *@done: the bytes written, even on failure. */
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

/*
 * Checks that the file still has everything that was written, and counts missing bytes as lost.
 * Return: 0, -ENOLINK if the file was removed or replaced, or -ENODATA if somebody shortened it.
 */
static int writer__check(struct writer *w)
{
	struct stat st;
	uint64_t left;
	int err = 0;

	if (fstat(w->fd, &st) || !S_ISREG(st.st_mode))
		return 0;
	left = st.st_nlink ? st.st_size : 0;
	pthread_mutex_lock(&w->lock);
	if (left < w->written_bytes) {
		err = st.st_nlink ? -ENODATA : -ENOLINK;
		w->lost_bytes += w->written_bytes - left;
		w->written_bytes = left;
	}
	pthread_mutex_unlock(&w->lock);
	return err;
}

/* Writes the block. Return: 0; or -errno, with the file unchanged. */
static int writer__write(struct writer *w, const struct xpu_record_block *b)
{
	size_t done;
	int err = writer__check(w);

	if (err)
		return err;
	err = write_all(w->fd, (const uint8_t *)b, b->hdr.size, &done);
	/* Remove a partly written block. This is impossible on a pipe or a device. */
	if (err && ftruncate(w->fd, w->written_bytes))
		return err;
	return err;
}

/* Whether writing may succeed later, in spite of @err. */
static bool may_pass(int err)
{
	return err == -ENOSPC || err == -EDQUOT || err == -EIO || err == -ENOMEM;
}

/*
 * Waits until the next attempt to write the block. Return: false if the recording ends, and no
 * attempt is left.
 */
static bool writer__pause(struct writer *w, int err)
{
	struct timespec until;
	uint64_t ns;
	bool again;

	pthread_mutex_lock(&w->lock);
	again = !w->closing;
	w->waits = err;
	ns = clock__now() + RETRY_NS;
	until = (struct timespec){ ns / 1000000000, ns % 1000000000 };
	while (!w->closing && clock__now() < ns)
		pthread_cond_timedwait(&w->closes, &w->lock, &until);
	pthread_mutex_unlock(&w->lock);
	return again;
}

/*
 * Writes the records as one block; waits while the disk is full. Return: 0 with *@bytes set to the
 * bytes written, which are 0 if packing runs out of memory; or -errno, with the file unchanged.
 */
static int writer__write_chunk(struct writer *w, const struct chunk *c, size_t *bytes)
{
	const struct xpu_record_block *b = block_packer__pack(w->packer, c->data, c->used);
	struct stat st;
	int err;

	if (!b)
		return 0;
	*bytes = b->hdr.size;
	err = writer__write(w, b);
	if (!err || fstat(w->fd, &st) || !S_ISREG(st.st_mode))
		return err;
	while (err && may_pass(err) && writer__pause(w, err))
		err = writer__write(w, b);
	pthread_mutex_lock(&w->lock);
	w->waits = 0;
	pthread_mutex_unlock(&w->lock);
	return err;
}

static void writer__recycle(struct writer *w, struct chunk *c)
{
	if (c->size != CHUNK_BYTES || w->nr_spare == MAX_SPARE) {
		free(c);
		return;
	}
	c->next = w->spare;
	w->spare = c;
	w->nr_spare++;
}

static void *writer_thread(void *arg)
{
	struct writer *w = arg;
	struct chunk *c;
	size_t bytes;
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

		bytes = 0;
		err = err ?: writer__write_chunk(w, c, &bytes);

		pthread_mutex_lock(&w->lock);
		w->queued_bytes -= c->size;
		if (!err)
			w->written_bytes += bytes;
		if (err || !bytes)
			w->lost_bytes += c->used;
		if (!w->error)
			w->error = err;
		writer__recycle(w, c);
	}
	w->ended = true;
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

int writer__open(int fd, const struct xpu_file_header *hdr, struct writer **wp)
{
	struct xpu_file_header sealed = *hdr;
	pthread_condattr_t monotonic;
	struct writer *w;
	sigset_t all, old;
	size_t done;
	int err;

	file_header__seal(&sealed);
	w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->fd = fd;
	w->last = &w->first;
	w->start_ns = clock__now();
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->more, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&w->closes, &monotonic);
	pthread_condattr_destroy(&monotonic);

	/* With O_APPEND, later blocks leave no hole if somebody shortened the file. */
	fcntl(w->fd, F_SETFL, O_APPEND);
	err = write_all(w->fd, (const uint8_t *)&sealed, sizeof(sealed), &done);
	if (err)
		goto free_writer;
	w->written_bytes = sizeof(sealed);
	err = writer__set_level(w, BLOCK_LEVEL_DEFAULT);
	if (err)
		goto free_writer;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = -pthread_create(&w->thread, NULL, writer_thread, w);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err)
		goto free_packer;
	*wp = w;
	return 0;

free_packer:
	block_packer__free(w->packer);
free_writer:
	pthread_mutex_destroy(&w->lock);
	pthread_cond_destroy(&w->more);
	pthread_cond_destroy(&w->closes);
	free(w);
	return err;
}

int writer__set_level(struct writer *w, int level)
{
	struct block_packer *packer = block_packer__new(level);

	if (!packer)
		return -ENOMEM;
	block_packer__free(w->packer);
	w->packer = packer;
	return 0;
}

/* Hands the current chunk to the thread. */
static void writer__hand_over(struct writer *w)
{
	struct chunk *c = w->current;

	if (!c || !c->used)
		return;
	w->current = NULL;
	pthread_mutex_lock(&w->lock);
	c->next = NULL;
	*w->last = c;
	w->last = &c->next;
	w->queued_bytes += c->size;
	pthread_cond_signal(&w->more);
	pthread_mutex_unlock(&w->lock);
}

void writer__flush(struct writer *w)
{
	struct chunk *c = w->current;
	uint64_t now, old;

	if (!c || !c->used)
		return;
	now = clock__now();
	old = (now - w->start_ns) / FLUSH_PART;
	if (now - c->time_ns >= (old < FLUSH_NS ? old : FLUSH_NS))
		writer__hand_over(w);
}

void writer__push(struct writer *w)
{
	writer__hand_over(w);
}

static void writer__count_lost(struct writer *w, size_t size)
{
	pthread_mutex_lock(&w->lock);
	w->lost_bytes += size;
	pthread_mutex_unlock(&w->lock);
}

/*
 * Return: an empty chunk for a record of @size, or NULL if memory is short or writing has failed.
 */
static struct chunk *writer__chunk(struct writer *w, size_t size)
{
	size_t bytes = size > CHUNK_BYTES ? size : CHUNK_BYTES;
	struct chunk *c = NULL;
	int err;

	pthread_mutex_lock(&w->lock);
	err = w->error;
	if (!err && bytes == CHUNK_BYTES && w->spare) {
		c = w->spare;
		w->spare = c->next;
		w->nr_spare--;
	}
	pthread_mutex_unlock(&w->lock);
	if (err || size > XPU_BLOCK_MAX)
		return NULL;
	c = c ?: malloc(sizeof(*c) + bytes);
	if (!c)
		return NULL;
	c->used = 0;
	c->size = bytes;
	c->time_ns = clock__now();
	return c;
}

void *writer__reserve(struct writer *w, size_t size)
{
	struct chunk *c = w->current;
	void *room;

	if (c && c->size - c->used < size) {
		writer__hand_over(w);
		c = NULL;
	}
	if (!c) {
		c = writer__chunk(w, size);
		if (!c) {
			writer__count_lost(w, size);
			return NULL;
		}
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

int writer__waits(struct writer *w)
{
	int err;

	pthread_mutex_lock(&w->lock);
	err = -w->waits;
	pthread_mutex_unlock(&w->lock);
	return err;
}

bool writer__end(struct writer *w)
{
	bool ended;

	writer__hand_over(w);
	pthread_mutex_lock(&w->lock);
	w->closing = true;
	pthread_cond_signal(&w->more);
	pthread_cond_signal(&w->closes);
	ended = w->ended;
	pthread_mutex_unlock(&w->lock);
	return ended;
}

int writer__close(struct writer *w, uint64_t *bytes, uint64_t *lost_bytes)
{
	struct chunk *c, *next;
	int err;

	if (!w)
		return 0;
	writer__end(w);
	pthread_join(w->thread, NULL);

	err = w->error ?: writer__check(w);
	if (close(w->fd) && !err)
		err = -errno;		/* NFS and quotas report errors only now */
	if (bytes)
		*bytes = w->written_bytes;
	if (lost_bytes)
		*lost_bytes = w->lost_bytes;
	for (c = w->spare; c; c = next) {
		next = c->next;
		free(c);
	}
	free(w->current);
	block_packer__free(w->packer);
	pthread_mutex_destroy(&w->lock);
	pthread_cond_destroy(&w->more);
	pthread_cond_destroy(&w->closes);
	free(w);
	return err;
}
