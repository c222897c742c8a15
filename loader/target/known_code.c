// SPDX-License-Identifier: GPL-3.0-or-later
#include "target/known_code.h"

#include <stdlib.h>
#include <string.h>

#define MAX_RANGES	(1u << 17)
#define MAX_UNKNOWN	(1u << 14)	/* number of addresses: 32 to 64 bytes each */
#define MIN_ADDRESS	65536		/* Linux maps no code below this address */
#define MAX_ADDRESS	(1ull << 56)	/* frames with larger values are not addresses */

void known_code__map(struct known_code *k, uint64_t start, uint64_t end)
{
	size_t first, after;

	if (start >= end)
		return;
	first = sorted_count(k->ranges.nr, i, k->ranges.v[i].end < start);
	after = sorted_count(k->ranges.nr, i, k->ranges.v[i].start <= end);
	if (first < after) {		/* merge the ranges that the mapping touches */
		start = min_t(uint64_t, start, k->ranges.v[first].start);
		end = max_t(uint64_t, end, k->ranges.v[after - 1].end);
	} else if (k->ranges.nr >= MAX_RANGES || array_reserve(&k->ranges, k->ranges.nr + 1)) {
		return;
	}
	memmove(&k->ranges.v[first + 1], &k->ranges.v[after],
		(k->ranges.nr - after) * sizeof(*k->ranges.v));
	k->ranges.nr += first + 1 - after;
	k->ranges.v[first] = (struct code_range){ start, end };
}

static bool is_known(const struct known_code *k, uint64_t address)
{
	size_t nr = sorted_count(k->ranges.nr, i, k->ranges.v[i].start <= address);

	return nr && address < k->ranges.v[nr - 1].end;
}

static bool is_unknown(void *ctx, const struct numbers_slot *slot)
{
	return !is_known(ctx, slot->key.a);
}

/* Forgets the unknown addresses that lie in mappings which were added later. */
static void sift(struct known_code *k)
{
	if (k->unknown.nr)
		numbers__sift(&k->unknown, is_unknown, k);
}

void known_code__meet(struct known_code *k, const __u64 *frames, size_t nr)
{
	struct numbers_key key = { 0 };
	size_t i;

	for (i = 0; i < nr && !k->beyond; i++) {
		/* A frame is the address after the call, or after the interrupted instruction. */
		key.a = frames[i] - 1;
		if (key.a < MIN_ADDRESS || key.a >= MAX_ADDRESS || is_known(k, key.a) ||
		    numbers__find(&k->unknown, key))
			continue;
		if (k->unknown.nr >= MAX_UNKNOWN) {
			sift(k);
			k->beyond = k->unknown.nr > MAX_UNKNOWN / 2;
		}
		if (!k->beyond && numbers__add(&k->unknown, key, 1))
			k->beyond = true;
	}
}

bool known_code__lacks(struct known_code *k)
{
	sift(k);
	return k->beyond || k->unknown.nr;
}

void known_code__free(struct known_code *k)
{
	array_free(&k->ranges);
	numbers__free(&k->unknown);
	k->beyond = false;
}
