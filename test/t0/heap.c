// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The heap: live allocations by address, sums by holder at points in time, segments and blocks,
 * compared with a slow model that keeps everything.
 */
#include "memory/heap.h"

#include <stdlib.h>
#include <string.h>

#include "tap.h"

#define NR_SLOTS	300		/* number of addresses */
#define NR_CHAINS	7
#define MB		(1ull << 20)

static struct heap h;
static uint64_t order, seed = 1;
static uint32_t place;

static uint32_t below(uint32_t n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (seed >> 33) % n;
}

static void put(uint8_t what, uint8_t space, uint64_t address, uint64_t bytes, uint32_t chain)
{
	const struct heap_event e = {
		.order = ++order, .time_ns = 1000 + order, .made_ns = 1000 + order,
		.address = address, .bytes = bytes, .what = what, .space = space,
		.path_id = 1 + chain, .extra = 1,
		.key = { .chain = chain, .thread = NO_INDEX, .comm = "app", .place = place },
	};

	if (heap__event(&h, &e))
		bail("out of memory");
}

static void begin(enum heap_pass pass)
{
	heap__start(&h, pass);
	order = 0;
	put(XPU_ALLOC_START, 0, 0, 0, 0);
}

static void reset(void)
{
	heap__exit(&h);
	heap__init(&h, 0);
	h.to_ns = 100000;
	if (heap__place(&h, 0, &place))
		bail("out of memory");
}

static struct heap_sum sum_at(enum heap_moment moment, enum heap_kind kind, uint32_t chain)
{
	struct heap_sum sum = { 0 }, one;
	size_t i;

	for (i = 0; i < h.holders.nr; i++) {
		const struct holder *holder = &h.holders.v[i];

		if (holder->key.kind != kind || (chain != NO_INDEX && holder->key.chain != chain))
			continue;
		one = holder__at(&h, holder, moment);
		sum.bytes += one.bytes;
		sum.nr += one.nr;
	}
	return sum;
}

/* ---- random events, compared with a model ---------------------------------------------------- */

static struct {
	uint64_t bytes;
	uint32_t chain;
} slots[NR_SLOTS];

