// SPDX-License-Identifier: GPL-3.0-or-later
/* The reader: which files it refuses, where a walk ends, and which records it never returns. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "gen.h"
#include "read/reader.h"
#include "tap.h"

static struct xpu_file_header *header(struct gen *g)
{
	return (void *)g->v;
}

static int open_gen(struct reader *r, const struct gen *g)
{
	return reader__open_mem(r, g->v, g->nr, "test");
}

static void refused(struct gen *g, int err, const char *word, const char *name)
{
	struct reader r;

	is_int(open_gen(&r, g), err, "%s: the file is refused", name);
	if (!ok(strstr(r.error, word), "%s: the message contains '%s'", name, word))
		diag("said: %s", r.error);
	gen__free(g);
}

static void test_header(void)
{
	struct gen g = { 0 };
	struct reader r;

	gen__bytes(&g, "", 0);
	refused(&g, -EINVAL, "empty", "empty file");
	gen__header(&g);
	g.nr = 63;
	refused(&g, -EINVAL, "too short", "header cut by a byte");
	gen__bytes(&g, "XPU", 3);
	refused(&g, -EINVAL, "too short", "three bytes of magic");
	gen__bytes(&g, "PERFILE2........", 16);
	refused(&g, -EINVAL, "magic", "a file of perf");
	gen__header(&g);
	header(&g)->endian = __builtin_bswap32(XPU_FILE_ENDIAN);
	refused(&g, -EPROTO, "endian", "other endianness");
	gen__header(&g);
	header(&g)->endian = 7;
	refused(&g, -EINVAL, "damaged", "no endianness");
	gen__header(&g);
	header(&g)->version_major = XPU_VERSION_MAJOR + 1;
	refused(&g, -EPROTO, "newer", "newer major version");
	gen__header(&g);
	header(&g)->version_major = 0;
	refused(&g, -EINVAL, "damaged", "version 0");
	gen__header(&g);
	header(&g)->header_bytes = 60;
	refused(&g, -EINVAL, "damaged", "header too small");
	gen__header(&g);
	header(&g)->header_bytes = 68;
	refused(&g, -EINVAL, "damaged", "header not a multiple of 8");
	gen__header(&g);
	header(&g)->header_bytes = 72;
	refused(&g, -EINVAL, "too short", "header beyond the end");
	gen__header(&g);
	header(&g)->header_bytes = 0xfffffff8;
	refused(&g, -EINVAL, "too short", "huge header");

	/* The longer header of a later minor version is skipped. */
	gen__header(&g);
	header(&g)->version_minor = 99;
	header(&g)->header_bytes = 72;
	gen__bytes(&g, "\xff\xff\xff\xff\xff\xff\xff\xff", 8);
	gen__end(&g, 1, 0);
	if (is_int(open_gen(&r, &g), 0, "newer minor version: the file is read")) {
		struct record_iter it;
		const struct xpu_record *rec;

		reader__rewind(&r, &it);
		rec = record_iter__next(&it);
		ok(rec && rec->type == XPU_RECORD_END, "newer minor version: its records are read");
	}
	gen__free(&g);

	gen__header(&g);
	is_int(reader__open_mem(&r, g.v + 4, g.nr - 4, "test"), -EINVAL,
	       "unaligned memory is refused");
	gen__free(&g);
}

static void test_files(void)
{
	struct gen g = { 0 };
	struct reader r;

	is_int(reader__open(&r, "no/such/file"), -ENOENT, "a missing file is refused");
	ok(strstr(r.error, "No such file"), "a missing file: the message says that it is missing");
	is_int(reader__open(&r, "."), -EINVAL, "a directory is refused");
	ok(strstr(r.error, "is a directory"),
	   "a directory: the message says that the file is a directory");
	is_int(reader__open(&r, "/dev/zero"), -EINVAL, "a device is refused");
	is_int(mkfifo("fifo", 0600), 0, "a FIFO is made");
	is_int(reader__open(&r, "fifo"), -EINVAL, "a FIFO is refused without waiting for it");
	gen__header(&g);
	gen__end(&g, 1, 0);
	is_int(gen__save(&g, "a.data"), 0, "a recording is saved");
	is_int(reader__open(&r, "a.data"), 0, "a recording is opened");
	is_int(r.size, g.nr, "an opened recording has the size of its file");
	reader__close(&r);
	reader__close(&r);
	gen__free(&g);
}

