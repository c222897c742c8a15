// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Blocks: all records come out as they went in, and damaged blocks do no harm.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zlib.h>
#include <zstd.h>

#include "block.h"
#include "columns.h"
#include "gen.h"
#include "tap.h"

static unsigned int seed = 1;

static uint32_t random_below(uint32_t n)
{
	return ((uint32_t)rand_r(&seed) << 16 ^ (uint32_t)rand_r(&seed)) % n;
}

/* Adds a record with sparse or random contents. A batch contains records of the same kind. */
static void add_record(struct gen *g, bool nested)
{
	static const uint16_t types[] = {
		XPU_RECORD_LAUNCHES, XPU_RECORD_LAUNCHES, XPU_RECORD_RANGES, XPU_RECORD_SAMPLES,
		XPU_RECORD_BATCH, XPU_RECORD_KERNEL, XPU_RECORD_KERNEL, XPU_RECORD_MEMCPY,
		XPU_RECORD_MEMSET, XPU_RECORD_CALLS, XPU_RECORD_WAIT, XPU_RECORD_OFF,
		XPU_RECORD_STRING, XPU_RECORD_CALLCHAIN, 9999,
	};
	uint16_t type = types[random_below(sizeof(types) / sizeof(types[0]))];
	uint32_t words = random_below(4) ? random_below(30) : random_below(3000), i, word = 0;
	uint32_t range = random_below(4) ? 100 : UINT32_MAX;
	size_t at = g->nr;
	struct xpu_record rec = { type, random_below(3), 0 };

	if (type == XPU_RECORD_KERNEL && random_below(4))
		words = 8;
	gen__bytes(g, &rec, sizeof(rec));
	if (type == XPU_RECORD_BATCH && !nested) {
		struct xpu_record_batch batch = { .hdr = rec };

		gen__bytes(g, &batch.time_ns, sizeof(batch) - sizeof(rec));
		for (i = random_below(200); i; i--)
			add_record(g, true);
		((struct xpu_record_batch *)(g->v + at))->bytes =
			g->nr - at - sizeof(batch) - (random_below(8) ? 0 : random_below(16));
	} else {
		for (i = 0; i < words; i++) {
			word = random_below(2) ? word + 1 : random_below(range);
			gen__bytes(g, &word, sizeof(word));
		}
		/* The count of an array can be any number. */
		if (words > 4 && random_below(8))
			((struct xpu_record_launches *)(g->v + at))->nr = (words - 4) / 4;
	}
	while ((g->nr - at) % 8)
		gen__bytes(g, "", 1);
	((struct xpu_record *)(g->v + at))->size = g->nr - at;
}

/* Return: whether the records of @g survive packing and unpacking. */
static bool survives(struct block_packer *p, struct block_unpacker *u, const struct gen *g,
		     size_t *block_bytes)
{
	const struct xpu_record_block *b = block_packer__pack(p, g->v, g->nr);
	struct xpu_record_block header;
	void *out = malloc(g->nr + 1);
	size_t header_bytes;
	bool same = false;

	if (!b || !out)
		abort();
	*block_bytes = b->hdr.size;
	header_bytes = block__header(b, b->hdr.size, &header);
	if (header_bytes == sizeof(header) && header.raw_bytes == g->nr)
		same = !block_unpacker__unpack(u, &header, b->data, out) &&
		       (!g->nr || !memcmp(out, g->v, g->nr));
	free(out);
	return same;
}

static void test_any_records(void)
{
	static const int levels[] = { 0, 1, 19 };
	struct block_unpacker *u = block_unpacker__new();
	struct block_packer *p;
	struct gen g = { 0 };
	size_t i, k, nr, bytes;
	bool same;

	for (i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
		p = block_packer__new(levels[i]);
		same = true;
		for (k = 0; k < (levels[i] > 1 ? 20 : 200); k++) {
			g.nr = 0;
			for (nr = random_below(40) + 1; nr && g.nr < XPU_BLOCK_MAX / 2; nr--)
				add_record(&g, false);
			same &= survives(p, u, &g, &bytes);
		}
		ok(same, "level %d: records survive packing and unpacking", levels[i]);
		block_packer__free(p);
	}
	block_unpacker__free(u);
	gen__free(&g);
}