static void test_random(void)
{
	uint64_t live[NR_CHAINS] = { 0 }, at_peak[NR_CHAINS] = { 0 }, used = 0, peak = 0, left = 0;
	uint32_t i, slot, wrong = 0;

	reset();
	begin(HEAP_SUM);
	for (i = 0; i < 200000; i++) {
		slot = below(NR_SLOTS);
		if (slots[slot].bytes) {
			put(XPU_ALLOC_FREED, XPU_SPACE_DEVICE, 0x1000 * (slot + 1), 0,
			    below(NR_CHAINS));
			used -= slots[slot].bytes;
			live[slots[slot].chain] -= slots[slot].bytes;
			slots[slot].bytes = 0;
			continue;
		}
		slots[slot].bytes = 1 + below(i % 1000 ? 5000 : 50000);
		slots[slot].chain = below(NR_CHAINS);
		put(XPU_ALLOC_MADE, below(3), 0x1000 * (slot + 1), slots[slot].bytes,
		    slots[slot].chain);
		used += slots[slot].bytes;
		live[slots[slot].chain] += slots[slot].bytes;
		if (used <= peak)
			continue;
		peak = used;
		memcpy(at_peak, live, sizeof(live));
	}
	is_int(h.places.v[place].used.now, used, "random: used bytes are as in the model");
	is_int(h.places.v[place].used.peak, peak, "random: the peak is as in the model");
	is_int(h.nr_bad + h.nr_unknown, 0, "random: no event is invalid");
	heap__finish(&h, 1000 + order);
	for (i = 0; i < NR_CHAINS; i++) {
		uint64_t sum = 0;
		enum heap_kind kind;

		for (kind = HEAP_DEVICE; kind <= HEAP_POOL; kind++)
			sum += sum_at(HEAP_PEAK, kind, i).bytes;
		wrong += sum != at_peak[i];
	}
	is_int(wrong, 0, "random: each call path's bytes at the peak are as in the model");
	for (i = 0; i < h.holders.nr; i++)
		left += h.holders.v[i].never_freed.bytes;
	is_int(left, used, "random: the bytes that are never freed equal the used bytes");
	is_int(h.nr_live, 0, "random: nothing is live at the end");
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static void some_blocks(void)
{
	put(XPU_ALLOC_MADE, XPU_SPACE_DEVICE, 0x10000000, 20 * MB, 1);
	put(XPU_ALLOC_MADE, XPU_SPACE_DEVICE, 0x90000000, 64 * MB, 2);	/* in no segment */
	put(XPU_ALLOC_MADE, XPU_SPACE_BLOCK, 0x10000000, 5 * MB, 3);
	put(XPU_ALLOC_MADE, XPU_SPACE_BLOCK, 0x10000000 + 8 * MB, 7 * MB, 4);
	put(XPU_ALLOC_TOTALS, XPU_SPACE_BLOCK, 12 * MB, 20 * MB, 4);
	put(XPU_ALLOC_FREED, XPU_SPACE_BLOCK, 0x10000000, 5 * MB, 3);
	/* Mapped memory: one block in two pieces. */
	put(XPU_ALLOC_MADE, XPU_SPACE_PHYSICAL, 0x51, 2 * MB, 5);
	put(XPU_ALLOC_HANDLE, XPU_SPACE_MAPPING, 0x51, 0, 5);
	put(XPU_ALLOC_MADE, XPU_SPACE_MAPPING, 0x700000000, 2 * MB, 5);
	put(XPU_ALLOC_MADE, XPU_SPACE_PHYSICAL, 0x52, 2 * MB, 5);
	put(XPU_ALLOC_HANDLE, XPU_SPACE_MAPPING, 0x52, 0, 5);
	put(XPU_ALLOC_MADE, XPU_SPACE_MAPPING, 0x700000000 + 2 * MB, 2 * MB, 5);
	put(XPU_ALLOC_MADE, XPU_SPACE_BLOCK, 0x700000000 + MB, 2 * MB, 6);
}

static void test_blocks(void)
{
	const struct heap_place *p;

	reset();
	begin(HEAP_FIND);
	some_blocks();
	begin(HEAP_SUM);
	some_blocks();
	p = &h.places.v[place];
	is_int(p->reserved.now, 88 * MB, "blocks: the reserved bytes are right");
	is_int(p->segments.now, 24 * MB, "blocks: the bytes in segments are right");
	is_int(p->blocks.now, 9 * MB, "blocks: the bytes in blocks are right");
	is_int(p->blocks.peak, 12 * MB, "blocks: the peak of bytes in blocks is right");
	is_int(p->used.now, 73 * MB, "blocks: the used bytes are right");
	is_int(p->used.peak, 76 * MB,
	       "blocks: the peak of used bytes leaves out segments that had no blocks yet");
	is_int(h.nr_totals, 1, "blocks: totals are compared");
	is_int(h.nr_wrong_totals + h.nr_wrong_reserved, 0, "blocks: no total differs");
	h.version[HEAP_ASKED]++;
	is_int(sum_at(HEAP_ASKED, HEAP_FRAGMENTATION, 1).bytes, 13 * MB,
	       "blocks: the unused bytes of cudaMalloc's segment are right");
	is_int(sum_at(HEAP_ASKED, HEAP_FRAGMENTATION, 5).bytes, 2 * MB,
	       "blocks: the unused bytes of mapped memory are right");
	is_int(sum_at(HEAP_ASKED, HEAP_DEVICE, 2).bytes, 64 * MB,
	       "blocks: the bytes of memory outside of segments are right");
	/* One unmap of both pieces, after their handles were released. */
	put(XPU_ALLOC_FREED, XPU_SPACE_PHYSICAL, 0x51, 0, 5);
	put(XPU_ALLOC_FREED, XPU_SPACE_PHYSICAL, 0x52, 0, 5);
	is_int(p->reserved.now, 88 * MB, "mapped: memory lives as long as its mapping");
	put(XPU_ALLOC_FREED, XPU_SPACE_BLOCK, 0x700000000 + MB, 2 * MB, 6);
	put(XPU_ALLOC_FREED, XPU_SPACE_MAPPING, 0x700000000, 4 * MB, 5);
	is_int(p->reserved.now, 84 * MB, "mapped: memory is freed when its mapping ends");
	is_int(h.nr_unknown + h.nr_bad, 0, "mapped: no event is invalid");
	/* NCCL retains and releases the memory that a program passes to NCCL. */
	put(XPU_ALLOC_MADE, XPU_SPACE_PHYSICAL, 0x53, 2 * MB, 5);
	put(XPU_ALLOC_HANDLE, XPU_SPACE_MAPPING, 0x53, 0, 5);
	put(XPU_ALLOC_MADE, XPU_SPACE_MAPPING, 0x700000000, 2 * MB, 5);
	put(XPU_ALLOC_RETAINED, XPU_SPACE_PHYSICAL, 0x53, 0, 5);
	put(XPU_ALLOC_FREED, XPU_SPACE_PHYSICAL, 0x53, 0, 5);
	put(XPU_ALLOC_FREED, XPU_SPACE_MAPPING, 0x700000000, 2 * MB, 5);
	is_int(p->reserved.now, 86 * MB,
	       "retained and released: memory lives as long as one of its handles");
	put(XPU_ALLOC_FREED, XPU_SPACE_PHYSICAL, 0x53, 0, 5);
	is_int(p->reserved.now, 84 * MB,
	       "retained and released: memory is freed with its last handle");
	is_int(h.nr_unknown + h.nr_bad, 0, "retained: no event is invalid");
	put(XPU_ALLOC_CONTEXT_END, 0, 0, 0, 0);
	is_int(p->reserved.now, 7 * MB,
	       "a context's end frees all of its memory except unfreed blocks");
	heap__finish(&h, 1000 + order);
}

/* A call path that allocated a segment adds a node to a graph. The node itself has no memory. */
static void test_node_of_segments(void)
{
	enum heap_pass pass;

	reset();
	for (pass = HEAP_FIND; pass <= HEAP_SUM; pass++) {
		begin(pass);
		put(XPU_ALLOC_MADE, XPU_SPACE_DEVICE, 0x10000000, 4 * MB, 1);
		put(XPU_ALLOC_MADE, XPU_SPACE_BLOCK, 0x10000000, 3 * MB, 2);
		put(XPU_ALLOC_MADE, XPU_SPACE_GRAPHS, 0x90000000, 7 * MB, 1);
	}
	is_int(h.places.v[place].reserved.now, 4 * MB,
	       "a node on a path of segments has no memory of its own");
	heap__finish(&h, 1000 + order);
	is_int(h.places.v[place].reserved.now, 0,
	       "a node on a path of segments has no memory left at the end");
}

/* The frees of some blocks are lost, and new blocks are made at the same addresses. */
static void test_lost_frees(void)
{
	enum heap_pass pass;

	reset();
	for (pass = HEAP_FIND; pass <= HEAP_SUM; pass++) {
		begin(pass);
		put(XPU_ALLOC_MADE, XPU_SPACE_DEVICE, 0x10000000, 4 * MB, 1);
		put(XPU_ALLOC_MADE, XPU_SPACE_BLOCK, 0x10000000, 3 * MB, 2);
		put(XPU_ALLOC_MADE, XPU_SPACE_BLOCK, 0x10000000 + MB, 3 * MB, 3);
	}
	h.version[HEAP_ASKED]++;
	is_int(sum_at(HEAP_ASKED, HEAP_FRAGMENTATION, 1).bytes, 0,
	       "blocks inside one another: all of the segment is used");
	put(XPU_ALLOC_FREED, XPU_SPACE_BLOCK, 0x10000000, 3 * MB, 2);
	h.version[HEAP_ASKED]++;
	is_int(sum_at(HEAP_ASKED, HEAP_FRAGMENTATION, 1).bytes, MB,
	       "blocks inside one another: the bytes of a freed block are unused");
	put(XPU_ALLOC_FREED, XPU_SPACE_DEVICE, 0x10000000, 0, 1);
	h.version[HEAP_ASKED]++;
	is_int(sum_at(HEAP_ASKED, HEAP_FRAGMENTATION, 1).bytes, 0,
	       "blocks inside one another: nothing is left");
	heap__finish(&h, 1000 + order);
}

/* ---- what CUDA holds for itself -------------------------------------------------------------- */

static void test_levels(void)
{
	const struct heap_place *p;

	reset();
	begin(HEAP_SUM);
	put(XPU_ALLOC_MADE, XPU_SPACE_POOL, 0x10000, 5 * MB, 1);
	put(XPU_ALLOC_MADE, XPU_SPACE_GRAPHS, 0x800000, 9 * MB, 2);
	p = &h.places.v[place];
	is_int(p->reserved.now, 5 * MB, "levels: a node of a graph has no memory before a launch");
	put(XPU_ALLOC_FREED, XPU_SPACE_DEVICE, 0x800000, 0, 2);
	put(XPU_ALLOC_FREED, XPU_SPACE_DEVICE, 0x800000, 0, 2);
	is_int(h.nr_unknown + h.nr_bad, 0,
	       "levels: a graph's memory is freed after each of its launches");
	put(XPU_ALLOC_MADE, XPU_SPACE_DEVICE, 0x800000, 1 * MB, 3);
	is_int(h.nr_bad, 0, "levels: an address may be used again");
	put(XPU_ALLOC_LEVEL, XPU_SPACE_GRAPHS, 0, 16 * MB, 0);
	put(XPU_ALLOC_LEVEL, XPU_SPACE_UNUSED, 0, 3 * MB, 0);
	is_int(p->reserved.now, 25 * MB,
	       "levels: memory of graphs and unused memory of pools is reserved");
	is_int(p->used.now, 22 * MB, "levels: unused memory of pools does not count as used");
	put(XPU_ALLOC_LEVEL, XPU_SPACE_REST, 80 * MB, 40 * MB, 0);
	h.version[HEAP_ASKED]++;
	is_int(sum_at(HEAP_ASKED, HEAP_REST, NO_INDEX).bytes, 15 * MB,
	       "levels: the rest of the device's memory has no name");
	is_int(p->reserved.now, 25 * MB, "levels: the rest of the device's memory is not reserved");
	put(XPU_ALLOC_LEVEL, XPU_SPACE_UNUSED, 0, 0, 0);
	put(XPU_ALLOC_LEVEL, XPU_SPACE_REST, 80 * MB, 10 * MB, 0);
	h.version[HEAP_ASKED]++;
	is_int(sum_at(HEAP_ASKED, HEAP_REST, NO_INDEX).bytes, 0,
	       "levels: if CUDA reports less than the known memory, there is no rest");
	is_int(sum_at(HEAP_ASKED, HEAP_UNUSED, NO_INDEX).bytes, 0,
	       "levels: a trimmed pool has no unused memory");
	put(XPU_ALLOC_LEVEL, XPU_SPACE_GRAPHS, 0, UINT64_MAX, 0);
	put(XPU_ALLOC_LEVEL, XPU_SPACE_BLOCK, 0, 1, 0);
	is_int(h.nr_bad, 2, "levels: impossible levels are counted");
	heap__finish(&h, 1000 + order);
	is_int(p->reserved.now, 0, "levels: at the end nothing is reserved");
}

/* ---- growth ---------------------------------------------------------------------------------- */

static void is_growth(const uint64_t low[HEAP_PARTS], unsigned int nr_parts, uint64_t bytes,
		      const char *name)
{
	struct heap_growth g = heap_growth__of(low);

	ok(g.nr_parts == nr_parts && g.bytes == bytes, "%s: %u parts, %llu bytes", name,
	   g.nr_parts, (unsigned long long)g.bytes);
}

static void test_growth(void)
{
	is_growth(
		(const uint64_t[HEAP_PARTS]){ 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0 },
		7, 6, "growth in each part");
	is_growth((const uint64_t[HEAP_PARTS]){ 0, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9 }, 0,
		  0, "growth in the first part only");
	is_growth((const uint64_t[HEAP_PARTS]){ 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9, 9, 9, 9, 9 }, 1,
		  0, "growth once, late");
	is_growth((const uint64_t[HEAP_PARTS]){ 0, 3, 6, 9, 0, 3, 6, 9, 0, 3, 6, 9, 0, 3, 6, 9 }, 2,
		  3, "growth that is given back again and again");
	is_growth((const uint64_t[HEAP_PARTS]){ 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 8, 9, 8, 9, 8, 9 }, 1,
		  0, "growth up to a level that then varies a little");
	is_growth(
		(const uint64_t[HEAP_PARTS]){ 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 0, 0 },
		0, 0, "growth that is given back before the end");
	is_growth((const uint64_t[HEAP_PARTS]){ [8] = 1, [9] = 1, [10] = UINT64_MAX, [11] = 5,
						[12] = 7, [13] = 7, [14] = 8 }, 4, 4,
		  "growth with three parts of much more memory");
}

/* ---- impossible events ----------------------------------------------------------------------- */

static void test_odd(void)
{
	uint32_t i;

	reset();
	begin(HEAP_SUM);
	put(XPU_ALLOC_MADE, XPU_SPACE_DEVICE, 0x1000, 100, 1);
	put(XPU_ALLOC_MADE, XPU_SPACE_DEVICE, 0x1000, 50, 2);
	is_int(h.nr_bad, 1, "an address given twice is counted");
	is_int(h.places.v[place].used.now, 50,
	       "an address given twice: the first allocation counts as freed");
	put(XPU_ALLOC_FREED, XPU_SPACE_DEVICE, 0x2000, 0, 1);
	is_int(h.nr_unknown, 1, "an event that frees nothing is counted");
	put(XPU_ALLOC_MADE, XPU_SPACE_DEVICE, 0x3000, UINT64_MAX, 1);
	put(XPU_ALLOC_MADE, XPU_SPACE_BLOCK, UINT64_MAX - 5, 100, 1);
	is_int(h.nr_bad, 3, "impossible sizes are counted");
	put(XPU_ALLOC_MADE, XPU_SPACE_MAPPING, 0x100000, 2 * MB, 1);
	put(XPU_ALLOC_FREED, XPU_SPACE_MAPPING, 0x100000, UINT64_MAX, 1);
	put(XPU_ALLOC_TOTALS, XPU_SPACE_BLOCK, UINT64_MAX, UINT64_MAX, 1);
	for (i = 0; i < 20000; i++)	/* random fields */
		put(below(XPU_ALLOC_NR + 2), below(XPU_SPACE_NR), (uint64_t)below(50) << below(40),
		    (uint64_t)below(1000) << below(50), below(NR_CHAINS));
	heap__finish(&h, 1000 + order);
	ok(true, "arbitrary events end without a crash");
}

int main(void)
{
	heap__init(&h, 0);
	test_random();
	test_blocks();
	test_node_of_segments();
	test_lost_frees();
	test_levels();
	test_growth();
	test_odd();
	heap__exit(&h);
	return done_testing();
}
