// SPDX-License-Identifier: GPL-3.0-or-later
#include "stream/split.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "block.h"
#include "read/reader.h"
#include "safefile.h"
#include "stream/carry.h"
#include "stream/held.h"
#include "stream/live.h"
#include "stream/part.h"
#include "xpu_time.h"

#define FLUSH_NS	1000000000ull	/* records are on the disk after that time */
#define IDLE_MS		500
#define STORED_MAX	(2 * XPU_BLOCK_MAX)

struct split {
	const struct split_opts *opts;
	struct split_result *result;
	int fd;
	struct xpu_file_header header;
	struct block_unpacker *unpacker;
	uint8_t *stored;		/* STORED_MAX bytes: a block as it comes */
	uint8_t *records;		/* XPU_BLOCK_MAX bytes: its records */
	ARRAY(uint8_t) batch;		/* that is being made */
	struct carry *carry;
	struct held *held;
	struct live *live;
	struct part part;
	bool open;			/* @part is */
	char *name;			/* of @part */
	uint64_t number;		/* of @part; 0: none so far */
	uint64_t start_ns;		/* of @part */
	uint64_t flushed_ns;
	ARRAY(char *) names;		/* of the files that are to stay */
	bool ended;
	uint64_t end_ns;		/* of the recording */
};

