// SPDX-License-Identifier: MIT
/*
 * Computes the time in which at least one span was active, and compares it with a map of every ns.
 */
#include <stdlib.h>
#include <string.h>

#include "model/busy.h"
#include "tap.h"
#include "util.h"

#define NS	(1u << 22)

static unsigned char map[NS];

static uint64_t of_map(void)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < NS; i++)
		sum += map[i];
	return sum;
}

/* @disorder: how many ns late a span may arrive. */
static void check(const char *name, uint32_t nr, uint32_t longest, uint32_t disorder)
{
	unsigned int seed = 7;
	struct busy b = { 0 };
	uint32_t i;
	int err = 0;

	memset(map, 0, sizeof(map));
	for (i = 0; i < nr; i++) {
		uint64_t start =
			(uint64_t)i * (NS - longest - disorder) / nr + rand_r(&seed) % disorder;
		uint64_t ns = rand_r(&seed) % longest;

		err |= busy__add(&b, start + 1000, start + 1000 + ns);
		memset(map + start, 1, ns);
	}
	busy__finish(&b);
	is_int(err, 0, "%s: all spans are added", name);
	is_int(busy__ns(&b), of_map(), "%s: busy time is exact", name);
	busy__free(&b);
}

int main(void)
{
	struct busy b = { 0 };
	uint64_t i;
	int err = 0;

	check("in order", 1000, 2000, 1);
	check("several streams", 20000, 300, 5000);
	check("any order", 500, 3000, NS / 2);

	/*
	 * More separate spans than the table keeps, nearly in order. The table merges spans, but
	 * the gaps between them do not count as busy.
	 */
	for (i = 0; i < 3000000; i++)
		err |= busy__add(&b, 1000 + 10 * (i ^ 3), 1000 + 10 * (i ^ 3) + 5);
	busy__finish(&b);
	is_int(err, 0, "three million separate spans: all are added");
	is_int(busy__ns(&b), 15000000, "three million separate spans: busy time is exact");
	ok(b.spans.cap < 300000, "three million separate spans: only %zu are kept", b.spans.cap);
	is_int(b.last_ns - b.first_ns, 29999995,
	       "three million separate spans: the kept spans cover the first and the last");
	busy__free(&b);
	return done_testing();
}
