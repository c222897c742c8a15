// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Damaged recordings that consist of blocks. Whatever bytes are changed, removed, repeated or cut
 * off, only the records of the damaged blocks are lost, and the loss is printed and counted.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "gen.h"
#include "gen_merge.h"
#include "tap.h"

enum { NR_BLOCKS = 8, PER_BLOCK = 5, FIRST_WORK = 2, NR_WORK = NR_BLOCKS - 1 - FIRST_WORK };
#define NR_LAUNCHES	(NR_WORK * PER_BLOCK)

/* A recording, and the offsets of its blocks. */
struct story {
	struct gen g;
	size_t at[NR_BLOCKS + 1];
};

static const uint64_t frames[] = { 0x2010, 0x1010, 0x1110, 0x1210 };

static void add_work(struct gen *g, uint32_t nr)
{
	struct xpu_launch launches[PER_BLOCK];
	uint32_t i, id;

	for (i = 0; i < PER_BLOCK; i++)
		launches[i] = (struct xpu_launch){ 1 + nr * PER_BLOCK + i, 1, i, 1 };
	gen__launches(g, 1000 * (nr + 1), launches, PER_BLOCK);
	gen__batch_begin(g, 1500 * (nr + 1), 1, 12);
	for (i = 0; i < PER_BLOCK; i++) {
		id = 1 + nr * PER_BLOCK + i;
		gen__kernel(g, 0, 1000 * (nr + 1) + i, 7, id, 3, 1);
	}
	gen__batch_end(g);
}

/*
 * Adds block @nr. Block 0 has the process, block 1 has names, the next blocks have launches and
 * their kernels, and the last block has the end.
 */
static void add_block(struct gen *g, uint32_t nr)
{
	switch (nr) {
	case 0:
		gen__process(g, XPU_MISC_PROCESS_ROOT, 105, 1, 10, 0, "app");
		gen__thread(g, 1, 1, 10);
		gen__callchain(g, 0, 200, 1, 1, 1, 307, frames, 4);
		break;
	case 1:
		gen__batch_begin(g, 300, 1, 12);
		gen__string(g, 1, "cuLaunchKernel");
		gen__api(g, 1, 307, 1);
		gen__string(g, 3, "kernel");
		gen__stream(g, 1, 0, 1, 7);
		gen__batch_end(g);
		break;
	case NR_BLOCKS - 1:
		gen__process_exit(g, 9000, 1, 10, 0);
		gen__end(g, 9000, 0);
		break;
	default:
		add_work(g, nr - FIRST_WORK);
	}
}

static void story__make(struct story *s, int level)
{
	struct block_packer *p = block_packer__new(level);
	struct gen records = { 0 };
	uint32_t i;

	memset(s, 0, sizeof(*s));
	gen__header(&s->g);
	gen__seal(&s->g);
	for (i = 0; i < NR_BLOCKS; i++) {
		records.nr = 0;
		add_block(&records, i);
		s->at[i] = s->g.nr;
		gen__pack(&s->g, p, records.v, records.nr, SIZE_MAX);
	}
	s->at[i] = s->g.nr;
	gen__free(&records);
	block_packer__free(p);
}

static const struct xpu_record_block *story__block(const struct story *s, size_t nr)
{
	return (const void *)(s->g.v + s->at[nr]);
}

static void run(struct merged *m, const struct gen *g)
{
	merged__run(m, g->v, g->nr, "story", &(struct merge_opts){ .unit = UNIT_COUNT });
}

/* Return: @so; if it is false, prints @what and the merge's result. */
static bool right(bool so, const char *what, const struct merged *m)
{
	if (!so)
		diag("%s: open %d status %d launches %llu matched %llu damaged %llu (%llu), %s",
		     what, m->open_err, m->status, (unsigned long long)m->loss.nr_launches,
		     (unsigned long long)m->loss.nr_matched,
		     (unsigned long long)m->loss.damaged_blocks,
		     (unsigned long long)m->loss.damaged_launches, m->msgs);
	return so;
}

/* Return: whether exactly @nr_blocks blocks of launches are lost, and nothing else. */
static bool lost(const struct merged *m, unsigned int nr_blocks, const char *what)
{
	uint64_t launches = nr_blocks * PER_BLOCK;

	return right(m->status == -EBADMSG && m->loss.nr_launches == NR_LAUNCHES - launches &&
		     m->loss.nr_matched == m->loss.nr_launches && !m->loss.nr_orphans &&
		     !m->loss.bad_refs && m->loss.damaged_blocks == nr_blocks &&
		     m->loss.damaged_launches == launches && !m->loss.not_closed &&
		     loss__lost(&m->loss) == launches && !merged__broken(m), what, m);
}