static int split__fail(struct split *s, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static int split__fail(struct split *s, int err, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(s->result->what, sizeof(s->result->what), fmt, args);
	va_end(args);
	return err;
}

char *split__name(const char *pattern, uint64_t number)
{
	bool numbered = false;
	char *name = NULL;
	const char *at;
	size_t size;
	FILE *f = open_memstream(&name, &size);

	if (!f)
		return NULL;
	for (at = pattern; *at; at++) {
		if (at[0] == '%' && at[1] == 'n') {
			fprintf(f, "%" PRIu64, number);
			numbered = true;
			at++;
		} else {
			putc(*at, f);
			at += at[0] == '%' && at[1] == '%';
		}
	}
	if (!numbered)
		fprintf(f, ".%" PRIu64, number);
	if (!fclose(f))
		return name;
	free(name);
	return NULL;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

/* ---- files ----------------------------------------------------------------------------------- */

static void split__remove(const char *name)
{
	int dir = safefile__open_parent(name);

	if (dir < 0)
		return;
	safefile__unlink(dir, safefile__name(name), 0);
	close(dir);
}

/* Removes the oldest files, of which enough newer ones are there. */
static void split__keep(struct split *s)
{
	char *name = s->opts->keep ? strdup(s->name) : NULL;

	if (!name || array_push(&s->names, name)) {
		free(name);
		return;
	}
	while (s->names.nr > s->opts->keep) {
		split__remove(s->names.v[0]);
		free(s->names.v[0]);
		memmove(s->names.v, s->names.v + 1, --s->names.nr * sizeof(*s->names.v));
	}
}

/* Writes which file of the recording this is. */
static void split__write_part(struct split *s, uint64_t time_ns)
{
	char *first = split__name(s->opts->pattern, 1);
	const char *name = first ? safefile__name(first) : "";
	size_t size = (sizeof(struct xpu_record_part) + strlen(name) + 8) & ~(size_t)7;
	struct xpu_record_part *r = part__reserve(&s->part, size);

	if (r) {
		memset(r, 0, size);
		*r = (struct xpu_record_part){
			.hdr = { XPU_RECORD_PART, 0, size },
			.time_ns = time_ns, .number = s->number,
			.first_mono_ns = s->header.start_mono_ns,
		};
		strcpy(r->first_name, name);
	}
	free(first);
}

/* Begins the next file, @time_ns is when. */
static int split__open(struct split *s, uint64_t time_ns)
{
	struct xpu_file_header hdr = s->header;
	int err;

	s->number++;
	s->name = split__name(s->opts->pattern, s->number);
	if (!s->name)
		return split__fail(s, -ENOMEM, "out of memory");
	if (s->number > 1) {
		hdr.start_real_ns += time_ns - hdr.start_mono_ns;
		hdr.start_mono_ns = time_ns;
	}
	hdr.version_minor = XPU_VERSION_MINOR;
	err = part__open(&s->part, s->name, &hdr, s->opts->level);
	if (err)
		return split__fail(s, err, "cannot write %s: %s", s->name, safefile__strerror(err));
	s->open = true;
	s->start_ns = time_ns;
	carry__write_infos(s->carry, &s->part);
	if (s->number == 1)
		return 0;
	split__write_part(s, time_ns);
	held__keep_threads(s->held);
	err = live__keep_threads(s->live);
	carry__next(s->carry, &s->part, s->number, time_ns);
	err = err ?: held__next(s->held, &s->part) ?: live__next(s->live, &s->part, time_ns);
	return err ? split__fail(s, -ENOMEM, "out of memory") : 0;
}

/* Ends the file. @continues: another one follows; then it gets its END here */
static int split__close(struct split *s, uint64_t time_ns, bool continues)
{
	struct xpu_record_end *r;
	int err;

	if (!s->open)
		return 0;
	held__flush(s->held, &s->part);
	live__flush(s->live, &s->part);
	r = continues ? part__reserve(&s->part, sizeof(*r)) : NULL;
	if (r)
		*r = (struct xpu_record_end){
			.hdr = { XPU_RECORD_END, XPU_MISC_END_CONTINUES, sizeof(*r) }, .time_ns = time_ns,
		};
	err = part__close(&s->part);
	s->open = false;
	if (err)
		return split__fail(s, err, "cannot write %s: %s", s->name, safefile__strerror(err));
	s->result->nr_files++;
	split__keep(s);
	if (s->opts->whole) {
		s->opts->whole(s->opts->ctx, s->name, s->start_ns - s->header.start_mono_ns +
			       s->header.start_real_ns, max_t(uint64_t, time_ns, s->start_ns) - s->start_ns);
		s->name = NULL;
	}
	free(s->name);
	s->name = NULL;
	return 0;
}

static int split__cut(struct split *s, uint64_t time_ns)
{
	return split__close(s, time_ns, true) ?: split__open(s, time_ns);
}

/* ---- records --------------------------------------------------------------------------------- */

static bool is_work(const struct xpu_record *rec)
{
	return rec->type == XPU_RECORD_KERNEL || rec->type == XPU_RECORD_MEMCPY ||
	       rec->type == XPU_RECORD_MEMSET || rec->type == XPU_RECORD_REFUSED;
}

static int split__nested(struct split *s, const struct xpu_record_batch *batch,
			 const struct xpu_record *rec, bool known)
{
	int keep = 1, err;

	if (known && is_work(rec))
		keep = held__work(s->held, &s->part, batch, rec);
	else if (known)
		keep = carry__nested(s->carry, batch->proc_id, rec) ?: 1;
	if (known && rec->type == XPU_RECORD_DEVICE && keep > 0)
		keep = live__device(s->live, batch->proc_id, (const void *)rec) ?: 1;
	if (keep <= 0)
		return keep;
	err = array_reserve(&s->batch, s->batch.nr + rec->size);
	if (err)
		return err;
	memcpy(s->batch.v + s->batch.nr, rec, rec->size);
	s->batch.nr += rec->size;
	return 0;
}

/* Passes a batch on without the records that are held. */
static int split__batch(struct split *s, const struct record_iter *outer,
			const struct xpu_record_batch *batch)
{
	const struct xpu_record *rec;
	struct xpu_record_batch *r;
	struct record_iter it;
	size_t tail;
	int err;

	s->batch.nr = 0;
	err = carry__count_batch(s->carry, batch);
	record_iter__enter(&it, outer, batch);
	it.unknown_too = true;
	while (!err && (rec = record_iter__next(&it)))
		err = split__nested(s, batch, rec, it.known);
	if (err)
		return err;
	/* Damaged bytes are passed on, so that each reader tells of them. */
	tail = it.end == RECORDS_WHOLE ? 0 : (it.size - it.offset) & ~(size_t)7;
	s->result->nr_damaged += it.end != RECORDS_WHOLE;
	r = part__reserve(&s->part, sizeof(*r) + s->batch.nr + tail);
	if (!r)
		return 0;
	*r = *batch;
	r->hdr.size = sizeof(*r) + s->batch.nr + tail;
	r->bytes = s->batch.nr + tail;
	if (s->batch.nr)
		memcpy(r->records, s->batch.v, s->batch.nr);
	memcpy(r->records + s->batch.nr, it.base + it.offset, tail);
	return 0;
}

static int split__record(struct split *s, const struct record_iter *it, const struct xpu_record *rec)
{
	const struct xpu_record_graph_node *node = (const void *)rec;
	int err = 0;

	switch (it->known ? rec->type : 0) {
	case XPU_RECORD_CUT:
		return split__cut(s, ((const struct xpu_record_cut *)rec)->time_ns);
	case XPU_RECORD_LAUNCHES:
		return held__launches(s->held, &s->part, (const void *)rec);
	case XPU_RECORD_ALLOCS:
		return live__allocs(s->live, &s->part, (const void *)rec);
	case XPU_RECORD_BATCH:
		return split__batch(s, it, (const void *)rec);
	case XPU_RECORD_END:
		held__finish(s->held, &s->part);
		err = live__finish(s->live, &s->part);
		s->ended = true;
		s->end_ns = ((const struct xpu_record_end *)rec)->time_ns;
		break;
	case XPU_RECORD_GRAPH_NODE:
		err = held__captured(s->held, &s->part, node->proc_id, node->correlation_id);
		break;
	}
	if (!err && it->known)
		err = carry__record(s->carry, rec);
	if (!err)
		part__append(&s->part, rec);
	return err;
}

static int split__records(struct split *s, size_t bytes)
{
	struct record_iter it = { .base = s->records, .size = bytes, .unknown_too = true };
	const struct xpu_record *rec;
	int err = 0;

	while (!err && !s->ended && (rec = record_iter__next(&it)))
		err = split__record(s, &it, rec);
	if (err)
		return s->result->what[0] ? err : split__fail(s, err, "%s", strerror(-err));
	if (it.end != RECORDS_WHOLE && !s->ended)
		return split__fail(s, -EBADMSG, "the recording is damaged: %s", it.what);
	if (now_ns() - s->flushed_ns >= FLUSH_NS) {
		part__flush(&s->part);
		s->flushed_ns = now_ns();
	}
	return 0;
}

/* ---- the recording --------------------------------------------------------------------------- */

/* Return: 1, 0 at the end, -EBADMSG if that is too early, or another negative errno. */
static int read_all(int fd, void *to, size_t len)
{
	size_t done = 0;
	ssize_t n;

	while (done < len) {
		n = read(fd, (char *)to + done, len - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			return done ? -EBADMSG : 0;
		done += n;
	}
	return 1;
}

static int split__read_header(struct split *s)
{
	struct xpu_file_header *h = &s->header;
	uint32_t left;
	int err = read_all(s->fd, h, sizeof(*h));
	size_t part;

	if (err <= 0 || memcmp(h->magic, XPU_FILE_MAGIC, sizeof(h->magic)))
		return split__fail(s, err < 0 ? err : -EINVAL, "this is no recording");
	if (h->endian != XPU_FILE_ENDIAN || h->version_major != XPU_VERSION_MAJOR ||
	    h->header_bytes < sizeof(*h) || h->header_bytes > STORED_MAX)
		return split__fail(s, -EPROTO, "the recording is of another version than this program's");
	for (left = h->header_bytes - sizeof(*h); left && err > 0; left -= part) {
		part = left;
		err = read_all(s->fd, s->stored, part);
	}
	h->header_bytes = sizeof(*h);
	return err > 0 ? 0 : split__fail(s, -EBADMSG, "the recording ends in its header");
}

/* Waits for more to read, with calls of idle() in between. */
static void split__await(struct split *s)
{
	struct pollfd fd = { .fd = s->fd, .events = POLLIN };

	while (s->opts->idle && !poll(&fd, 1, IDLE_MS))
		s->opts->idle(s->opts->ctx);
}

/* Reads and passes on one block. Return: 1, 0 at the end, or a negative errno. */
static int split__block(struct split *s)
{
	struct xpu_record_block h, head;
	size_t header_bytes, rest;
	int err = read_all(s->fd, &head, sizeof(head));

	if (err <= 0)
		return err < 0 ? split__fail(s, err, "the recording ends in a block") : 0;
	header_bytes = block__header(&head, sizeof(head), &h);
	if (!header_bytes || h.hdr.size < sizeof(head) || h.hdr.size - sizeof(head) > STORED_MAX ||
	    header_bytes - sizeof(head) + h.stored_bytes > h.hdr.size - sizeof(head) ||
	    h.raw_bytes > XPU_BLOCK_MAX)
		return split__fail(s, -EBADMSG, "the recording is damaged: no block begins here");
	rest = h.hdr.size - sizeof(head);
	err = read_all(s->fd, s->stored, rest);
	if (err <= 0 && rest)
		return split__fail(s, err ?: -EBADMSG, "the recording ends in a block");
	err = block_unpacker__unpack(s->unpacker, &h, s->stored + header_bytes - sizeof(head), s->records);
	if (err)
		return split__fail(s, err, "a block of the recording is damaged");
	return split__records(s, h.raw_bytes) ?: 1;
}

static int split__read(struct split *s)
{
	int err = split__read_header(s), closed;

	if (!err)
		err = split__open(s, s->header.start_mono_ns);
	s->flushed_ns = now_ns();
	while (!err) {
		split__await(s);
		err = split__block(s);
		if (err <= 0)
			break;
		err = 0;
		if (s->opts->idle)
			s->opts->idle(s->opts->ctx);
	}
	if (s->open && !s->ended) {
		held__finish(s->held, &s->part);
		err = err ?: live__finish(s->live, &s->part);
	}
	closed = split__close(s, s->end_ns, false);
	return err ?: closed;
}

int split__run(int fd, const struct split_opts *opts, struct split_result *result)
{
	struct split s = { .opts = opts, .result = result, .fd = fd };
	size_t i;
	int err;

	memset(result, 0, sizeof(*result));
	s.carry = carry__new();
	s.held = s.carry ? held__new(s.carry) : NULL;
	s.live = s.carry ? live__new(s.carry) : NULL;
	s.unpacker = block_unpacker__new();
	s.stored = malloc(STORED_MAX);
	s.records = malloc(XPU_BLOCK_MAX);
	if (s.held && s.live && s.unpacker && s.stored && s.records)
		err = split__read(&s);
	else
		err = split__fail(&s, -ENOMEM, "out of memory");
	if (s.held)
		result->nr_forced = held__nr_forced(s.held);
	if (s.carry)
		result->nr_beyond = carry__nr_beyond(s.carry) + (s.live ? live__nr_beyond(s.live) : 0);
	for (i = 0; i < s.names.nr; i++)
		free(s.names.v[i]);
	array_free(&s.names);
	array_free(&s.batch);
	held__free(s.held);
	live__free(s.live);
	carry__free(s.carry);
	block_unpacker__free(s.unpacker);
	free(s.stored);
	free(s.records);
	free(s.name);
	return err;
}
