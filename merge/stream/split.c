// SPDX-License-Identifier: GPL-3.0-or-later
#include "stream/split.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "block.h"
#include "now.h"
#include "read/reader.h"
#include "record.h"
#include "safefile.h"
#include "stream/carry.h"
#include "stream/held.h"
#include "stream/journal.h"
#include "stream/kept.h"
#include "stream/outfile.h"
#include "xpu_time.h"

#define FLUSH_NS	1000000000ull	/* maximum time for which records stay unwritten */
#define IDLE_MS		500
#define KEPT_BEFORE	64		/* number of extra file numbers to try, because some numbers
					 * have no file */
#define MAX_BEGUN	2		/* skip a block after it has killed this many programs */
#define MAGIC_AT	offsetof(struct xpu_record_block, magic)
#define MAGIC_BYTES	sizeof(((struct xpu_record_block *)0)->magic)

/* A file that may have to be removed later. */
struct named {
	char *name;
	dev_t dev;
	ino_t ino;
};

struct split {
	const struct split_opts *opts;
	struct split_result *result;
	int fd;
	struct xpu_file_header header;
	struct block_unpacker *unpacker;
	struct journal journal;
	int copy[2];			/* pipe that holds copies of bytes not read yet; -1: none */
	uint8_t *records;		/* XPU_BLOCK_MAX bytes: the records of a block */
	ARRAY(uint8_t) batch;		/* records of the batch that is being written */
	struct carry *carry;
	struct held *held;
	struct kept kept;
	struct outfile outfile;
	bool open;			/* @outfile is open */
	char *name;			/* name of @outfile */
	uint64_t number;		/* number of @outfile; 0: no file was opened yet */
	uint64_t start_ns;		/* start time of @outfile */
	uint64_t flushed_ns;
	ARRAY(struct named) names;	/* the files that are kept, oldest first */
	bool failing;			/* the last file could not be written */
	uint64_t nr_lost, lost_bytes;	/* number of failed files since the last good file; bytes to
					 * report as lost */
	uint64_t nr_lost_launches;	/* number of launches in the failed files */
	uint64_t told_bytes;		/* lost bytes that were reported in @outfile after its last
					 * checkpoint */
	bool ended;
	uint64_t end_ns;		/* end of the recording */
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

/* ---- files ----------------------------------------------------------------------------------- */

/* Removes a file of this recording, unless its name now belongs to another file. */
static void split__remove(const struct named *n)
{
	struct safefile f = {
		.fd = -1, .name = (char *)safefile__name(n->name), .dev = n->dev, .ino = n->ino,
	};

	f.dir_fd = safefile__open_parent(n->name);
	if (f.dir_fd < 0)
		return;
	safefile__remove(&f);
	close(f.dir_fd);
}

/* Adds a file, and removes the oldest files if there are more than opts->keep. */
static void split__keep(struct split *s, const struct named *newest)
{
	struct named n = *newest;

	n.name = s->opts->keep ? strdup(n.name) : NULL;
	if (!n.name || array_push(&s->names, n)) {
		free(n.name);
		return;
	}
	while (s->names.nr > s->opts->keep) {
		split__remove(&s->names.v[0]);
		free(s->names.v[0].name);
		memmove(s->names.v, s->names.v + 1, --s->names.nr * sizeof(*s->names.v));
	}
}

static void split__say(struct split *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void split__say(struct split *s, const char *fmt, ...)
{
	char text[PATH_MAX + 256];
	va_list args;

	if (!s->opts->trouble)
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	s->opts->trouble(s->opts->ctx, text);
}

/*
 * If several files in a row cannot be written, reports only the first file. Return: 0 to continue,
 * or an error.
 */
static int split__failed(struct split *s, int err)
{
	s->outfile.err = err;
	if (!s->opts->trouble)
		return split__fail(s, err, "cannot write %s: %s", s->name, safefile__strerror(err));
	if (!s->failing)
		split__say(s, "cannot write %s: %s: records are lost until a later file can be "
			   "written; the next one is tried when its interval begins", s->name,
			   safefile__strerror(err));
	s->failing = true;
	return 0;
}

/*
 * Counts the lost records of a file that could not be written. @launches: number of launches among
 * the lost records
 */
static void split__count_lost(struct split *s, uint64_t launches)
{
	struct split_journal *told = &s->journal.head->told;

	told->nr_lost_launches += launches;
	s->nr_lost_launches += launches;

	s->lost_bytes += s->told_bytes;
	s->told_bytes = 0;
	told->nr_lost_files++;
	told->nr_lost_bytes += s->outfile.packer ? s->outfile.nr_lost : s->outfile.since;
	s->lost_bytes += s->outfile.packer ? s->outfile.nr_lost : s->outfile.since;
	s->nr_lost++;
}

/*
 * Writes the number of bytes of records that are in no file, unless the current file cannot be
 * written.
 */
static void split__write_lost(struct split *s)
{
	struct xpu_record_lost *r =
		s->lost_bytes ? outfile__reserve(&s->outfile, sizeof(*r)) : NULL;

	if (r)
		*r = (struct xpu_record_lost){
			.hdr = { XPU_RECORD_LOST, 0, sizeof(*r) }, .time_ns = s->start_ns,
			.kind = XPU_LOST_DISK, .count = s->lost_bytes,
		};
	if (!r)
		return;
	s->told_bytes += s->lost_bytes;
	s->lost_bytes = 0;
}

/* Writes a PART record with the number of the current file. */
static void split__write_part(struct split *s, uint64_t time_ns)
{
	char *first = split__name(s->opts->pattern, 1);
	const char *name = first ? safefile__name(first) : "";
	size_t size = (sizeof(struct xpu_record_part) + strlen(name) + 8) & ~(size_t)7;
	struct xpu_record_part *r = outfile__reserve(&s->outfile, size);

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

/* Return: the journal's entry for file @number. */
static struct journal_file *split__file(struct split *s, uint64_t number)
{
	return &s->journal.head->files[number % JOURNAL_FILES];
}

/* Notes the current file, and its size up to the last counted record, for journal__commit(). */
static void split__note_file(struct split *s)
{
	struct journal_state *state = &s->journal.state;

	state->file_dev = s->open ? s->outfile.file.dev : 0;
	state->file_ino = s->open ? s->outfile.file.ino : 0;
	state->file_bytes = s->open ? s->outfile.safe : 0;
	state->file_blocks = s->outfile.nr_blocks;
	state->file_launches = s->outfile.nr_launches;
	state->file_end_ns = max_t(uint64_t, now_ns(CLOCK_MONOTONIC), s->start_ns);
	state->since_bytes = s->told_bytes + s->lost_bytes;
}

/* Notes that all records so far are in files. */
static void split__settle(struct split *s)
{
	carry__settle(s->carry, true);
	s->told_bytes = 0;
	split__note_file(s);
	split__file(s, s->number)->duration_ns = s->journal.state.file_end_ns - s->start_ns;
	if (s->journal.outfile.packer)
		carry__save_counts(s->carry, &s->journal.outfile);
	journal__commit(&s->journal);
}

static int split__save(struct split *s, uint64_t time_ns)
{
	int err = journal__save(&s->journal, &s->header, s->carry, &s->kept, s->number, time_ns);

	if (err)
		split__say(s, "cannot keep definitions in memory: %s: if this program is killed, "
			      "later files lack names", strerror(-err));
	return 0;
}

/* Writes all records so far, and counts them as written. */
static int split__checkpoint(struct split *s)
{
	int err;

	held__flush(s->held, &s->outfile);
	kept__step(&s->kept, &s->outfile, SPLIT_FLUSH, 0);
	err = s->open ? outfile__checkpoint(&s->outfile) : 0;
	if (!s->open)
		return 0;
	if (err)
		return split__failed(s, err);
	split__settle(s);
	return journal__is_long(&s->journal) ? split__save(s, now_ns(CLOCK_MONOTONIC)) : 0;
}

/* Starts the next file at @time_ns. */
static int split__open(struct split *s, uint64_t time_ns)
{
	struct xpu_file_header hdr = s->header;
	struct journal_file *file;
	int err;

	s->number++;
	file = split__file(s, s->number);
	if (file->waits && s->opts->overdue)
		s->opts->overdue(s->opts->ctx, &file->waits);
	s->name = split__name(s->opts->pattern, s->number);
	if (!s->name)
		return split__fail(s, -ENOMEM, "out of memory");
	if (s->number > 1) {
		hdr.start_real_ns += time_ns - hdr.start_mono_ns;
		hdr.start_mono_ns = time_ns;
	}
	hdr.version_minor = XPU_VERSION_MINOR;
	s->start_ns = time_ns;
	err = outfile__open(&s->outfile, s->name, &hdr, s->opts->level);
	s->open = !err;
	*file = (struct journal_file){
		.number = s->number,
		.start_ns = hdr.start_real_ns,
		.waits = s->open && s->opts->whole,
	};
	split__note_file(s);
	if (err && split__failed(s, err))
		return err;
	carry__write_infos(s->carry, &s->outfile);
	if (s->number == 1)
		return split__save(s, time_ns) ?: split__checkpoint(s);
	split__write_part(s, time_ns);
	split__write_lost(s);
	held__keep_threads(s->held);
	err = kept__step(&s->kept, &s->outfile, SPLIT_KEEP_THREADS, time_ns);
	carry__next(s->carry, &s->outfile, s->number, time_ns);
	err = err ?: held__next(s->held, &s->outfile, time_ns) ?:
	      kept__step(&s->kept, &s->outfile, SPLIT_NEXT, time_ns);
	return err ? split__fail(s, -ENOMEM, "out of memory") :
		     split__save(s, time_ns) ?: split__checkpoint(s);
}

/* Writes that the file ends at @time_ns, and that another file follows. */
static void split__write_end(struct outfile *p, uint64_t time_ns)
{
	struct xpu_record_end *r = outfile__reserve(p, sizeof(*r));

	if (r)
		*r = (struct xpu_record_end){
			.hdr = { XPU_RECORD_END, XPU_MISC_END_CONTINUES, sizeof(*r) },
			.time_ns = time_ns,
		};
}

/* Ends the file. @continues: another file follows, so write an END record */
static int split__close(struct split *s, uint64_t time_ns, bool continues)
{
	struct named named = { .name = s->name };
	struct journal_file *file = split__file(s, s->number);
	uint64_t launches;
	int err, failed = 0;

	held__flush(s->held, &s->outfile);
	kept__step(&s->kept, &s->outfile, SPLIT_FLUSH, 0);
	if (continues)
		split__write_end(&s->outfile, time_ns);
	named.dev = s->outfile.file.dev;
	named.ino = s->outfile.file.ino;
	err = s->open ? outfile__close(&s->outfile) : s->outfile.err;
	if (err) {
		launches = carry__settle(s->carry, false);
		failed = split__failed(s, err);
		split__count_lost(s, launches);
	} else {
		split__settle(s);
	}
	if (!err && s->failing) {
		split__say(s, "%s can be written again: %" PRIu64 " %s lost, with %" PRIu64 " %s",
			   s->name, s->nr_lost,
			   PLURAL(s->nr_lost, "interval was", "intervals were"),
			   s->nr_lost_launches, PLURAL(s->nr_lost_launches, "launch", "launches"));
		s->failing = false;
		s->nr_lost = s->nr_lost_launches = 0;
	}
	if (s->open) {
		s->result->nr_files += !err;
		s->journal.head->told.nr_files += !err;
		s->journal.head->told.nr_bytes += err ? 0 : s->outfile.written;
		split__keep(s, &named);
	}
	if (s->open && s->opts->whole) {
		file->duration_ns = max_t(uint64_t, time_ns, s->start_ns) - s->start_ns;
		s->opts->whole(s->opts->ctx, s->name, file->start_ns, file->duration_ns,
			       &file->waits);
		s->name = NULL;
	}
	s->open = false;
	free(s->name);
	s->name = NULL;
	return failed;
}

static int split__cut(struct split *s, uint64_t time_ns)
{
	return split__close(s, time_ns, true) ?: split__open(s, time_ns);
}

/* ---- records --------------------------------------------------------------------------------- */

/* Return: whether a program that continues after a kill needs this record from a batch. */
static bool is_recalled(const struct xpu_record *nested)
{
	return record_types[nested->type].split == RECORD_CARRY ||
	       nested->type == XPU_RECORD_COUNTERS;
}

static int split__nested(struct split *s, const struct xpu_record_batch *batch,
			 const struct xpu_record *rec, bool known)
{
	int keep = 1, err;

	if (known && record_types[rec->type].split == RECORD_HOLD)
		keep = held__work(s->held, &s->outfile, batch, rec);
	else if (known)
		keep = carry__nested(s->carry, batch->proc_id, rec) ?: 1;
	if (known && is_recalled(rec))
		journal__add_nested(&s->journal, batch->proc_id, rec);
	if (known && rec->type == XPU_RECORD_DEVICE && keep > 0)
		keep = kept__device(&s->kept, batch->proc_id, (const void *)rec) ?: 1;
	if (keep <= 0)
		return keep;
	err = array_reserve(&s->batch, s->batch.nr + rec->size);
	if (err)
		return err;
	memcpy(s->batch.v + s->batch.nr, rec, rec->size);
	s->batch.nr += rec->size;
	return 0;
}

/* Passes on a batch, without the records that are held. */
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
	/* Pass on damaged bytes, so that each reader reports them. */
	tail = it.end == RECORDS_WHOLE ? 0 : (it.size - it.offset) & ~(size_t)7;
	s->result->nr_damaged += it.end != RECORDS_WHOLE;
	r = outfile__reserve(&s->outfile, sizeof(*r) + s->batch.nr + tail);
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

static int split__record(struct split *s, const struct record_iter *it,
			 const struct xpu_record *rec)
{
	int err = 0;

	if (it->known && kept__takes(rec->type)) {
		journal__add(&s->journal, rec);
		return kept__record(&s->kept, &s->outfile, rec);
	}
	switch (it->known ? rec->type : 0) {
	case XPU_RECORD_CUT:
		return split__cut(s, ((const struct xpu_record_cut *)rec)->time_ns);
	case XPU_RECORD_LAUNCHES:
		return held__launches(s->held, &s->outfile, (const void *)rec);
	case XPU_RECORD_BATCH:
		return split__batch(s, it, (const void *)rec);
	case XPU_RECORD_END:
		held__finish(s->held, &s->outfile);
		err = kept__step(&s->kept, &s->outfile, SPLIT_FINISH, 0);
		s->ended = true;
		s->end_ns = ((const struct xpu_record_end *)rec)->time_ns;
		break;
	case XPU_RECORD_GRAPH_NODE:
		err = held__captured(s->held, &s->outfile, (const void *)rec);
		break;
	}
	if (!err && it->known)
		err = carry__record(s->carry, rec);
	if (it->known && record_types[rec->type].split == RECORD_CARRY)
		journal__add(&s->journal, rec);
	if (!err)
		outfile__append(&s->outfile, rec);
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
	s->journal.state.nr_blocks = s->journal.head->nr_blocks + 1;
	s->journal.state.since_bytes =
		s->outfile.since + s->outfile.used + s->told_bytes + s->lost_bytes;
	if (now_ns(CLOCK_MONOTONIC) - s->flushed_ns < FLUSH_NS) {
		journal__commit(&s->journal);
		return 0;
	}
	s->flushed_ns = now_ns(CLOCK_MONOTONIC);
	return split__checkpoint(s);
}

/* ---- the recording --------------------------------------------------------------------------- */

/* Return: the number of bytes of the block that were read so far. */
static uint32_t split__nr(const struct split *s)
{
	return s->journal.head->place;
}

static void split__set_place(struct split *s, uint32_t nr, uint32_t nr_copied)
{
	__atomic_store_n(&s->journal.head->place, JOURNAL_PLACE(nr, nr_copied), __ATOMIC_RELEASE);
}

/* Copies bytes, which stay in the pipe. Return: the number of bytes, 0 at the end, or -1. */
static ssize_t split__copy(struct split *s, uint8_t *to, size_t len, unsigned int flags)
{
	ssize_t n = tee(s->fd, s->copy[1], len, flags);

	return n > 0 ? read(s->copy[0], to, n) : n;
}

/*
 * Reads bytes of the block. If the program is killed at any time, the next program can tell which
 * bytes were read: these bytes are in the journal's copy, and no longer in the pipe. Return: as
 * read().
 */
static ssize_t split__take(struct split *s, size_t len)
{
	uint32_t nr = split__nr(s);
	uint8_t *to = s->journal.head->block + nr;
	ssize_t n = s->copy[0] < 0 ? (ssize_t)len : split__copy(s, to, len, 0);

	if (n <= 0)
		return n;
	if (s->copy[0] >= 0)
		split__set_place(s, nr, n);
	n = read(s->fd, to, n);
	if (n > 0)
		split__set_place(s, nr + n, 0);
	return n;
}

/*
 * The earlier program copied bytes that stayed in the pipe. Determines whether it also read them.
 * Return: 0 or -ENOMEM.
 */
static int split__find_place(struct split *s)
{
	uint32_t nr = split__nr(s), nr_copied = s->journal.head->place >> 32;
	uint8_t *now = malloc(nr_copied ?: 1);
	bool waits;

	if (!now)
		return -ENOMEM;
	waits = nr_copied &&
		split__copy(s, now, nr_copied, SPLICE_F_NONBLOCK) == (ssize_t)nr_copied &&
		!memcmp(now, s->journal.head->block + nr, nr_copied);
	split__set_place(s, nr + (waits ? 0 : nr_copied), 0);
	free(now);
	return 0;
}

/*
 * Reads until @len bytes of the block or of the file header are present.
 * Return: 1, 0 at the end, -EBADMSG if the end comes too early, or another negative errno.
 */
static int split__fill(struct split *s, size_t len)
{
	ssize_t n;

	while (split__nr(s) < len) {
		n = split__take(s, len - split__nr(s));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			return split__nr(s) ? -EBADMSG : 0;
	}
	return 1;
}

static int split__read_header(struct split *s)
{
	struct xpu_file_header *h = &s->header;
	int err = split__fill(s, sizeof(*h));

	memcpy(h, s->journal.head->block, sizeof(*h));
	if (err <= 0 || memcmp(h->magic, XPU_FILE_MAGIC, sizeof(h->magic)))
		return split__fail(s, err < 0 ? err : -EINVAL, "this is not a recording of "
							       "xpuload");
	if (h->endian != XPU_FILE_ENDIAN || h->version_major != XPU_VERSION_MAJOR ||
	    h->header_bytes < sizeof(*h) || h->header_bytes > JOURNAL_BLOCK)
		return split__fail(s, -EPROTO,
				   "the recording and this program have different versions");
	err = split__fill(s, h->header_bytes);
	h->header_bytes = sizeof(*h);
	return err > 0 ? 0 : split__fail(s, -EBADMSG, "the recording ends in its header");
}

/* Waits for more input, and meanwhile calls idle(). */
static void split__await(struct split *s)
{
	struct pollfd fd = { .fd = s->fd, .events = POLLIN };

	while (s->opts->idle && !poll(&fd, 1, IDLE_MS))
		s->opts->idle(s->opts->ctx);
}

/*
 * Skips bytes up to the next possible block, because no block starts here. Return: the number of
 * skipped bytes.
 */
static uint32_t split__skip(struct split *s)
{
	uint8_t *block = s->journal.head->block;
	uint32_t nr = split__nr(s), from = min_t(uint32_t, nr, MAGIC_AT + 1), gone;
	const uint8_t *at = memmem(block + from, nr - from, XPU_BLOCK_MAGIC, MAGIC_BYTES);

	/* The last bytes may be the start of a block. */
	gone = at ? at - block - MAGIC_AT :
	       nr - min_t(uint32_t, nr - 1, MAGIC_AT + MAGIC_BYTES - 1);
	memmove(block, block + gone, nr - gone);
	split__set_place(s, nr - gone, 0);
	return gone;
}

/* Reads one block. Return: 1, 0 at the end or if no block starts here, or a negative errno. */
static int split__try_block(struct split *s, struct xpu_record_block *h)
{
	const uint8_t *block = s->journal.head->block;
	size_t header_bytes;
	int err = split__fill(s, sizeof(*h));

	if (err <= 0)
		return err;
	header_bytes = block__header(block, sizeof(*h), h);
	if (!header_bytes || h->hdr.size < sizeof(*h) || h->hdr.size > JOURNAL_BLOCK ||
	    header_bytes + h->stored_bytes > h->hdr.size || h->raw_bytes > XPU_BLOCK_MAX)
		return 0;
	err = split__fill(s, h->hdr.size);
	if (err <= 0)
		return err;
	err = block_unpacker__unpack(s->unpacker, h, block + header_bytes, s->records);
	return err == -EBADMSG ? 0 : err ?: 1;
}

/*
 * Reads the next complete block, and sets *@bytes to the size of its records. Return: 1, 0 at the
 * end, or a negative errno.
 */
static int split__read_block(struct split *s, size_t *bytes)
{
	struct xpu_record_block h;
	uint64_t skipped = 0;
	int err;

	while (!(err = split__try_block(s, &h)) && split__nr(s))
		skipped += split__skip(s);
	if (skipped) {
		split__say(s, "%" PRIu64 " bytes of the recording are not a whole block: left out",
			   skipped);
		s->result->nr_skipped += skipped;
		s->lost_bytes += skipped;
		split__write_lost(s);
	}
	if (err < 0)
		return split__fail(s, err, "%s", err == -EBADMSG ? "the recording ends in a block" :
				   strerror(-err));
	*bytes = err ? h.raw_bytes : 0;
	return err;
}

/* Makes space for the next block, because the block in the journal is finished. */
static void split__used(struct split *s)
{
	struct journal_head *head = s->journal.head;

	/* A kill between these statements is harmless: see split__find_block(). */
	split__set_place(s, 0, 0);
	__atomic_store_n(&head->nr_begun, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&head->nr_blocks, s->journal.state.nr_blocks, __ATOMIC_RELEASE);
}

/* Reads one block and passes it on. Return: 1, 0 at the end, or a negative errno. */
static int split__block(struct split *s)
{
	size_t bytes;
	int err = split__read_block(s, &bytes);

	if (err <= 0)
		return err;
	s->journal.head->nr_begun++;
	err = split__records(s, bytes);
	s->journal.state.nr_blocks = s->journal.head->nr_blocks + 1;
	split__used(s);
	return err ?: 1;
}

/* ---- continuing after a kill ----------------------------------------------------------------- */

static int split__define_batch(struct split *s, const struct record_iter *outer,
			       const struct xpu_record_batch *batch)
{
	const struct xpu_record *rec;
	struct record_iter it;
	int err = 0;

	record_iter__enter(&it, outer, batch);
	while (!err && (rec = record_iter__next(&it))) {
		if (is_recalled(rec))
			err = carry__nested(s->carry, batch->proc_id, rec);
		if (!err && rec->type == XPU_RECORD_DEVICE)
			err = kept__device(&s->kept, batch->proc_id, (const void *)rec);
	}
	return err;
}

/*
 * Takes @bytes bytes of records: definitions, and records that features keep. Return: 0 or -ENOMEM.
 */
static int split__define(void *ctx, size_t bytes)
{
	struct split *s = ctx;
	struct record_iter it = { .base = s->records, .size = bytes, .unknown_too = true };
	const struct xpu_record *rec;
	int err = 0;

	while (!err && (rec = record_iter__next(&it))) {
		if (!it.known)
			continue;
		if (rec->type == XPU_RECORD_PART)
			s->number = ((const struct xpu_record_part *)rec)->number;
		s->ended |= rec->type == XPU_RECORD_END;
		if (rec->type == XPU_RECORD_BATCH)
			err = split__define_batch(s, &it, (const void *)rec);
		else if (kept__takes(rec->type))
			err = kept__record(&s->kept, NULL, rec);
		else
			err = carry__record(s->carry, rec);
	}
	return err;
}

/* Ends the earlier program's file after its last counted record. */
static void split__cut_file(struct split *s)
{
	const struct journal_state *state = &s->journal.state;
	char *name = split__name(s->opts->pattern, s->number);
	struct safefile f = {
		.fd = -1, .dir_fd = -1, .name = (char *)safefile__name(name ?: ""),
		.dev = state->file_dev, .ino = state->file_ino,
	};
	struct outfile outfile;
	int fd = -ENOENT, err = 0;

	if (name)
		f.dir_fd = safefile__open_parent(name);
	if (f.dir_fd >= 0) {
		fd = safefile__shorten(&f, state->file_bytes);
		close(f.dir_fd);
	}
	err = fd < 0 ? fd : outfile__resume(&outfile, fd, state->file_bytes, state->file_blocks,
					    state->file_launches);
	if (!err) {
		split__write_end(&outfile, state->file_end_ns);
		err = outfile__close(&outfile);
	}
	if (err && err != -ENOENT)
		split__say(s, "cannot end %s: %s: its last second may count twice", name,
			   strerror(-err));
	free(name);
}

/* Finds the files that the earlier program would have removed later. */
static void split__find_files(struct split *s)
{
	uint64_t back = s->opts->keep + (uint64_t)KEPT_BEFORE;
	uint64_t number = s->number > back ? s->number - back : 0;
	struct named n;
	struct stat st;

	while (s->opts->keep && ++number <= s->number) {
		n.name = split__name(s->opts->pattern, number);
		if (n.name && !lstat(n.name, &st) && S_ISREG(st.st_mode) &&
		    st.st_uid == geteuid()) {
			n.dev = st.st_dev;
			n.ino = st.st_ino;
			split__keep(s, &n);
		}
		free(n.name);
	}
}

/* Calls whole() again for the files that the callee had not finished. */
static void split__find_waiting(struct split *s)
{
	struct journal_file *file;
	uint64_t number = s->number - min_t(uint64_t, s->number, JOURNAL_FILES);
	char *name;

	while (s->opts->whole && ++number <= s->number) {
		file = split__file(s, number);
		name = file->number == number && file->waits ?
		       split__name(s->opts->pattern, number) : NULL;
		if (name)
			s->opts->whole(s->opts->ctx, name, file->start_ns,
				       file->duration_ns ?: FLUSH_NS, &file->waits);
	}
}

/*
 * Handles the block that the earlier program did not finish. The file may already contain some of
 * its records.
 * Return: 0 or -ENOMEM.
 */
static int split__find_block(struct split *s)
{
	struct journal_head *head = s->journal.head;
	size_t bytes;
	int err = 0;

	/* Drop a finished block, or the header of the recording, which is already known. */
	if (head->nr_blocks < s->journal.state.nr_blocks ||
	    (split__nr(s) >= sizeof(s->header) &&
	     !memcmp(head->block, XPU_FILE_MAGIC, sizeof(s->header.magic))))
		split__used(s);
	if (!head->nr_begun || !split__nr(s))
		return 0;
	if (head->nr_begun < MAX_BEGUN && split__read_block(s, &bytes) > 0) {
		head->nr_begun++;
		s->lost_bytes += bytes;
		err = split__define(s, bytes);
	} else {
		s->lost_bytes += split__nr(s);
	}
	s->journal.state.nr_blocks = head->nr_blocks + 1;
	return err;
}

/*
 * Continues after an earlier program was killed. Return: 1; 0 if no program was killed; or a
 * negative errno.
 */
static int split__go_on(struct split *s)
{
	int err =
		journal__recall(&s->journal, &s->header, s->unpacker, s->records, split__define, s);

	if (err <= 0)
		return err < 0 ? split__fail(s, err, "%s", strerror(-err)) : 0;
	split__cut_file(s);
	split__find_files(s);
	split__find_waiting(s);
	s->lost_bytes = s->journal.state.since_bytes;
	err = split__find_block(s);
	carry__recalled(s->carry);
	s->end_ns = now_ns(CLOCK_MONOTONIC);
	err = err ?: split__open(s, s->end_ns);
	if (s->journal.state.nr_blocks > s->journal.head->nr_blocks)
		split__used(s);
	split__say(s, "%s continues after xpumerge split was killed: records that it had read and "
		      "not written are lost",
		   s->name ?: "");
	return err ?: 1;
}

/* ---- the recording --------------------------------------------------------------------------- */

static int split__read(struct split *s)
{
	int err = split__find_place(s) ?: split__go_on(s), closed;

	if (!err) {
		err = split__read_header(s);
		err = err ?: split__open(s, s->header.start_mono_ns);
		split__used(s);
	}
	err = min_t(int, err, 0);
	s->flushed_ns = now_ns(CLOCK_MONOTONIC);
	while (!err && !s->ended) {
		split__await(s);
		err = split__block(s);
		if (err <= 0)
			break;
		err = 0;
		if (s->opts->idle)
			s->opts->idle(s->opts->ctx);
	}
	if (s->name && !s->ended) {
		held__finish(s->held, &s->outfile);
		err = err ?: kept__step(&s->kept, &s->outfile, SPLIT_FINISH, 0);
	}
	closed = s->name ? split__close(s, s->end_ns, false) : 0;
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
	s.unpacker = block_unpacker__new();
	s.records = malloc(XPU_BLOCK_MAX);
	err = journal__open(&s.journal, opts->journal_fd) ?: kept__init(&s.kept, s.carry);
	if (opts->journal_fd < 0 || pipe2(s.copy, O_CLOEXEC))
		s.copy[0] = s.copy[1] = -1;
	if (!err && s.held && s.unpacker && s.records)
		err = split__read(&s);
	else
		err = split__fail(&s, -ENOMEM, "out of memory");
	if (s.held)
		result->nr_forced = held__nr_forced(s.held);
	if (s.carry)
		result->nr_beyond = carry__nr_beyond(s.carry) + kept__nr_beyond(&s.kept);
	if (s.journal.head)
		result->nr_lost = s.journal.head->told.nr_lost_files;
	if (s.journal.head)
		s.journal.head->told.failing = s.failing;
	/* Keep the head mapped for opts->whole(), which keeps pointers to @waits in the head. */
	journal__close(&s.journal, opts->whole);
	if (s.copy[0] >= 0) {
		close(s.copy[0]);
		close(s.copy[1]);
	}
	for (i = 0; i < s.names.nr; i++)
		free(s.names.v[i].name);
	array_free(&s.names);
	array_free(&s.batch);
	held__free(s.held);
	kept__exit(&s.kept);
	carry__free(s.carry);
	block_unpacker__free(s.unpacker);
	free(s.records);
	free(s.name);
	return err;
}