static void test_whole(void)
{
	static const int levels[] = { 0, 1, 22 };
	struct merged plain_merged, m;
	struct gen plain = { 0 }, g = { 0 };
	size_t i, bytes;
	uint32_t nr;

	gen__header(&plain);
	for (nr = 0; nr < NR_BLOCKS; nr++)
		add_block(&plain, nr);
	run(&plain_merged, &plain);
	is_int(plain_merged.loss.nr_matched, NR_LAUNCHES,
	       "without blocks: all launches are matched");
	for (i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
		for (bytes = 1; bytes < 10000; bytes *= 50) {
			gen__blocks(&g, &plain, levels[i], bytes);
			run(&m, &g);
			ok(right(!m.status && !strcmp(m.folded, plain_merged.folded) &&
				 !strcmp(m.text, plain_merged.text) &&
				 !strcmp(m.json, plain_merged.json) &&
				 !loss__lost(&m.loss) && !m.loss.not_closed, "blocks", &m),
			   "level %d, blocks of %zu bytes: the merge is the same as without "
			   "blocks", levels[i], bytes);
			merged__free(&m);
			gen__free(&g);
		}
	merged__free(&plain_merged);
	gen__free(&plain);
}

/* Damages each byte of each block of launches, one at a time. */
static void test_each_byte(int level)
{
	bool lost_right = true, said = true;
	struct merged m;
	struct story s;
	size_t nr, i, end;
	char where[64];

	story__make(&s, level);
	for (nr = FIRST_WORK; nr < NR_BLOCKS - 1; nr++) {
		end = s.at[nr] + sizeof(struct xpu_record_block) +
		      story__block(&s, nr)->stored_bytes;
		snprintf(where, sizeof(where), "damaged at offset %zu, ", s.at[nr]);
		for (i = s.at[nr]; i < end; i++) {
			s.g.v[i] ^= 0x55;
			run(&m, &s.g);
			lost_right &= lost(&m, 1, "a byte");
			said &= m.msgs && strstr(m.msgs, where);
			s.g.v[i] ^= 0x55;
			merged__free(&m);
		}
	}
	ok(lost_right, "level %d: a change of any byte of a block: the block is lost and counted",
	   level);
	ok(said, "level %d: a change of any byte of a block: the message gives the offset", level);
	gen__free(&s.g);
}

/* Overwrites the bytes from the middle of block @from to the middle of block @to. */
static void test_many_bytes(void)
{
	struct merged m;
	struct story s;
	size_t at, end;

	story__make(&s, 1);
	at = (s.at[3] + s.at[4]) / 2;
	end = (s.at[5] + s.at[6]) / 2;
	memset(s.g.v + at, 0xa5, end - at);
	run(&m, &s.g);
	ok(lost(&m, 3, "over three blocks"),
	   "damage across three blocks: exactly these three are lost");
	merged__free(&m);
	gen__free(&s.g);

	/* Replaces a block by another file's block, or removes it. */
	story__make(&s, 1);
	memmove(s.g.v + s.at[3], s.g.v + s.at[4], s.g.nr - s.at[4]);
	s.g.nr -= s.at[4] - s.at[3];
	run(&m, &s.g);
	ok(lost(&m, 1, "missing"), "a missing block is counted");
	ok(strstr(m.msgs, "missing here"), "a message reports the missing block");
	merged__free(&m);
	gen__free(&s.g);
}

static void test_repeated(void)
{
	struct merged m;
	struct story s;
	size_t bytes;

	story__make(&s, 1);
	bytes = s.at[4] - s.at[3];
	gen__bytes(&s.g, s.g.v, bytes);		/* makes space */
	memmove(s.g.v + s.at[4], s.g.v + s.at[3], s.g.nr - s.at[4]);
	run(&m, &s.g);
	ok(right(m.status == -EBADMSG && m.loss.nr_launches == NR_LAUNCHES &&
		 m.loss.nr_matched == NR_LAUNCHES && !m.loss.nr_duplicates &&
		 m.loss.damaged_bytes == bytes && loss__lost(&m.loss) == 1, "repeated", &m),
	   "a repeated block: its records count once, and the status reports damage");
	merged__free(&m);
	gen__free(&s.g);
}

/*
 * Tests the loss of definitions that other blocks refer to. The loss is counted, and no wrong name
 * is used instead.
 */
static void test_definitions(void)
{
	struct merged m;
	struct story s;

	story__make(&s, 1);
	s.g.v[s.at[1] + sizeof(struct xpu_record_block)] ^= 1;
	run(&m, &s.g);
	ok(right(m.status == -EBADMSG && m.loss.nr_matched == NR_LAUNCHES && m.loss.bad_refs &&
		 m.loss.damaged_blocks == 1 && !m.loss.damaged_launches && !merged__broken(&m),
		 "names", &m),
	   "lost names: launches are matched, and broken references are counted");
	ok(!strstr(m.folded, "cuLaunchKernel") && !strstr(m.folded, "kernel "),
	   "lost names: no launch and no kernel has a name");
	merged__free(&m);
	s.g.v[s.at[1] + sizeof(struct xpu_record_block)] ^= 1;

	s.g.v[s.at[0] + sizeof(struct xpu_record_block)] ^= 1;
	run(&m, &s.g);
	ok(right(m.status == -EBADMSG && m.loss.nr_launches == NR_LAUNCHES && m.loss.bad_refs &&
		 m.loss.damaged_blocks == 1 && !merged__broken(&m), "threads", &m),
	   "lost threads and call paths: launches and broken references are counted");
	merged__free(&m);
	gen__free(&s.g);
}

static void test_header(void)
{
	bool noticed = true;
	struct merged m;
	struct story s;
	size_t i;

	story__make(&s, 1);
	for (i = offsetof(struct xpu_file_header, clockid); i < s.at[0]; i++) {
		s.g.v[i] ^= 1;
		run(&m, &s.g);
		noticed &= right(m.status == -EBADMSG && m.loss.bad_header == 1 &&
					 m.loss.nr_matched == NR_LAUNCHES &&
					 strstr(m.msgs, "first 64 bytes"),
				 "file header", &m);
		s.g.v[i] ^= 1;
		merged__free(&m);
	}
	ok(noticed,
	   "a change of any byte of the file's header: a message says so, and the records are "
	   "used");
	gen__free(&s.g);
}

static void test_cut(void)
{
	bool status_right = true, cut_right = true, used_right = true;
	size_t len, whole = 0, work;
	struct merged m;
	struct story s;
	struct gen cut;

	story__make(&s, 1);
	for (len = s.at[0]; len <= s.g.nr; len++) {
		whole += len >= s.at[whole + 1];
		cut = (struct gen){ .v = malloc(len), .nr = len };
		memcpy(cut.v, s.g.v, len);
		run(&m, &cut);
		work = whole <= FIRST_WORK ? 0 : whole - FIRST_WORK;
		work = work < NR_WORK ? work : NR_WORK;
		status_right &= right(!m.open_err && !m.status &&
				      m.loss.not_closed == (len < s.g.nr), "cut", &m);
		cut_right &= right(m.loss.cut_bytes == len - s.at[whole] &&
				   !m.loss.damaged_blocks && !m.loss.corrupt_bytes, "cut", &m);
		used_right &= right(m.loss.nr_matched == work * PER_BLOCK && !merged__broken(&m),
				    "cut", &m);
		merged__free(&m);
		free(cut.v);
	}
	ok(status_right, "a cut at any byte: the recording is not closed, but not damaged");
	ok(cut_right, "cut: all bytes after the last complete block are ignored");
	ok(used_right, "cut: all blocks before the cut are used");
	gen__free(&s.g);
}

/* Tests damage at the end: no later block says how much is missing. */
static void test_end(void)
{
	struct merged m;
	struct story s;

	story__make(&s, 1);
	memset(s.g.v + s.at[6], 0xff, s.g.nr - s.at[6]);
	run(&m, &s.g);
	ok(right(m.status == -EBADMSG && m.loss.corrupt_bytes == s.g.nr - s.at[6] &&
		 m.loss.nr_matched == NR_LAUNCHES - PER_BLOCK && m.loss.not_closed, "noise", &m),
	   "noise up to the end: the status reports damage, and the blocks before it are used");
	merged__free(&m);
	memset(s.g.v + s.at[6], 0, s.g.nr - s.at[6]);
	run(&m, &s.g);
	ok(right(m.status == -EBADMSG && m.loss.corrupt_bytes == s.g.nr - s.at[6] &&
		 m.loss.nr_matched == NR_LAUNCHES - PER_BLOCK, "zeros", &m),
	   "zeros up to the end, as after a crash of the machine: the status reports damage");
	merged__free(&m);
	gen__free(&s.g);
}

/* Tests blocks that have correct CRCs, but contents that no writer makes. */
static void test_inside(void)
{
	const struct xpu_record bad = { XPU_RECORD_WAIT, 0, 4 };
	struct block_packer *p = block_packer__new(0);
	struct gen g = { 0 }, records = { 0 };
	const struct xpu_record_block *b;
	struct merged m;

	gen__header(&g);
	gen__seal(&g);
	b = block_packer__pack(p, records.v, 0);
	gen__bytes(&g, b, b->hdr.size);		/* a block without records is not damage */
	add_block(&records, 0);
	add_block(&records, 1);
	gen__pack(&g, p, records.v, records.nr, SIZE_MAX);
	records.nr = 0;
	add_block(&records, 2);
	gen__bytes(&records, &bad, sizeof(bad));
	b = block_packer__pack(p, records.v, records.nr);
	gen__bytes(&g, b, b->hdr.size);
	records.nr = 0;
	add_block(&records, 3);
	add_block(&records, NR_BLOCKS - 1);
	gen__pack(&g, p, records.v, records.nr, SIZE_MAX);
	run(&m, &g);
	ok(right(m.status == -EBADMSG && m.loss.nr_matched == 2 * PER_BLOCK && !m.loss.not_closed &&
			 m.loss.damaged_blocks == 1 && strstr(m.msgs, "impossible record size"),
		 "inside", &m),
	   "an impossible record in a block: the rest of its block is left out, and the next block "
	   "is used");
	merged__free(&m);
	gen__free(&records);
	gen__free(&g);
	block_packer__free(p);
}

int main(void)
{
	test_whole();
	test_each_byte(0);
	test_each_byte(1);
	test_many_bytes();
	test_repeated();
	test_definitions();
	test_header();
	test_cut();
	test_end();
	test_inside();
	return done_testing();
}