/* Walks @g. Return: the number of records; @it says how the walk ended. */
static int walk(const struct gen *g, struct record_iter *it, uint16_t *last_type)
{
	const struct xpu_record *rec;
	struct reader r;
	int nr = 0;

	*last_type = 0;
	memset(it, 0, sizeof(*it));
	if (open_gen(&r, g))
		return -1;
	reader__rewind(&r, it);
	for (; (rec = record_iter__next(it)); nr++)
		*last_type = rec->type;
	ok(!record_iter__next(it), "a walk that has ended returns no more records");
	return nr;
}

/*
 * The caller has damaged the last record of @g: the walk must return the previous record, but not
 * the damaged record.
 */
static void ends(struct gen *g, enum records_end end, const char *name)
{
	struct record_iter it;
	uint16_t type;

	is_int(walk(g, &it, &type), 1, "%s: earlier records are read", name);
	is_int(it.end, end, "%s: the walk ends as expected", name);
	is_int(it.offset, sizeof(struct xpu_file_header) + sizeof(struct xpu_record_end),
	       "%s: the walk ends at the damaged record", name);
	ok(it.what != NULL, "%s: says what is wrong: %s", name, it.what ? it.what : "");
	gen__free(g);
}

static void begin(struct gen *g)
{
	gen__free(g);
	gen__header(g);
	gen__end(g, 1, 0);
}

/* The record that was appended last; valid until another record is appended. */
#define LAST(g, type) ((type *)((g)->v + sizeof(struct xpu_file_header) + \
				sizeof(struct xpu_record_end)))

