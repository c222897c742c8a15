// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Incomplete recordings: cut at each byte, damaged at random, or noise. xpumerge must never crash,
 * must set the right exit status, and must count the records before the end.
 */
#include <errno.h>
#include <stdint.h>

#include "gen.h"
#include "gen_merge.h"
#include "tap.h"

static const uint8_t uuid[16] = { 7 };

/*
 * Makes a recording with each record type, 6 launches and 8 device records. The files that the
 * process maps do not exist, so there are no symbols.
 */
static void story(struct gen *g)
{
	static const uint64_t frames[] = { 0x2010, 0x1010, 0x1110, 0x1210 };
	static const char cmdline[] = "./app\0-v";
	struct xpu_record_counters c = { .nr_batches = 1, .nr_launches = 6 };
	struct xpu_launch launches[] = {
		{ 1, 1, 0, 1 }, { 2, 2, 10, 2 }, { 3, 1, -5, 1 }, { 4, 3, 30, 2 },
	};

	gen__header(g);
	gen__info(g, XPU_INFO_CMDLINE, cmdline, sizeof(cmdline));
	gen__fork(g, 100, 10, 10, 1, 1);
	gen__comm(g, XPU_MISC_COMM_EXEC, 110, 10, 10, "app");
	gen__process(g, XPU_MISC_PROCESS_ROOT, 105, 1, 10, 0, "app");
	gen__mmap(g, 120, 10, 0x1000, 0x1000, 0, "/nonexistent/app", NULL, 0);
	gen__mmap(g, 121, 10, 0x2000, 0x1000, 0, "/nonexistent/libxpushim.so", uuid, 16);
	gen__thread(g, 1, 1, 10);
	gen__thread(g, 2, 1, 11);
	gen__callchain(g, 0, 200, 1, 1, 1, 307, frames, 4);
	gen__callchain(g, XPU_CHAIN_SHIM | XPU_CHAIN_TRUNCATED, 200, 2, 1, 1, 307, frames + 1, 3);
	gen__callchain(g, XPU_CHAIN_FAILED, 200, 3, 1, 1, 514, NULL, 0);
	gen__launches(g, 1000, launches, 4);
	gen__batch_begin(g, 1500, 1, 12);
	gen__counters(g, &c);
	gen__string(g, 1, "cuLaunchKernel");
	gen__api(g, 1, 307, 1);
	gen__string(g, 2, "cuGraphLaunch");
	gen__api(g, 1, 514, 2);
	gen__string(g, 3, "_Z6kernelPf");
	gen__string(g, 4, "GPU");
	gen__device(g, 0, 4, uuid);
	gen__stream(g, 1, 0, 1, 7);
	gen__kernel(g, 0, 1100, 50, 1, 3, 1);
	gen__kernel(g, 0, 1120, 50, 2, 3, 1);
	gen__memcpy(g, 0, 1200, 20, 3, 1, 4096, 1);
	gen__kernel(g, XPU_MISC_GRAPH_NODE, 1300, 10, 4, 3, 1);
	gen__memset(g, XPU_MISC_GRAPH_NODE, 1310, 10, 4, 1, 64);
	gen__message(g, XPU_MESSAGE_WARNING, "a warning");
	gen__batch_end(g);
	gen__launch(g, 2000, 5, 1, 1);
	gen__batch_begin(g, 2500, 1, 12);
	gen__kernel(g, XPU_MISC_BAD_TIME, 0, 0, 5, 3, 1);
	gen__kernel(g, 0, 2300, 5, 99, 3, 1);
	gen__batch_end(g);
	gen__launch(g, 2600, 6, 1, 1);
	gen__lost(g, 2700, XPU_LOST_LAUNCH, 3);
	gen__process_exit(g, 2800, 1, 10, 0);
	gen__end(g, 3000, 0);
}

/* Sets @ends to the offsets where records of the file end, in order. */
static size_t record_ends(const struct gen *g, size_t *ends, size_t max)
{
	size_t nr = 0, at = sizeof(struct xpu_file_header);

	for (; nr < max; at += ((const struct xpu_record *)(g->v + at))->size) {
		ends[nr++] = at;
		if (at >= g->nr)
			break;
	}
	return nr;
}

