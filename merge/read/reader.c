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
#include "util.h"

/*
 * Sizes beyond these are taken for damage, not for a record that the end of the file cut: a damaged
 * size in the middle of a file must not make the rest of it look merely cut off. A fixed-size
 * record may grow in later versions.
 */
#define GROWTH_BYTES	4096u
#define RECORD_MAX	(256u << 20)

#define FIRST_RECORDS	256		/* the definitions of metrics begin among them */
#define AHEAD_BYTES	(64u << 20)	/* of the next recording */
#define RELEASE_BYTES	(8u << 20)	/* how much of the map is kept behind the walk */

struct record_type {
	uint32_t min;			/* the fixed part */
	uint32_t max;
};

#define FIXED(type)		{ sizeof(type), sizeof(type) + GROWTH_BYTES }
#define UP_TO(type, bytes)	{ sizeof(type), sizeof(type) + (bytes) + GROWTH_BYTES }

static const struct record_type file_types[] = {
	[XPU_RECORD_INFO]	  = UP_TO(struct xpu_record_info, 16u << 20),
	[XPU_RECORD_PROCESS]	  = FIXED(struct xpu_record_process),
	[XPU_RECORD_PROCESS_EXIT] = FIXED(struct xpu_record_process_exit),
	[XPU_RECORD_THREAD]	  = FIXED(struct xpu_record_thread),
	[XPU_RECORD_MMAP]	  = UP_TO(struct xpu_record_mmap, 64u << 10),
	[XPU_RECORD_COMM]	  = FIXED(struct xpu_record_comm),
	[XPU_RECORD_FORK]	  = FIXED(struct xpu_record_task),
	[XPU_RECORD_EXIT]	  = FIXED(struct xpu_record_task),
	[XPU_RECORD_CALLCHAIN]	  = UP_TO(struct xpu_record_callchain, UINT16_MAX * 8u),
	[XPU_RECORD_LAUNCHES]	  = UP_TO(struct xpu_record_launches, RECORD_MAX / 2),
	[XPU_RECORD_BATCH]	  = UP_TO(struct xpu_record_batch, RECORD_MAX / 2),
	[XPU_RECORD_LOST]	  = FIXED(struct xpu_record_lost),
	[XPU_RECORD_END]	  = FIXED(struct xpu_record_end),
	[XPU_RECORD_GRAPH_NODE]	  = FIXED(struct xpu_record_graph_node),
	[XPU_RECORD_SAMPLES]	  = UP_TO(struct xpu_record_samples, RECORD_MAX / 2),
	[XPU_RECORD_STACK]	  = UP_TO(struct xpu_record_stack, 2 * XPU_STACK_MAX),
	[XPU_RECORD_PYSOURCE]	  = UP_TO(struct xpu_record_pysource, 1u << 20),
	[XPU_RECORD_METRIC]	  = UP_TO(struct xpu_record_metric, 2 * XPU_METRIC_NAME_MAX),
	[XPU_RECORD_METRICS]	  = UP_TO(struct xpu_record_metrics, RECORD_MAX / 2),
	[XPU_RECORD_METRICS_END]  = FIXED(struct xpu_record_metrics_end),
	[XPU_RECORD_KSYM]	  = UP_TO(struct xpu_record_ksym, XPU_STRING_MAX),
	[XPU_RECORD_RANGES]	  = UP_TO(struct xpu_record_ranges, RECORD_MAX / 2),
	[XPU_RECORD_ALLOCS]	  = UP_TO(struct xpu_record_allocs, RECORD_MAX / 2),
	[XPU_RECORD_WAIT]	  = FIXED(struct xpu_record_wait),
	/* Records of version 2.9 end before first_ns. */
	[XPU_RECORD_OFF_CPU]	  = { offsetof(struct xpu_record_off_cpu, first_ns),
				      sizeof(struct xpu_record_off_cpu) + GROWTH_BYTES },
	[XPU_RECORD_OFF]	  = FIXED(struct xpu_record_off),
	[XPU_RECORD_ACCOUNT]	  = FIXED(struct xpu_record_account),
	[XPU_RECORD_CUT]	  = FIXED(struct xpu_record_cut),
	[XPU_RECORD_PART]	  = UP_TO(struct xpu_record_part, 4096),
	[XPU_RECORD_EARLIER]	  = UP_TO(struct xpu_record_launches, RECORD_MAX / 2),
	[XPU_RECORD_CARRIED]	  = FIXED(struct xpu_record_carried),
	[XPU_RECORD_PROCESS_LABEL] = UP_TO(struct xpu_record_label, XPU_LABEL_TEXT_MAX),
};