static void test_none(void)
{
	struct block_unpacker *u = block_unpacker__new();
	struct block_packer *p = block_packer__new(BLOCK_LEVEL_DEFAULT);
	struct gen g = { 0 };
	size_t bytes;

	gen__bytes(&g, "", 0);
	ok(survives(p, u, &g, &bytes), "a block without records can be packed and unpacked");
	gen__launches(&g, 1000, NULL, 0);
	ok(survives(p, u, &g, &bytes), "a record of no launches can be packed and unpacked");
	gen__free(&g);
	block_packer__free(p);
	block_unpacker__free(u);
}

/* Tests the most frequent record types, in the order that packs worst. */
static void test_small(void)
{
	enum { NR = 4096 };
	struct block_unpacker *u = block_unpacker__new();
	struct block_packer *p = block_packer__new(BLOCK_LEVEL_DEFAULT);
	struct xpu_launch *launches = calloc(NR, sizeof(*launches));
	struct gen g = { 0 };
	size_t i, bytes;

	for (i = 0; i < NR; i++)
		launches[i] = (struct xpu_launch){
			1000 + i + random_below(8), 1 + random_below(1000),
			i * 900 + random_below(900), 1 + i / 128 % 8,
		};
	gen__launches(&g, 1000, launches, NR);
	for (i = 0; i < NR; i++) {
		if (i % 1024 == 0)
			gen__batch_begin(&g, 2000, 1, 7);
		gen__kernel(&g, 0, 5000 + i * 900 + random_below(9000), 2000 + random_below(4000),
			    1000 + i, 1 + random_below(16), 1 + random_below(32));
		if (i % 1024 == 1023)
			gen__batch_end(&g);
	}
	ok(survives(p, u, &g, &bytes), "launches and kernels can be packed and unpacked");
	if (!ok(bytes <= 16 * NR,
		"launches and kernels take at most 16 bytes each: %zu", g.nr / NR))
		diag("%zu bytes, %.1f each", bytes, (double)bytes / NR);
	free(launches);
	gen__free(&g);
	block_packer__free(p);
	block_unpacker__free(u);
}

static void test_header(void)
{
	struct block_packer *p = block_packer__new(BLOCK_LEVEL_DEFAULT);
	struct gen g = { 0 };
	struct xpu_record_block header, *b;
	bool noticed = true, refused = true;
	size_t i, bit;

	gen__end(&g, 1, 0);
	b = (void *)block_packer__pack(p, g.v, g.nr);
	is_int(block__header(b, b->hdr.size, &header), sizeof(header), "a header is found");
	for (i = 0; i < sizeof(header); i++)
		refused &= !block__header(b, i, &header);
	ok(refused, "the header of a truncated block is refused");
	for (i = 0; i < sizeof(header); i++)
		for (bit = 0; bit < 8; bit++) {
			((uint8_t *)b)[i] ^= 1 << bit;
			noticed &= !block__header(b, b->hdr.size, &header);
			((uint8_t *)b)[i] ^= 1 << bit;
		}
	ok(noticed, "a header with any bit changed is refused");
	gen__free(&g);
	block_packer__free(p);
}

/* A small block must not unpack to very many records, even if the block was forged. */
static void test_proportion(void)
{
	enum { BYTES = XPU_BLOCK_MAX / 2 };
	struct block_unpacker *u = block_unpacker__new();
	struct block_packer *p = block_packer__new(BLOCK_LEVEL_DEFAULT);
	struct xpu_record rec = { 9999, 0, BYTES };
	struct xpu_record_block *b, header;
	struct gen g = { 0 };
	size_t bytes, i;

	gen__bytes(&g, &rec, sizeof(rec));
	for (i = sizeof(rec); i < BYTES; i += 8)
		gen__bytes(&g, "\0\0\0\0\0\0\0", 8);
	ok(survives(p, u, &g, &bytes), "4 MB of zeros can be packed and unpacked");
	ok(bytes >= BYTES / XPU_BLOCK_RATIO,
	   "4 MB of zeros take at least as many bytes as a reader demands: %zu", bytes);

	/* Another writer's block, in which only the unpacked size is invalid. */
	b = calloc(1, sizeof(*b) + 8192);
	*b = (struct xpu_record_block){
		.hdr = { XPU_RECORD_BLOCK, XPU_MISC_BLOCK_ZSTD, 0 }, .magic = XPU_BLOCK_MAGIC,
		.packed_bytes = BYTES, .raw_bytes = BYTES,
	};
	b->stored_bytes = ZSTD_compress(b->data, 8192, g.v, BYTES, 1);
	b->hdr.size = sizeof(*b) + (b->stored_bytes + 7) / 8 * 8;
	b->crc = crc32(0, b->data, b->stored_bytes);
	b->header_crc = crc32(0, (const void *)b, sizeof(*b));
	ok(!block__header(b, b->hdr.size, &header), "%u bytes that unpack to 4 MB are refused",
	   b->stored_bytes);
	b->packed_bytes = b->raw_bytes = b->stored_bytes * XPU_BLOCK_RATIO;
	b->header_crc = 0;
	b->header_crc = crc32(0, (const void *)b, sizeof(*b));
	is_int(block__header(b, b->hdr.size, &header), sizeof(header),
	       "a block that unpacks to %u times its bytes is accepted",
	       XPU_BLOCK_RATIO);
	free(b);
	gen__free(&g);
	block_packer__free(p);
	block_unpacker__free(u);
}