static void test_damage(void)
{
	static const uint64_t frames[2] = { 1, 2 };
	static const struct xpu_launch launches[2];
	static const struct xpu_sample samples[2];
	static const struct xpu_range_event events[2];
	static const uint32_t range_ids[2];
	static const uint64_t regs[XPU_NR_REGS], stack[16];
	struct gen g = { 0 };

	begin(&g);
	gen__end(&g, 2, 0);
	LAST(&g, struct xpu_record)->size = 0;
	ends(&g, RECORDS_CORRUPT, "size 0");
	begin(&g);
	gen__end(&g, 2, 0);
	LAST(&g, struct xpu_record)->size = 25;
	ends(&g, RECORDS_CORRUPT, "size not a multiple of 8");
	begin(&g);
	gen__end(&g, 2, 0);
	LAST(&g, struct xpu_record)->type = 0;
	ends(&g, RECORDS_CORRUPT, "type 0");
	begin(&g);
	gen__end(&g, 2, 0);
	LAST(&g, struct xpu_record)->size = 16;
	ends(&g, RECORDS_CORRUPT, "too small for its type");
	begin(&g);
	gen__end(&g, 2, 0);
	LAST(&g, struct xpu_record)->size = 32;
	ends(&g, RECORDS_CUT, "one word beyond the end");
	begin(&g);
	gen__end(&g, 2, 0);
	LAST(&g, struct xpu_record)->size = 0xfffffff8;
	ends(&g, RECORDS_CORRUPT, "a size that no END ever has");
	begin(&g);
	gen__end(&g, 2, 0);
	LAST(&g, struct xpu_record)->type = 9999;
	LAST(&g, struct xpu_record)->size = 0xfffffff8;
	ends(&g, RECORDS_CORRUPT, "a size that no record ever has");

	begin(&g);
	gen__info(&g, XPU_INFO_HOSTNAME, "host", 4);
	LAST(&g, struct xpu_record_info)->bytes = 9;
	ends(&g, RECORDS_CORRUPT, "INFO too long");
	begin(&g);
	gen__mmap(&g, 1, 1, 0, 0, 0, "1234567", NULL, 0);
	LAST(&g, struct xpu_record_mmap)->filename[7] = 'x';
	ends(&g, RECORDS_CORRUPT, "MMAP name without NUL");
	begin(&g);
	gen__mmap(&g, 1, 1, 0, 0, 0, "/x", "1234567890", 10);
	LAST(&g, struct xpu_record_mmap)->build_id_len = XPU_BUILD_ID_LEN + 1;
	ends(&g, RECORDS_CORRUPT, "MMAP build-id too long");
	begin(&g);
	gen__callchain(&g, 0, 1, 1, 1, 1, 1, frames, 2);
	LAST(&g, struct xpu_record_callchain)->nr_frames = 3;
	ends(&g, RECORDS_CORRUPT, "CALLCHAIN with a frame too many");
	begin(&g);
	gen__launches(&g, 1, launches, 2);
	LAST(&g, struct xpu_record_launches)->nr = 3;
	ends(&g, RECORDS_CORRUPT, "LAUNCHES with one launch too many");
	begin(&g);
	gen__launches_in(&g, 1, launches, range_ids, 2);
	LAST(&g, struct xpu_record_launches)->nr = 3;
	ends(&g, RECORDS_CORRUPT, "LAUNCHES with fewer ranges than launches");
	begin(&g);
	gen__ranges(&g, 1, events, 2);
	LAST(&g, struct xpu_record_ranges)->nr = 3;
	ends(&g, RECORDS_CORRUPT, "RANGES with one event too many");
	begin(&g);
	gen__samples(&g, 1, 1, samples, 2);
	LAST(&g, struct xpu_record_samples)->nr = 3;
	ends(&g, RECORDS_CORRUPT, "SAMPLES with one sample too many");
	begin(&g);
	gen__samples_ran(&g, 1, 1, samples, (const uint32_t[]){ 1, 1 }, 2);
	LAST(&g, struct xpu_record_samples)->nr = 3;
	ends(&g, RECORDS_CORRUPT, "SAMPLES with fewer times than samples");
	begin(&g);
	gen__stack(&g, 0, 1, 0, 1, 1, regs, stack, sizeof(stack), 0);
	LAST(&g, struct xpu_record_stack)->bytes = XPU_STACK_MAX + 1;
	ends(&g, RECORDS_CORRUPT, "STACK with more bytes than a stack can have");
	begin(&g);
	gen__stack(&g, XPU_MISC_STACK_DELTA, 1, 0, 1, 1, regs, stack, sizeof(stack), 1);
	LAST(&g, struct xpu_record_stack)->data[0] = 3;
	ends(&g, RECORDS_CORRUPT, "STACK with one block less than its count");
	begin(&g);
	gen__stack(&g, XPU_MISC_STACK_DELTA, 1, 0, 1, 1, regs, stack, sizeof(stack), 1);
	LAST(&g, struct xpu_record_stack)->data[0] = 4;
	ends(&g, RECORDS_CORRUPT, "STACK with a block beyond its end");
	begin(&g);
	gen__stack(&g, 0, 1, 0, 1, 1, regs, stack, sizeof(stack), 0);
	LAST(&g, struct xpu_record_stack)->nr_python = XPU_MAX_PYTHON;
	ends(&g, RECORDS_CORRUPT, "STACK with more Python frames than its record holds");
	begin(&g);
	gen__pysource(&g, 1, 12, "name", "file", 1, "table", 5);
	LAST(&g, struct xpu_record_pysource)->table_bytes = 12;
	ends(&g, RECORDS_CORRUPT, "PYSOURCE with a table that is longer than the record");
	begin(&g);
	gen__pysource(&g, 1, 12, "name", "file", 1, "table", 5);
	LAST(&g, struct xpu_record_pysource)->name_width = 0;
	ends(&g, RECORDS_CORRUPT, "PYSOURCE with characters of no bytes");
	begin(&g);
	gen__ksym(&g, 1, 2, "1234567");
	LAST(&g, struct xpu_record_ksym)->bytes = 7;
	ends(&g, RECORDS_CORRUPT, "KSYM without an end");
	begin(&g);
	gen__launches(&g, 1, launches, 2);
	/*
	 * 0x10000002 * 16 is 32 in 32-bit arithmetic, so the reader must divide instead of
	 * multiplying.
	 */
	LAST(&g, struct xpu_record_launches)->nr = 0x10000002;
	ends(&g, RECORDS_CORRUPT, "LAUNCHES with a count that overflows");
	begin(&g);
	gen__batch_begin(&g, 1, 1, 1);
	gen__batch_end(&g);
	LAST(&g, struct xpu_record_batch)->bytes = 1;
	ends(&g, RECORDS_CORRUPT, "BATCH with a byte too many");
	gen__free(&g);
}