static void test_whole(const struct gen *g)
{
	struct merged m;

	merged__run(&m, g->v, g->nr, "story", &(struct merge_opts){ 0 });
	is_int(m.status, 0, "whole: no damage");
	is_int(m.loss.nr_launches, 6, "whole: 6 launches");
	is_int(m.loss.nr_matched, 5, "whole: 5 launches are matched");
	is_int(m.loss.nr_pending, 1, "whole: one launch is pending");
	is_int(m.loss.nr_orphans, 1, "whole: one record is an orphan");
	is_int(m.loss.nr_works, 7, "whole: 7 device records");
	is_int(m.loss.bad_times, 1, "whole: one record has no times");
	is_int(m.loss.bad_refs, 0, "whole: all references are resolved");
	is_int(m.loss.not_closed, 0, "whole: the recording is closed");
	is_str(merged__broken(&m), NULL, "whole: the sums are consistent");
	merged__free(&m);
}

static void test_cut(const struct gen *g)
{
	size_t ends[64], nr_ends = record_ends(g, ends, 64), len, whole;
	uint64_t matched = 0;
	bool status_right = true, cut_right = true, monotone = true, closed_right = true;
	const char *broken = NULL;
	struct merged m;
	char *copy;

	ok(nr_ends > 15 && ends[nr_ends - 1] == g->nr,
	   "the recording has %zu records to cut at", nr_ends - 1);
	for (len = 0; len <= g->nr; len++) {
		copy = malloc(len ? len : 1);
		memcpy(copy, g->v, len);
		merged__run(&m, copy, len, "cut", &(struct merge_opts){ 0 });
		for (whole = 0; whole + 1 < nr_ends && ends[whole + 1] <= len; whole++)
			;
		if (len < sizeof(struct xpu_file_header)) {
			status_right &= m.open_err == -EINVAL;
		} else {
			status_right &= !m.open_err && !m.status;
			cut_right &= m.loss.cut_bytes == len - ends[whole];
			closed_right &= m.loss.not_closed == (len < g->nr);
			monotone &= m.loss.nr_matched >= matched;
			matched = m.loss.nr_matched;
		}
		if (!broken)
			broken = merged__broken(&m);
		merged__free(&m);
		free(copy);
	}
	ok(status_right,
	   "cut at each of %zu bytes: a cut header is refused, no cut counts as damage",
	   g->nr);
	ok(cut_right, "cut: all bytes after the last complete record are ignored");
	ok(closed_right, "cut: the recording is not closed");
	ok(monotone, "cut: a later cut leaves at least as many matched launches");
	is_str(broken, NULL, "cut: the sums are consistent");
}

/*
 * Tests a damaged record in the middle: the records before the damage are counted, and the status
 * reports the damage.
 */
static void test_damaged(const struct gen *g)
{
	size_t ends[64], nr_ends = record_ends(g, ends, 64), i;
	bool status_right = true, ignored_right = true;
	const char *broken = NULL;
	struct xpu_record *rec, old;
	struct merged m;

	for (i = 0; i + 1 < nr_ends; i++) {
		rec = (void *)(g->v + ends[i]);
		old = *rec;
		rec->size = i % 2 ? 0 : old.size + 4;
		merged__run(&m, g->v, g->nr, "damaged", &(struct merge_opts){ 0 });
		status_right &= m.status == -EBADMSG;
		ignored_right &= m.loss.corrupt_bytes == g->nr - ends[i];
		if (!broken)
			broken = merged__broken(&m);
		*rec = old;
		merged__free(&m);
	}
	ok(status_right, "damaged at each of %zu records: the status reports damage", nr_ends - 1);
	ok(ignored_right, "damaged: records behind the damage are ignored");
	is_str(broken, NULL, "damaged: the sums are consistent");
}

