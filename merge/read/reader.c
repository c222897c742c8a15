// SPDX-License-Identifier: GPL-3.0-or-later
#include "read/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "block.h"
#include "record.h"
#include "util.h"

#define FIRST_RECORDS	256		/* number of records to search at the start; they include
					 * the definition of the first metric */
#define AHEAD_BYTES	(64u << 20)	/* bytes of the next recording to read ahead */
#define RELEASE_BYTES	(8u << 20)	/* bytes before the current offset that stay in memory */

static int reader__fail(struct reader *r, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static int reader__fail(struct reader *r, int err, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(r->error, sizeof(r->error), fmt, args);
	va_end(args);
	reader__close(r);
	return err;
}

/*
 * Files of other kinds, recognized by their first bytes or their suffix, and the programs that read
 * them.
 */
static const struct {
	const char *begin, *suffix, *advice;
} others[] = {
	{ "SQLite format 3", NULL, "--nsys reads exports of Nsight Systems" },
	{ "PERFILE2", NULL, "--cpu reads what perf recorded" },
	{ "<!DOCTYPE html", NULL, "it is a page: open it in a browser; the recording that the page "
				  "shows is another file" },
	{ "<?xml", NULL, "it is a picture: open it in a browser" },
	{ "{", NULL, "--gpu reads traces in JSON" },
	{ "[", NULL, "--gpu reads traces in JSON" },
	{ "\x1f\x8b", NULL, "it is compressed: --gpu reads compressed traces" },
	{ "\177ELF", NULL, "it is a program: xpuload records it" },
	{ NULL, ".nsys-rep", "nsys export --type sqlite makes a file of it that --nsys reads" },
	{ NULL, ".qdrep", "nsys export --type sqlite makes a file of it that --nsys reads" },
	{ NULL, ".ncu-rep", "only ncu reads it" },
	{ NULL, ".folded", "flamegraph.pl and speedscope read it" },
	{ NULL, ".py", "xpuload python3 FILE records a program" },
};

/* Return: advice on how to read a file of another kind; NULL if its kind is unknown. */
static const char *reader__advice(const struct reader *r)
{
	size_t i, len;

	for (i = 0; i < ARRAY_SIZE(others); i++) {
		len = others[i].begin ? strlen(others[i].begin) : 0;
		if (len ? r->size >= len && !memcmp(r->base, others[i].begin, len) :
			  has_suffix(r->name, others[i].suffix))
			return others[i].advice;
	}
	return NULL;
}

static int reader__check_header(struct reader *r)
{
	static const char magic[8] = XPU_FILE_MAGIC;
	struct xpu_file_header *h = &r->header;
	const char *advice;

	if (!r->size)
		return reader__fail(r, -EINVAL, "is empty: nothing was recorded");
	if (memcmp(r->base, magic, min_t(size_t, r->size, sizeof(magic)))) {
		advice = reader__advice(r);
		return reader__fail(r, -EINVAL, "is not a recording of xpuload (wrong magic)%s%s",
				    advice ? ": " : "", advice ?: "");
	}
	if (r->size < sizeof(*h))
		return reader__fail(r, -EINVAL,
				    "is too short to be a recording: %zu bytes, header %zu",
				    r->size, sizeof(*h));
	memcpy(h, r->base, sizeof(*h));
	if (h->endian == __builtin_bswap32(XPU_FILE_ENDIAN))
		return reader__fail(r, -EPROTO,
				    "was recorded on a machine of the other endianness");
	if (h->endian != XPU_FILE_ENDIAN)
		return reader__fail(r, -EINVAL, "has a damaged header (endian mark %#x)",
				    h->endian);
	if (h->version_major > XPU_VERSION_MAJOR)
		return reader__fail(r, -EPROTO,
				    "has format version %u.%u, newer than the %u.x known here: "
				    "use a newer xpumerge", h->version_major, h->version_minor,
				    XPU_VERSION_MAJOR);
	if (h->version_major < 1)
		return reader__fail(r, -EINVAL, "has a damaged header (version %u.%u)",
				    h->version_major, h->version_minor);
	if (h->header_bytes < sizeof(*h) || h->header_bytes % 8)
		return reader__fail(r, -EINVAL, "has a damaged header (%u bytes)", h->header_bytes);
	if (h->header_bytes > r->size)
		return reader__fail(r, -EINVAL,
				    "is too short to be a recording: %zu bytes, header %u",
				    r->size, h->header_bytes);
	if (h->version_major <= XPU_VERSION_PLAIN)
		return 0;
	r->bad_header = !file_header__is_sealed((const void *)r->base);
	r->blocks = blocks__new(r->base, r->size, r->mapped);
	return r->blocks ? 0 : reader__fail(r, -ENOMEM, "cannot be read: out of memory");
}

/* Copies a pipe's data to memory, because a recording is read more than once. */
static int reader__copy_stdin(struct reader *r)
{
	ARRAY(uint8_t) copy = { 0 };
	ssize_t nr = 1;
	int err = 0;

	while (nr && !err) {
		err = array_reserve(&copy, copy.nr + 64 * 1024);
		if (err)
			break;
		nr = read(STDIN_FILENO, copy.v + copy.nr, copy.cap - copy.nr);
		if (nr >= 0)
			copy.nr += nr;
		else if (errno != EINTR)
			err = -errno;
		/* If the stream does not start with the magic, stop reading. */
		if (copy.nr >= sizeof(XPU_FILE_MAGIC) &&
		    memcmp(copy.v, XPU_FILE_MAGIC, sizeof(XPU_FILE_MAGIC)))
			break;
	}
	if (err) {
		array_free(&copy);
		return reader__fail(r, err, "cannot be read: %s", strerror(-err));
	}
	r->base = r->copy = copy.v;
	r->size = copy.nr;
	err = reader__check_header(r);
	if (err)
		reader__close(r);
	return err;
}

int reader__open(struct reader *r, const char *path)
{
	struct stat st;
	void *base;
	int fd, err;

	memset(r, 0, sizeof(*r));
	r->name = path;
	if (!strcmp(path, "-")) {
		r->name = "standard input";
		if (fstat(STDIN_FILENO, &st) || !S_ISREG(st.st_mode))
			return reader__copy_stdin(r);
		fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
	} else {
		/* O_NONBLOCK prevents waiting on a FIFO, which is rejected below. */
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	}
	if (fd < 0) {
		err = -errno;
		return reader__fail(r, err, "cannot be opened: %s", strerror(-err));
	}
	if (fstat(fd, &st)) {
		err = reader__fail(r, -errno, "cannot be examined: %s", strerror(errno));
		goto out_close;
	}
	if (!S_ISREG(st.st_mode)) {
		err = reader__fail(r, -EINVAL, S_ISDIR(st.st_mode) ?
				   "is a directory: name the recordings in it, as in DIR/*.data" :
				   "is not a regular file");
		goto out_close;
	}
	if ((uintmax_t)st.st_size > SIZE_MAX) {
		err = reader__fail(r, -EFBIG, "is too big for this machine's address space");
		goto out_close;
	}
	r->size = st.st_size;
	if (r->size) {
		base = mmap(NULL, r->size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (base == MAP_FAILED) {
			err = reader__fail(r, -errno, "cannot be mapped: %s", strerror(errno));
			goto out_close;
		}
		r->base = base;
		r->mapped = true;
		madvise(base, r->size, MADV_SEQUENTIAL);
	}
	err = reader__check_header(r);
out_close:
	close(fd);
	return err;
}

int reader__open_mem(struct reader *r, const void *buf, size_t size, const char *name)
{
	memset(r, 0, sizeof(*r));
	r->name = name;
	if ((uintptr_t)buf % 8)
		return reader__fail(r, -EINVAL, "is not aligned to 8 bytes");
	r->base = buf;
	r->size = size;
	return reader__check_header(r);
}

void reader__close(struct reader *r)
{
	blocks__free(r->blocks);
	r->blocks = NULL;
	if (r->mapped)
		munmap((void *)r->base, r->size);
	free(r->copy);
	r->copy = NULL;
	r->base = NULL;
	r->size = 0;
	r->mapped = false;
}

void reader__rewind(const struct reader *r, struct record_iter *it)
{
	memset(it, 0, sizeof(*it));
	it->base = r->base;
	it->blocks = r->blocks;
	it->in_block = it->blocks;
	if (it->blocks) {
		blocks__start(it->blocks, r->header.header_bytes);
		return;
	}
	it->size = r->size;
	it->offset = r->header.header_bytes;
}

uint64_t reader__whole(const struct reader *r, uint64_t *nr_blocks, uint64_t *nr_launches)
{
	struct record_iter it;

	if (r->blocks)
		return blocks__whole(r->blocks, r->header.header_bytes, nr_blocks, nr_launches);
	*nr_blocks = *nr_launches = 0;
	reader__rewind(r, &it);
	while (record_iter__next(&it))
		;
	return it.offset;
}

const struct damages *reader__damages(const struct reader *r)
{
	return r->blocks ? blocks__damages(r->blocks) : NULL;
}

const void *reader__keep(const struct reader *r, const void *part, size_t bytes)
{
	return r->blocks ? blocks__keep(r->blocks, part, bytes) : part;
}

const void *reader__hold(const struct reader *r, const void *part, size_t bytes)
{
	return r->blocks ? blocks__hold(r->blocks, part, bytes) : part;
}

void reader__read_ahead(const struct reader *r)
{
	if (r->mapped)
		madvise((void *)r->base, min_t(size_t, r->size, AHEAD_BYTES), MADV_WILLNEED);
}

void reader__let_go(const struct reader *r)
{
	if (r->blocks)
		blocks__let_go(r->blocks);
	if (r->mapped)
		madvise((void *)r->base, r->size, MADV_DONTNEED);
}

void reader__release(const struct reader *r, struct record_iter *it)
{
	uint64_t upto;

	if (!r->mapped || r->blocks || it->offset < it->released + 2 * RELEASE_BYTES)
		return;
	/* Release only whole huge pages, so that no huge page is split. */
	upto = (it->offset - RELEASE_BYTES) & ~(uint64_t)(RELEASE_BYTES - 1);
	madvise((void *)(r->base + it->released), upto - it->released, MADV_DONTNEED);
	it->released = upto;
}

void record_iter__enter(struct record_iter *it, const struct record_iter *outer,
			const struct xpu_record_batch *batch)
{
	memset(it, 0, sizeof(*it));
	it->base = batch->records;
	it->size = batch->bytes;
	it->file_offset = outer->file_offset;
	if (!outer->in_block)
		it->file_offset += batch->records - outer->base;
	it->in_block = outer->in_block;
	it->nested = true;
}

/* Return: whether data[0..bytes) lies inside the record and ends with a NUL. */
static bool record__string_fits(const struct xpu_record *rec, const char *data, uint32_t bytes)
{
	size_t room = (const char *)rec + rec->size - data;

	return bytes && bytes <= room && !data[bytes - 1];
}

/* Return: whether the record contains all blocks in its bitmap. */
static bool stack__fits(const struct xpu_record_stack *s)
{
	uint64_t sp = s->regs[XPU_REG_SP];
	size_t nr = 0, words, i, there = 0;
	const uint64_t *bitmap = (const uint64_t *)s->data + s->nr_python;

	if (s->bytes > XPU_STACK_MAX || s->nr_python > XPU_MAX_PYTHON)
		return false;
	if (s->bytes)
		nr = (sp % XPU_STACK_BLOCK + s->bytes + XPU_STACK_BLOCK - 1) / XPU_STACK_BLOCK;
	words = (nr + 63) / 64;
	if ((s->hdr.size - sizeof(*s)) / sizeof(s->data[0]) < s->nr_python + words)
		return false;
	for (i = 0; i < words; i++)
		there += __builtin_popcountll(bitmap[i]);
	/* Reject a bit after the last block, which would make readers read too many blocks. */
	if (nr % 64 && bitmap[words - 1] >> nr % 64)
		return false;
	return s->hdr.size - sizeof(*s) - (s->nr_python + words) * sizeof(s->data[0]) >=
	       there * XPU_STACK_BLOCK;
}

/* Return: whether @nr elements fit after the fixed part of a record. */
static bool record__fits(const struct xpu_record *rec, size_t fixed, uint64_t nr, size_t bytes)
{
	return nr <= (rec->size - fixed) / bytes;
}

/* Return: as record__check(). */
static const char *samples__check(const struct xpu_record_samples *s)
{
	size_t bytes = sizeof(s->samples[0]);

	if (s->hdr.misc & XPU_MISC_SAMPLES_RAN)
		bytes += sizeof(__u32);
	return record__fits(&s->hdr, sizeof(*s), s->nr, bytes) ? NULL :
	       "SAMPLES with more samples than its record holds";
}

/* Return: as record__check(). */
static const char *launches__check(const struct xpu_record_launches *l)
{
	size_t bytes = sizeof(l->launches[0]);

	if (l->hdr.misc & XPU_MISC_LAUNCHES_RANGES)
		bytes += sizeof(__u32);
	return record__fits(&l->hdr, sizeof(*l), l->nr, bytes) ? NULL :
	       "LAUNCHES with more launches than its record holds";
}

/* Return: as record__check(). */
static const char *stack__check(const struct xpu_record_stack *s)
{
	return stack__fits(s) ? NULL : "STACK with more of it than its record holds";
}

/* Return: as record__check(). */
static const char *mmap__check(const struct xpu_record_mmap *map)
{
	if (!memchr(map->filename, 0, map->hdr.size - sizeof(*map)))
		return "MMAP file name without an end";
	return map->build_id_len <= XPU_BUILD_ID_LEN ? NULL : "MMAP build-id too long";
}

/* Return: the same as record__check(). */
static const char *pysource__check(const struct xpu_record_pysource *p)
{
	if (!record__fits(&p->hdr, sizeof(*p),
			  (uint64_t)p->name_bytes + p->file_bytes + p->table_bytes, 1))
		return "PYSOURCE with more text than its record holds";
	return p->name_width && p->name_width <= 4 && p->file_width && p->file_width <= 4 ? NULL :
	       "PYSOURCE with characters of no known width";
}

/* Return: as record__check(). */
static const char *range__check(const struct xpu_record_range *r)
{
	uint32_t names = sizeof(*r) + r->name_bytes + r->domain_bytes;

	if (!record__string_fits(&r->hdr, r->data, r->name_bytes) ||
	    !record__string_fits(&r->hdr, r->data + r->name_bytes, r->domain_bytes))
		return "RANGE name that does not end inside its record";
	/* A record's length is a multiple of 8. */
	return r->payload_bytes <= r->hdr.size - ((names + 7) & ~7u) ? NULL :
	       "RANGE with more payload than its record holds";
}

/* Return: as record__check(). */
static const char *metric__check(const struct xpu_record_metric *m)
{
	return record__string_fits(&m->hdr, m->data, m->name_bytes) &&
	       record__string_fits(&m->hdr, m->data + m->name_bytes, m->unit_bytes) ? NULL :
	       "METRIC name that does not end inside its record";
}

/* Return: as record__check(). */
static const char *metrics__check(const struct xpu_record_metrics *m)
{
	return record__fits(&m->hdr, sizeof(*m), m->nr_rows,
			    XPU_METRICS_ROW_WORDS(m->nr_metrics) * sizeof(m->words[0])) ? NULL :
	       "METRICS with more rows than its record holds";
}

/* Return: as record__check(). */
static const char *names__check(const struct xpu_record_names *n)
{
	if (!record__fits(&n->hdr, sizeof(*n), (uint64_t)n->path_bytes + n->bytes, 1) ||
	    n->build_id_len > XPU_BUILD_ID_LEN)
		return "NAMES with more data than its record holds";
	return !n->path_bytes || record__string_fits(&n->hdr, n->data, n->path_bytes) ? NULL :
	       "NAMES path that does not end inside its record";
}

/*
 * For each structure, these macros make a function that checks the structure's tail. The kind of
 * the tail in records.def determines the check.
 */
#define FIELD_ITEMS(nr, whose, what)						\
	record__fits(&r->hdr, sizeof(*r), r->nr, one) ? NULL :			\
	whose " with more " what " than its record holds"
#define FIELD_ROWS(row, nr, whose, what)	FIELD_ITEMS(nr, whose, what)
#define FIELD_TEXT(bytes, whose)						\
	record__string_fits(&r->hdr, (const char *)tail, r->bytes) ? NULL :	\
	whose " that does not end inside its record"
#define FIELD_TEXT_OR_NONE(bytes, whose)	!r->bytes ? NULL : FIELD_TEXT(bytes, whose)
#define FIELD_NODE_ID(whose)							\
	!(r->hdr.misc & XPU_MISC_GRAPH_NODE) ||					\
	record__fits(&r->hdr, sizeof(*r), 1, one) ? NULL :			\
	whose " without its graph node id"
#define FIELD_CHECK(check)		check(r)
#define FIELD_CHECKED(row, nr, check)	check(r)
#define FIELD_RAW			NULL

#define RECORD(NAME, nr, tag, ...)						\
	static inline const char *tag##__check(const struct tag *r)		\
	{									\
		const char *what = NULL;					\
		(void)r;
#define ALSO(...)
#define STRUCT(tag, ...)	__attribute__((unused)) RECORD(, , tag)
#define TAIL(type, name, most, kind, ...)					\
		const type *tail = r->name;					\
		const size_t one = sizeof(type);				\
		(void)tail, (void)one;						\
		what = FIELD_##kind;
#define END_RECORD								\
		return what;							\
	}
#include "records.def"

/*
 * Return: NULL if a record's counts and strings fit its size, otherwise a description of the
 * mismatch.
 */
static const char *record__check(const struct xpu_record *rec)
{
	switch (rec->type) {
#define RECORD(NAME, nr, tag, ...) case XPU_RECORD_##NAME: return tag##__check((const void *)rec);
#include "records.def"
	default:
		return NULL;
	}
}

static const struct xpu_record *record_iter__stop(struct record_iter *it, enum records_end end,
						  const char *what)
{
	it->end = end;
	it->what = what;
	return NULL;
}

/* Continues with the records of the next block, or stops. */
static void record_iter__next_block(struct record_iter *it)
{
	struct blocks *blocks = it->blocks;
	struct block block;
	int err;

	it->passed += it->size;
	it->offset = it->size = 0;
	err = blocks__next(blocks, &block);
	it->nr_damages = blocks__damages(blocks)->nr;
	if (err > 0) {
		it->base = block.records;
		it->size = block.bytes;
		it->file_offset = block.offset;
		return;
	}
	/* After the last block, offset and size refer to the whole file. */
	it->blocks = NULL;
	it->in_block = false;
	it->file_offset = 0;
	it->offset = blocks__end(blocks);
	it->size = blocks__size(blocks);
	if (err)
		record_iter__stop(it, RECORDS_NO_MEMORY, "out of memory");
	else if (blocks__is_cut(blocks))
		record_iter__stop(it, RECORDS_CUT, "block cut");
	else if (it->offset < it->size)
		record_iter__stop(it, RECORDS_CORRUPT, "no block begins here");
	else
		record_iter__stop(it, RECORDS_WHOLE, NULL);
}

/* Stops at an invalid record. Inside a block, only skips the rest of the block. */
static void record_iter__fail(struct record_iter *it, enum records_end end, const char *what)
{
	if (!it->blocks) {
		record_iter__stop(it, end, what);
		return;
	}
	blocks__damaged_inside(it->blocks, what);
	it->offset = it->size;
}

/* Return: NULL if a valid record is at the iterator's position, otherwise the error. */
static const char *record_iter__check(struct record_iter *it, const struct xpu_record *rec,
				      uint64_t left, enum records_end *end, bool *known)
{
	const enum record_where where = it->nested ? RECORD_IN_BATCH : RECORD_IN_FILE;
	const struct record_type *type = NULL;

	*end = RECORDS_CUT;
	if (left < sizeof(*rec))
		return "record header cut";
	*end = RECORDS_CORRUPT;
	if (rec->size < sizeof(*rec) || rec->size % 8)
		return "impossible record size";
	if (!rec->type)
		return "record of type 0";
	if (rec->type < XPU_RECORD_TYPES && record_types[rec->type].where == where)
		type = &record_types[rec->type];
	*known = type;
	if (type && rec->size < type->least)
		return "record too small for its type";
	if (rec->size > (type ? type->most : RECORD_MAX))
		return "record too big for its type";
	if (rec->size > left) {
		*end = RECORDS_CUT;
		return "record cut";
	}
	return type ? record__check(rec) : NULL;
}

const struct xpu_record *record_iter__next(struct record_iter *it)
{
	const struct xpu_record *rec;
	enum records_end end;
	const char *what;
	uint64_t left;
	bool known;

	while (it->end == RECORDS_MORE) {
		rec = (const void *)(it->base + it->offset);
		left = it->size - it->offset;
		if (!left && it->blocks) {
			record_iter__next_block(it);
			continue;
		}
		if (!left)
			return record_iter__stop(it, RECORDS_WHOLE, NULL);
		what = record_iter__check(it, rec, left, &end, &known);
		if (what) {
			record_iter__fail(it, end, what);
			continue;
		}
		it->offset += rec->size;
		/* Use the local variable: loading it->known would have to wait for this store. */
		it->known = known;
		if (known)
			return rec;
		it->nr_skipped++;
		if (it->unknown_too)
			return rec;
	}
	return NULL;
}

bool reader__begins_with(const struct reader *r, uint16_t type)
{
	const struct xpu_record *rec;
	struct record_iter it;
	unsigned int i;

	reader__rewind(r, &it);
	for (i = 0; i < FIRST_RECORDS && (rec = record_iter__next(&it)); i++)
		if (rec->type == type)
			return true;
	return false;
}

/* Return: the record with this file's number in the recording, or NULL. */
static const struct xpu_record_part *reader__part(const struct reader *r)
{
	const struct xpu_record *rec;
	struct record_iter it;

	reader__rewind(r, &it);
	while ((rec = record_iter__next(&it)) && rec->type == XPU_RECORD_INFO)
		;
	return rec && rec->type == XPU_RECORD_PART ? (const void *)rec : NULL;
}

const char *reader__first_name(const struct reader *r)
{
	const struct xpu_record_part *part = reader__part(r);
	size_t bytes = part ? part->hdr.size - min_t(size_t, part->hdr.size, sizeof(*part)) : 0;

	if (!bytes || !part->first_name[0] || !memchr(part->first_name, 0, bytes) ||
	    strchr(part->first_name, '/'))
		return NULL;
	return reader__keep(r, part->first_name, bytes);
}

uint64_t reader__file_number(const struct reader *r, uint64_t *recording_ns)
{
	const struct xpu_record_part *part = reader__part(r);

	*recording_ns = part ? part->first_mono_ns : r->header.start_mono_ns;
	return part ? part->number : 1;
}

size_t reader__hostname(const struct reader *r, char host[READER_HOST_MAX])
{
	const struct xpu_record_info *info;
	const struct xpu_record *rec;
	struct record_iter it;
	size_t len;

	reader__rewind(r, &it);
	while ((rec = record_iter__next(&it)) && rec->type == XPU_RECORD_INFO) {
		info = (const void *)rec;
		if (info->key != XPU_INFO_HOSTNAME)
			continue;
		len = strnlen(info->data, min_t(size_t, info->bytes, READER_HOST_MAX));
		memcpy(host, info->data, len);
		return len;
	}
	return 0;
}
