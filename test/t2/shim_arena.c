// SPDX-License-Identifier: MIT
/* When a thread's memory area is full, nothing is written after its end. */
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "tap.h"

#define PAGE_BYTES	4096u

/*
 * Allocates and fills blocks of @bytes until the arena is full. Return: the bytes allocated; 0 if
 * the arena never became full.
 */
static size_t fill(struct arena *a, size_t bytes)
{
	size_t taken = 0;
	void *block;

	while ((block = arena__alloc(a, bytes))) {
		memset(block, 0xee, bytes);
		taken += bytes;
		if (taken > 4 * a->max)
			return 0;
	}
	return taken;
}

static void check(size_t max, size_t bytes)
{
	struct arena a = { .max = max };
	size_t taken = fill(&a, bytes);

	ok(taken <= max && a.taken <= max,
	   "an arena of %zu bytes in blocks of %zu: %zu blocks are allocated, and no more", max,
	   bytes, taken);
	if (bytes == 1)
		ok(!arena__alloc(&a, 1), "a full arena allocates nothing");
	arena__clear(&a);
	is_int(fill(&a, bytes), taken, "a cleared arena has all of its space again");
	arena__free(&a);
}

int main(void)
{
	static const size_t maxima[] = {
		0, 1, 64, 127, PAGE_BYTES - 1, PAGE_BYTES, PAGE_BYTES + 1, 64 * 1024,
		64 * 1024 + 1, 64 * 1024 + PAGE_BYTES - 1, 100000, 1 << 20, (1 << 20) + 100,
	};
	static const size_t sizes[] = { 1, 64, 1000, PAGE_BYTES, 60000, 65 * 1024, 300000 };
	size_t i, k;

	for (i = 0; i < sizeof(maxima) / sizeof(maxima[0]); i++)
		for (k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++)
			check(maxima[i], sizes[k]);
	return done_testing();
}
