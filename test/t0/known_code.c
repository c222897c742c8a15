// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The answer whether the addresses of a call chain are in known mappings equals the result of a
 * slow search, in each order of records.
 */
#include <stdlib.h>

#include "tap.h"
#include "target/known_code.h"

#define BASE	0x7f0000000000ull
#define PAGES	64

static struct known_code k;

static bool lacks(uint64_t frame)
{
	bool lacking;

	known_code__meet(&k, (__u64[]){ frame }, 1);
	lacking = known_code__lacks(&k);
	numbers__free(&k.unknown);
	k.beyond = false;
	return lacking;
}

static void check_edges(void)
{
	static const __u64 odd[] = {
		0, 1, 4096, 0xf5ull << 56, 0xf6ull << 56, 0xffffffff81000000ull, UINT64_MAX,
	};

	ok(!known_code__lacks(&k), "no address was seen: no mapping is missing");
	known_code__meet(&k, odd, ARRAY_SIZE(odd));
	ok(!known_code__lacks(&k), "frames that are not addresses in the process need no mapping");
	known_code__meet(&k, (__u64[]){ BASE + 5 }, 1);
	ok(known_code__lacks(&k), "an address without a mapping is reported");
	known_code__map(&k, BASE, BASE + 4096);
	ok(!known_code__lacks(&k), "an address whose mapping arrives later is not reported");
	ok(!lacks(BASE + 4096), "a call at the end of a mapping returns to the address after it");
	ok(lacks(BASE + 4097), "an address after the mapping is reported");
	ok(lacks(BASE), "an address before the mapping is reported");
	known_code__free(&k);
	ok(lacks(BASE + 5), "the next image has no mapping of the image before");
	known_code__map(&k, BASE + 4096, BASE);
	ok(lacks(BASE + 5), "a mapping that ends before it begins is ignored");
	known_code__free(&k);
}

/* Adds random mappings of whole pages, and checks each page after each mapping. */
static void check_random(void)
{
	unsigned int round, i, page, start, end, wrong = 0, overlaps = 0;
	bool mapped[PAGES];

	srand(1);
	for (round = 0; round < 200; round++) {
		for (page = 0; page < PAGES; page++)
			mapped[page] = false;
		for (i = 0; i < 20; i++) {
			start = rand() % PAGES;
			end = start + 1 + rand() % 5;
			end = end > PAGES ? PAGES : end;
			known_code__map(&k, BASE + start * 4096, BASE + end * 4096);
			for (page = start; page < end; page++)
				mapped[page] = true;
			for (page = 0; page < PAGES; page++)
				wrong += lacks(BASE + page * 4096 + 7) == mapped[page];
		}
		for (i = 1; i < k.ranges.nr; i++)
			overlaps += k.ranges.v[i - 1].end >= k.ranges.v[i].start;
		known_code__free(&k);
	}
	is_int(wrong, 0, "random mappings: exactly the unmapped pages are reported");
	is_int(overlaps, 0, "mappings that touch are joined");
}

static void check_bounds(void)
{
	__u64 frame;
	uint32_t i;

	for (i = 0; i < 100000; i++) {
		frame = BASE + i * 4096ull + 1;
		known_code__meet(&k, &frame, 1);
	}
	ok(k.beyond && k.unknown.nr <= 1 << 14, "the number of kept addresses has a limit");
	known_code__map(&k, BASE, BASE + (1ull << 40));
	ok(known_code__lacks(&k), "once addresses exceed the limit, mappings count as missing");
	known_code__free(&k);
	for (i = 0; i < 100000; i++) {
		frame = BASE + i / 1000 * 4096000ull;
		known_code__map(&k, frame, frame + 4096000);
		frame = BASE + i * 4096ull + 1;
		known_code__meet(&k, &frame, 1);
	}
	ok(!k.beyond && !known_code__lacks(&k) && k.ranges.nr == 1,
	   "addresses whose mappings arrive do not count for the limit");
	known_code__free(&k);
	for (i = 0; i < 300000; i++)
		known_code__map(&k, BASE + i * 8192ull, BASE + i * 8192ull + 4096);
	ok(k.ranges.nr == 1 << 17, "the number of kept mappings has a limit");
	known_code__free(&k);
}

int main(void)
{
	check_edges();
	check_random();
	check_bounds();
	return done_testing();
}