static const struct record_type batch_types[] = {
	[XPU_RECORD_STRING]	= UP_TO(struct xpu_record_string, RECORD_MAX / 2),
	[XPU_RECORD_API]	= FIXED(struct xpu_record_api),
	[XPU_RECORD_STREAM]	= FIXED(struct xpu_record_stream),
	[XPU_RECORD_KERNEL]	= FIXED(struct xpu_record_kernel),
	[XPU_RECORD_MEMCPY]	= FIXED(struct xpu_record_memory),
	[XPU_RECORD_MEMSET]	= FIXED(struct xpu_record_memory),
	/* Records of version 1.1 end before nr_calls. */
	[XPU_RECORD_COUNTERS]	= { offsetof(struct xpu_record_counters, nr_calls),
				    sizeof(struct xpu_record_counters) + GROWTH_BYTES },
	[XPU_RECORD_CALLS]	= UP_TO(struct xpu_record_calls, RECORD_MAX / 2),
	[XPU_RECORD_MESSAGE]	= UP_TO(struct xpu_record_message, RECORD_MAX / 2),
	/* Records of version 2.1 end before limits. */
	[XPU_RECORD_DEVICE]	= { offsetof(struct xpu_record_device, limits),
				    sizeof(struct xpu_record_device) + GROWTH_BYTES },
	[XPU_RECORD_SHAPE]	= FIXED(struct xpu_record_shape),
	[XPU_RECORD_STALL_REASON] = FIXED(struct xpu_record_stall_reason),
	[XPU_RECORD_STALLS]	= UP_TO(struct xpu_record_stalls, RECORD_MAX / 2),
	[XPU_RECORD_CUBIN]	= UP_TO(struct xpu_record_cubin, RECORD_MAX / 2),
	/* Records of version 2.8 end before begin_ns. */
	[XPU_RECORD_STALLS_ACCOUNT] = { offsetof(struct xpu_record_stalls_account, begin_ns),
				    sizeof(struct xpu_record_stalls_account) + GROWTH_BYTES },
	[XPU_RECORD_WINDOW]	= FIXED(struct xpu_record_window),
	[XPU_RECORD_GRAPH_CLONE] = FIXED(struct xpu_record_graph_clone),
	[XPU_RECORD_REFUSED] = FIXED(struct xpu_record_refused),
	[XPU_RECORD_PYCODE]	= FIXED(struct xpu_record_pycode),
	[XPU_RECORD_LABEL]	= UP_TO(struct xpu_record_label, XPU_LABEL_TEXT_MAX),
	[XPU_RECORD_RANGE]	= UP_TO(struct xpu_record_range,
					XPU_RANGE_NAME_MAX + XPU_RANGE_DOMAIN_MAX +
					sizeof(struct xpu_range_payload)),
};

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

/* Return: advice on how to read a file of another tool, or "". */
static const char *reader__advice(const struct reader *r)
{
	static const char sqlite[] = "SQLite format 3", perf[8] = "PERFILE2";

	if (!memcmp(r->base, sqlite, min_t(size_t, r->size, sizeof(sqlite))))
		return ": --nsys reads exports of Nsight Systems";
	if (!memcmp(r->base, perf, min_t(size_t, r->size, sizeof(perf))))
		return ": --cpu reads what perf recorded";
	if (r->base[0] == '{' || r->base[0] == '[')
		return ": --gpu reads traces in JSON";
	return "";
}

static int reader__check_header(struct reader *r)
{
	static const char magic[8] = XPU_FILE_MAGIC;
	struct xpu_file_header *h = &r->header;

	if (!r->size)
		return reader__fail(r, -EINVAL, "is empty: nothing was recorded");
	if (memcmp(r->base, magic, min_t(size_t, r->size, sizeof(magic))))
		return reader__fail(r, -EINVAL, "is not a recording of xpuload (wrong magic)%s",
				    reader__advice(r));
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
		/* A stream without the magic need not be read to its end. */
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
		/* O_NONBLOCK: a FIFO is refused below, and opening it must not wait. */
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
		err = reader__fail(r, -EINVAL, "is not a regular file");
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
	/* Release whole huge pages only, so that none is split. */
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

/* Return: whether the record has all blocks that its bitmap lists. */
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
	/* A bit beyond the last block would make readers read one more. */
	if (nr % 64 && bitmap[words - 1] >> nr % 64)
		return false;
	return s->hdr.size - sizeof(*s) - (s->nr_python + words) * sizeof(s->data[0]) >=
	       there * XPU_STACK_BLOCK;
}