/*
 * Return: the CPU time, in ns, of unpacking a block that is full of pieces and has @nr_tables
 * tables with @nr_columns columns each.
 */
static uint64_t unpack_pieces(uint32_t nr_tables, uint32_t nr_columns)
{
	size_t bytes = XPU_BLOCK_MAX, i;
	uint8_t *packed = calloc(1, bytes), *at = packed + bytes;
	struct xpu_columns *head = (struct xpu_columns *)packed;
	struct timespec from, to;
	struct xpu_table *table;

	head->nr_tables = nr_tables;
	at -= nr_tables * (sizeof(*table) + nr_columns * sizeof(struct xpu_column));
	head->nr_pieces = (at - (uint8_t *)(head + 1)) / sizeof(struct xpu_piece);
	at = (uint8_t *)(head + 1) + head->nr_pieces * sizeof(struct xpu_piece);
	for (i = 0; i < nr_tables; i++) {
		table = (struct xpu_table *)at;
		table->nr_columns = nr_columns;
		at += sizeof(*table) + nr_columns * sizeof(struct xpu_column);
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
	if (columns__unpack(packed, at - packed, packed, 0))
		bail("pieces without rows are not unpacked");
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
	free(packed);
	return (to.tv_sec - from.tv_sec) * 1000000000ll + to.tv_nsec - from.tv_nsec;
}

/* Unpacking reads each piece once, not once for each column. */
static void test_pieces(void)
{
	double ratio, best = 1e9;
	int i;

	for (i = 0; i < 5 && best >= 20; i++) {
		ratio = (double)unpack_pieces(XPU_TABLES_MAX, XPU_COLUMNS_MAX) /
			(unpack_pieces(1, 1) + 1);
		best = ratio < best ? ratio : best;
	}
	ok(best < 20, "a million pieces: 512 columns take %.1f times as long as one", best);
}

/* Damaged packed columns cause no crash, and most of the damage is noticed. */
static void test_noise(void)
{
	struct columns *c = columns__new();
	struct gen g = { 0 };
	const void *packed;
	uint8_t *copy, *out;
	size_t i, k, bytes, some;
	int nr_refused = 0, nr = 0;

	for (i = 0; i < 200; i++) {
		for (g.nr = 0; g.nr < 2000;)
			add_record(&g, false);
		packed = columns__pack(c, g.v, g.nr, &bytes);
		copy = malloc(bytes);
		out = malloc(g.nr);
		for (k = 0; k < 200; k++, nr++) {
			memcpy(copy, packed, bytes);
			for (some = random_below(4) + 1; some; some--)
				copy[random_below(random_below(2) ? bytes : 200 < bytes ? 200 :
						  bytes)] =
					random_below(3) ? random_below(256) : 255;
			nr_refused += !!columns__unpack(copy, random_below(9) ? bytes :
							random_below(bytes), out, g.nr);
		}
		free(copy);
		free(out);
	}
	ok(nr_refused > nr / 10, "of %d damaged columns %d are refused, without a crash", nr,
	   nr_refused);
	gen__free(&g);
	columns__free(c);
}

int main(void)
{
	test_any_records();
	test_none();
	test_small();
	test_header();
	test_proportion();
	test_pieces();
	test_noise();
	return done_testing();
}