static int walk_batch(const struct gen *g, struct record_iter *it)
{
	const struct xpu_record *rec;
	struct record_iter outer;
	struct reader r;
	int nr = 0;

	memset(it, 0, sizeof(*it));
	if (open_gen(&r, g))
		return -1;
	reader__rewind(&r, &outer);
	record_iter__next(&outer);
	rec = record_iter__next(&outer);
	if (!rec || rec->type != XPU_RECORD_BATCH)
		return -1;
	record_iter__enter(it, &outer, (const void *)rec);
	while ((rec = record_iter__next(it)))
		nr++;
	ok((rec = record_iter__next(&outer)) && rec->type == XPU_RECORD_END,
	   "after a batch the walk of the file finds the next record");
	return nr;
}

static void test_batch(void)
{
	static const struct xpu_call calls[2];
	struct xpu_record_string *s;
	struct xpu_record_kernel *k;
	struct xpu_record_memory *m;
	struct gen g = { 0 };
	struct record_iter it;
	size_t at;
	int i;

	for (i = 0; i < 7; i++) {
		static const char *const names[] = {
			"whole", "padded", "STRING without NUL", "STRING of length 0",
			"KERNEL without node", "MEMSET without node", "cut inside",
		};
		static const int nr[] = { 4, 4, 0, 0, 1, 2, 3 };

		begin(&g);
		gen__batch_begin(&g, 1, 1, 1);
		at = g.nr;
		gen__string(&g, 1, "abc");		/* 16 bytes and 4 bytes, padded to 24 */
		s = (void *)(g.v + at);
		if (i == 2)
			s->data[3] = 'd';
		if (i == 3)
			s->bytes = 0;
		at = g.nr;
		gen__kernel(&g, 0, 1, 1, 1, 1, 1);
		k = (void *)(g.v + at);
		if (i == 4)
			k->hdr.misc = XPU_MISC_GRAPH_NODE;
		at = g.nr;
		gen__memset(&g, 0, 1, 1, 1, 1, 1);
		m = (void *)(g.v + at);
		if (i == 5)
			m->hdr.misc = XPU_MISC_GRAPH_NODE;
		gen__kernel(&g, XPU_MISC_GRAPH_NODE, 1, 1, 1, 1, 1);
		at = g.batch;
		gen__batch_end(&g);
		if (i == 1) {
			/*
			 * The record has more room than the bytes need: the rest is padding, even
			 * if it is not 0.
			 */
			gen__bytes(&g, "\xff\xff\xff\xff\xff\xff\xff\xff", 8);
			((struct xpu_record *)(g.v + at))->size += 8;
		}
		if (i == 6)
			((struct xpu_record_batch *)(g.v + at))->bytes -= 8;
		gen__end(&g, 3, 0);
		is_int(walk_batch(&g, &it), nr[i], "batch, %s: its records are read", names[i]);
		is_int(it.end, i < 2 ? RECORDS_WHOLE : i < 6 ? RECORDS_CORRUPT : RECORDS_CUT,
		       "batch, %s: the walk ends as expected", names[i]);
	}
	begin(&g);
	gen__batch_begin(&g, 1, 1, 1);
	gen__string(&g, 1, "abc");
	gen__batch_end(&g);
	gen__end(&g, 3, 0);
	LAST(&g, struct xpu_record_batch)->records[4] = 4;
	walk_batch(&g, &it);
	is_int(record_iter__file_offset(&it), 64 + 24 + 32,
	       "damage in a batch is found at its offset");
	for (i = 0; i < 3; i++) {
		begin(&g);
		gen__batch_begin(&g, 1, 1, 1);
		at = g.nr;
		gen__calls(&g, 1, 1, calls, 2);
		((struct xpu_record_calls *)(g.v + at))->nr += i;
		gen__batch_end(&g);
		gen__end(&g, 3, 0);
		is_int(walk_batch(&g, &it), !i, "CALLS that claims %d calls too many", i);
		is_int(it.end, i ? RECORDS_CORRUPT : RECORDS_WHOLE,
		       "CALLS: the walk ends as expected");
	}
	for (i = 0; i < 3; i++) {
		struct xpu_record_range *range;

		begin(&g);
		gen__range(&g, 1, 1, 1, 0, "domain", "1234567");
		range = (void *)LAST(&g, struct xpu_record_batch)->records;
		range->name_bytes -= i == 1;
		range->domain_bytes += 2 * (i == 2);
		gen__end(&g, 3, 0);
		is_int(walk_batch(&g, &it), !i, "RANGE, %s", i ? "with an odd name" : "whole");
		is_int(it.end, i ? RECORDS_CORRUPT : RECORDS_WHOLE,
		       "RANGE: the walk ends as expected");
	}
	for (i = 0; i < 3; i++) {
		static const struct xpu_range_payload payload = { .comm = 1, .fields = 1 };
		struct xpu_record_range *range;

		begin(&g);
		gen__nccl_range(&g, 1, 1, 1, 0, "ncclAllReduce", &payload);
		range = (void *)LAST(&g, struct xpu_record_batch)->records;
		range->payload_bytes = i == 1 ? sizeof(payload) + 1 : i == 2 ? UINT32_MAX :
				       sizeof(payload);
		gen__end(&g, 1, 0);
		is_int(walk_batch(&g, &it), !i, "RANGE, %s",
		       i ? "with a longer payload" : "with the right payload");
		is_int(it.end, i ? RECORDS_CORRUPT : RECORDS_WHOLE,
		       "RANGE with a payload: the walk ends as expected");
	}
	gen__free(&g);
}