/* Return: whether @nr elements fit behind the fixed part of a record. */
static bool record__fits(const struct xpu_record *rec, size_t fixed, uint64_t nr, size_t bytes)
{
	return nr <= (rec->size - fixed) / bytes;
}

static bool launches__fit(const struct xpu_record_launches *l)
{
	size_t bytes = sizeof(l->launches[0]);

	if (l->hdr.misc & XPU_MISC_LAUNCHES_RANGES)
		bytes += sizeof(__u32);
	return record__fits(&l->hdr, sizeof(*l), l->nr, bytes);
}

/* Return: as record__check(). */
static const char *mmap__check(const struct xpu_record_mmap *map)
{
	if (!memchr(map->filename, 0, map->hdr.size - sizeof(*map)))
		return "MMAP file name without an end";
	return map->build_id_len <= XPU_BUILD_ID_LEN ? NULL : "MMAP build-id too long";
}

/* Return: as record__check(). */
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
	/* Records are a multiple of 8 long. */
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
static const char *label__check(const struct xpu_record_label *l)
{
	return !l->bytes || record__string_fits(&l->hdr, l->data, l->bytes) ? NULL :
	       "LABEL that does not end inside its record";
}

/* Return: NULL if the counts and strings of a record fit its size, else what does not. */
static const char *record__check(const struct xpu_record *rec)
{
	switch (rec->type) {
	case XPU_RECORD_INFO: {
		const struct xpu_record_info *info = (const void *)rec;

		return record__fits(rec, sizeof(*info), info->bytes, 1) ? NULL :
		       "INFO data longer than its record";
	}
	case XPU_RECORD_MMAP:
		return mmap__check((const void *)rec);
	case XPU_RECORD_CALLCHAIN: {
		const struct xpu_record_callchain *chain = (const void *)rec;

		return record__fits(rec, sizeof(*chain), chain->nr_frames,
				    sizeof(chain->frames[0])) ? NULL :
		       "CALLCHAIN with more frames than its record holds";
	}
	case XPU_RECORD_LAUNCHES:
	case XPU_RECORD_EARLIER:
		return launches__fit((const void *)rec) ? NULL :
		       "LAUNCHES with more launches than its record holds";
	case XPU_RECORD_RANGES: {
		const struct xpu_record_ranges *r = (const void *)rec;

		return record__fits(rec, sizeof(*r), r->nr, sizeof(r->events[0])) ? NULL :
		       "RANGES with more events than its record holds";
	}
	case XPU_RECORD_ALLOCS: {
		const struct xpu_record_allocs *a = (const void *)rec;

		return record__fits(rec, sizeof(*a), a->nr, sizeof(a->events[0])) ? NULL :
		       "ALLOCS with more events than its record holds";
	}
	case XPU_RECORD_SAMPLES: {
		const struct xpu_record_samples *s = (const void *)rec;

		return record__fits(rec, sizeof(*s), s->nr, sizeof(s->samples[0])) ? NULL :
		       "SAMPLES with more samples than its record holds";
	}
	case XPU_RECORD_PYSOURCE:
		return pysource__check((const void *)rec);
	case XPU_RECORD_PROCESS_LABEL:
		return label__check((const void *)rec);
	case XPU_RECORD_METRIC:
		return metric__check((const void *)rec);
	case XPU_RECORD_METRICS:
		return metrics__check((const void *)rec);
	case XPU_RECORD_STACK:
		return stack__fits((const void *)rec) ? NULL :
		       "STACK with more of it than its record holds";
	case XPU_RECORD_KSYM: {
		const struct xpu_record_ksym *k = (const void *)rec;

		return record__string_fits(rec, k->name, k->bytes) ? NULL :
		       "KSYM name that does not end inside its record";
	}
	case XPU_RECORD_BATCH: {
		const struct xpu_record_batch *batch = (const void *)rec;

		return record__fits(rec, sizeof(*batch), batch->bytes, 1) ? NULL :
		       "BATCH with more bytes than its record holds";
	}
	default:
		return NULL;
	}
}

/*
 * Return: NULL if the counts and strings of a record inside a batch fit its size, else what does
 * not.
 */