static void test_random(const struct gen *g)
{
	const char *broken = NULL;
	unsigned int seed = 42;
	struct merged m;
	uint8_t *copy = malloc(g->nr);
	size_t i, k;
	int nr_damaged = 0;

	for (i = 0; i < 20000 && !broken; i++) {
		memcpy(copy, g->v, g->nr);
		for (k = 0; k < 1 + i % 8; k++)
			copy[rand_r(&seed) % g->nr] = rand_r(&seed) % 4 ? rand_r(&seed) : 0xff;
		merged__run(&m, copy, g->nr, "random", &(struct merge_opts){ 0 });
		nr_damaged += !!m.status;
		broken = merged__broken(&m);
		merged__free(&m);
	}
	is_str(broken, NULL, "20000 random changes of bytes: the sums are consistent");
	ok(nr_damaged > 1000, "many of the random changes are noticed as damage: %d", nr_damaged);

	for (i = 0; i < 2000 && !broken; i++) {
		for (k = sizeof(struct xpu_file_header); k < g->nr; k++)
			copy[k] = rand_r(&seed) % 3 ? rand_r(&seed) % 16 : rand_r(&seed);
		memcpy(copy, g->v, sizeof(struct xpu_file_header));
		merged__run(&m, copy, g->nr, "noise", &(struct merge_opts){ 0 });
		broken = merged__broken(&m);
		merged__free(&m);
	}
	is_str(broken, NULL, "noise after a valid header, 2000 times: the sums are consistent");
	free(copy);
}

/* Tests counts that would need more memory than the machine has, if xpumerge believed them. */
static void test_huge(void)
{
	static const uint32_t huge[] = { 0x7fffffff, 0x80000000, 0xfffffff0, 0xffffffff };
	struct merged m;
	struct gen g = { 0 };
	size_t i, at;

	for (i = 0; i < sizeof(huge) / sizeof(huge[0]); i++) {
		gen__header(&g);
		at = g.nr;
		gen__launch(&g, 1, 1, 1, 1);
		((struct xpu_record_launches *)(g.v + at))->nr = huge[i];
		merged__run(&m, g.v, g.nr, "huge", &(struct merge_opts){ 0 });
		is_int(m.status, -EBADMSG,
		       "%u launches in 40 bytes: the status reports damage", huge[i]);
		merged__free(&m);
		gen__free(&g);

		/* Ids may be any number: the memory for ids does not depend on their size. */
		gen__header(&g);
		gen__process(&g, 1, 1, huge[i], huge[i], 0, "app");
		gen__thread(&g, huge[i], huge[i], huge[i]);
		gen__callchain(&g, XPU_CHAIN_FAILED, 1, huge[i], huge[i], 65535, huge[i], NULL, 0);
		gen__launch(&g, 1, huge[i], huge[i], huge[i]);
		gen__batch_begin(&g, 1, huge[i], huge[i]);
		gen__string(&g, huge[i], "kernel");
		gen__device(&g, huge[i], huge[i], NULL);
		gen__stream(&g, huge[i], huge[i], huge[i], huge[i]);
		gen__kernel(&g, XPU_WITH_API(15, 0), 1, 1, huge[i], huge[i], huge[i]);
		gen__batch_end(&g);
		merged__run(&m, g.v, g.nr, "huge", &(struct merge_opts){ 0 });
		is_int(m.status, 0, "all ids are %u: the recording is not damaged", huge[i]);
		is_int(m.loss.nr_matched, 1, "all ids are %u: the launch is matched", huge[i]);
		is_int(m.loss.bad_refs, 0, "all ids are %u: all references are resolved", huge[i]);
		is_str(merged__broken(&m), NULL,
		       "all ids are %u: the sums are consistent", huge[i]);
		merged__free(&m);
		gen__free(&g);
	}

	gen__header(&g);
	gen__batch_begin(&g, 1, 1, 1);
	gen__string(&g, 1, "kernel");
	gen__stream(&g, 1, 0, 0, 0);
	gen__kernel(&g, 0, UINT64_MAX - 5, 10, 1, 1, 1);
	gen__kernel(&g, 0, 5, UINT64_MAX - 5, 2, 1, 1);
	gen__kernel(&g, 0, 1, 10, 3, 1, 1);
	gen__batch_end(&g);
	merged__run(&m, g.v, g.nr, "times", &(struct merge_opts){ 0 });
	is_int(m.loss.bad_times, 1, "an end that overflows is an invalid time");
	is_str(merged__broken(&m), NULL, "extreme times: the sums are consistent");
	merged__free(&m);
	gen__free(&g);
}

int main(void)
{
	struct gen g = { 0 };

	story(&g);
	test_whole(&g);
	test_cut(&g);
	test_damaged(&g);
	test_random(&g);
	test_huge();
	gen__free(&g);
	return done_testing();
}