static void test_unknown(void)
{
	struct xpu_record unknown = { .type = 0 };
	struct record_iter it;
	struct gen g = { 0 };
	uint16_t type;

	begin(&g);
	gen__record(&g, 30000, 1, &unknown, sizeof(unknown), "future", 6);
	/* Record types of the ring buffer and of batches are invalid at this level. */
	gen__record(&g, XPU_RECORD_LAUNCH, 0, &unknown, sizeof(unknown), NULL, 0);
	gen__kernel(&g, 0, 1, 1, 1, 1, 1);
	gen__thread(&g, 1, 1, 1);
	is_int(walk(&g, &it, &type), 2, "unknown types are skipped");
	is_int(it.nr_skipped, 3, "unknown types are counted");
	is_int(it.end, RECORDS_WHOLE, "unknown types are not damage");
	is_int(type, XPU_RECORD_THREAD, "records after unknown types are read");
	gen__free(&g);
}

/* Tests records that a later version made longer: the known members are read. */
static void test_growth(void)
{
	struct xpu_record_thread t = { .thread_id = 5, .proc_id = 6, .tid = 7 };
	struct record_iter it;
	struct gen g = { 0 };
	uint16_t type;

	begin(&g);
	gen__record(&g, XPU_RECORD_THREAD, 0, &t, sizeof(t), "more and more of it", 19);
	is_int(walk(&g, &it, &type), 2, "a longer THREAD is read");
	is_int(it.end, RECORDS_WHOLE, "a longer THREAD is not damage");
	gen__free(&g);
}

/*
 * Tests files that are cut anywhere: the walk ends after the last whole record, and reports no
 * damage.
 */
static void test_cut(void)
{
	size_t ends_at[8], nr_ends = 0, len, whole;
	struct gen g = { 0 }, cut;
	struct record_iter it;
	struct reader r;
	bool right = true;

	gen__header(&g);
	ends_at[nr_ends++] = g.nr;
	gen__process(&g, 1, 1, 1, 1, 0, "app");
	ends_at[nr_ends++] = g.nr;
	gen__launch(&g, 1, 1, 1, 1);
	ends_at[nr_ends++] = g.nr;
	gen__batch_begin(&g, 1, 1, 1);
	gen__string(&g, 1, "name");
	gen__batch_end(&g);
	ends_at[nr_ends++] = g.nr;
	gen__end(&g, 1, 0);
	ends_at[nr_ends++] = g.nr;
	for (len = sizeof(struct xpu_file_header); len <= g.nr; len++) {
		/* Allocate exactly the cut size, so that sanitizers see a read beyond the end. */
		cut = (struct gen){ 0 };
		gen__bytes(&cut, g.v, len);
		cut.v = realloc(cut.v, len);
		for (whole = 0; whole + 1 < nr_ends && ends_at[whole + 1] <= len; whole++)
			;
		if (reader__open_mem(&r, cut.v, len, "test")) {
			right = false;
		} else {
			reader__rewind(&r, &it);
			while (record_iter__next(&it))
				;
			right &= it.offset == ends_at[whole];
			right &= it.end == (len == ends_at[whole] ? RECORDS_WHOLE : RECORDS_CUT);
		}
		gen__free(&cut);
	}
	ok(right,
	   "a file cut at each of %zu bytes: the walk ends with the last complete record", g.nr);
	gen__free(&g);
}

int main(void)
{
	test_header();
	test_files();
	test_damage();
	test_batch();
	test_unknown();
	test_growth();
	test_cut();
	return done_testing();
}