static const char *record__check_nested(const struct xpu_record *rec)
{
	switch (rec->type) {
	case XPU_RECORD_STRING: {
		const struct xpu_record_string *s = (const void *)rec;

		return record__string_fits(rec, s->data, s->bytes) ? NULL :
		       "STRING that does not end inside its record";
	}
	case XPU_RECORD_MESSAGE: {
		const struct xpu_record_message *m = (const void *)rec;

		return record__string_fits(rec, m->data, m->bytes) ? NULL :
		       "MESSAGE that does not end inside its record";
	}
	case XPU_RECORD_RANGE:
		return range__check((const void *)rec);
	case XPU_RECORD_CALLS: {
		const struct xpu_record_calls *c = (const void *)rec;

		return record__fits(rec, sizeof(*c), c->nr, sizeof(c->calls[0])) ? NULL :
		       "CALLS with more calls than its record holds";
	}
	case XPU_RECORD_CUBIN: {
		const struct xpu_record_cubin *c = (const void *)rec;

		return record__fits(rec, sizeof(*c), c->bytes, 1) ? NULL :
		       "CUBIN with more bytes than its record holds";
	}
	case XPU_RECORD_STALLS: {
		const struct xpu_record_stalls *s = (const void *)rec;

		return record__fits(rec, sizeof(*s), s->nr, sizeof(s->stalls[0])) ? NULL :
		       "STALLS with more of them than its record holds";
	}
	case XPU_RECORD_LABEL:
		return label__check((const void *)rec);
	case XPU_RECORD_KERNEL:
		return rec->misc & XPU_MISC_GRAPH_NODE &&
		       !record__fits(rec, sizeof(struct xpu_record_kernel), 1, sizeof(__u64)) ?
		       "KERNEL without its graph node id" : NULL;
	case XPU_RECORD_MEMCPY:
	case XPU_RECORD_MEMSET:
		return rec->misc & XPU_MISC_GRAPH_NODE &&
		       !record__fits(rec, sizeof(struct xpu_record_memory), 1, sizeof(__u64)) ?
		       "MEMCPY or MEMSET without its graph node id" : NULL;
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

/* Goes on to the records of the next block, or stops. */
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
	/* After the last block, the rest of the file counts as bytes. */
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

/* Stops at an invalid record; inside a block, only the block ends. */
static void record_iter__fail(struct record_iter *it, enum records_end end, const char *what)
{
	if (!it->blocks) {
		record_iter__stop(it, end, what);
		return;
	}
	blocks__damaged_inside(it->blocks, what);
	it->offset = it->size;
}

/* Return: NULL if there is a valid record at the walk's place, else the error. */
static const char *record_iter__check(struct record_iter *it, const struct xpu_record *rec,
				      uint64_t left, enum records_end *end, bool *known)
{
	const struct record_type *types = it->nested ? batch_types : file_types;
	size_t nr_types = it->nested ? ARRAY_SIZE(batch_types) : ARRAY_SIZE(file_types);
	uint32_t max = RECORD_MAX;

	*end = RECORDS_CUT;
	if (left < sizeof(*rec))
		return "record header cut";
	*end = RECORDS_CORRUPT;
	if (rec->size < sizeof(*rec) || rec->size % 8)
		return "impossible record size";
	if (!rec->type)
		return "record of type 0";
	*known = rec->type < nr_types && types[rec->type].min;
	if (*known) {
		max = types[rec->type].max;
		if (rec->size < types[rec->type].min)
			return "record too small for its type";
	}
	if (rec->size > max)
		return "record too big for its type";
	if (rec->size > left) {
		*end = RECORDS_CUT;
		return "record cut";
	}
	if (!*known)
		return NULL;
	return it->nested ? record__check_nested(rec) : record__check(rec);
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
		/* To load known from @it here, with unknown_too, would wait for this store. */
		it->known = known;
		if (known)
			return rec;
		it->nr_skipped++;
		if (it->unknown_too)
			return rec;
	}
	return NULL;
}

bool reader__has_metrics(const struct reader *r)
{
	const struct xpu_record *rec;
	struct record_iter it;
	unsigned int i;

	reader__rewind(r, &it);
	for (i = 0; i < FIRST_RECORDS && (rec = record_iter__next(&it)); i++)
		if (rec->type == XPU_RECORD_METRIC)
			return true;
	return false;
}

/* Return: the record that says which file of a recording this is, or NULL. */
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
