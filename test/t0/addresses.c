// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Checks the address index against a plain sorted array. Then adds many addresses in falling order:
 * an index that moved all entries at each insertion would take hours.
 */
#include "model/addresses.h"

#include <stdlib.h>
#include <string.h>

#include "tap.h"

#define NR_RANDOM	40000
#define MAX_PLAIN	4000
#define NR_FALLING	3000000u

static struct address plain[MAX_PLAIN];
static size_t nr_plain;
static uint64_t seed = 1;

static uint32_t below(uint32_t n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (seed >> 33) % n;
}

/* Return: how many addresses of the array are at or before @address. */
static size_t plain__until(uint64_t address)
{
	size_t i = 0;

	while (i < nr_plain && plain[i].address <= address)
		i++;
	return i;
}

static void plain__add(uint64_t address, uint32_t idx)
{
	size_t at = plain__until(address);

	memmove(&plain[at + 1], &plain[at], (nr_plain++ - at) * sizeof(plain[0]));
	plain[at] = (struct address){ address, idx };
}

static void plain__remove(size_t at)
{
	memmove(&plain[at], &plain[at + 1], (--nr_plain - at) * sizeof(plain[0]));
}

/*
 * Return: whether both indexes have equal entries after @address, in the same order; compares at
 * most @most entries.
 */
static bool is_same(const struct addresses *a, uint64_t address, size_t most)
{
	struct addresses_at at = addresses__before(a, address);
	size_t i = plain__until(address);
	const struct address *found;

	for (i -= i > 0; i < nr_plain && most--; i++) {
		found = addresses__next(a, &at);
		if (!found || found->address != plain[i].address || found->idx != plain[i].idx)
			return false;
	}
	return i < nr_plain || !addresses__next(a, &at);
}

/* @spread: the number of different addresses; a small number makes many of them equal. */
static void test_random(uint32_t spread)
{
	struct addresses a = { 0 };
	uint32_t i, nr_wrong = 0;
	uint64_t address;
	size_t at;

	nr_plain = 0;
	for (i = 0; i < NR_RANDOM; i++) {
		address = (uint64_t)below(spread) << 21;
		if (nr_plain == MAX_PLAIN ||
		    (nr_plain && below(i / 2000 % 3 + 1) == 0 && below(2))) {
			at = below(nr_plain);
			addresses__remove(&a, plain[at].address, plain[at].idx);
			plain__remove(at);
		} else if (addresses__add(&a, address, i)) {
			bail("out of memory");
		} else {
			plain__add(address, i);
		}
		if (below(100) == 0)
			addresses__remove(&a, address, UINT32_MAX);	/* not in the array */
		nr_wrong += !is_same(&a, (uint64_t)below(spread) << 21, 5);
	}
	nr_wrong += !is_same(&a, 0, SIZE_MAX);
	is_int(nr_wrong, 0, "%u addresses: sorted after each of %u changes", spread, NR_RANDOM);
	while (nr_plain) {
		at = below(nr_plain);
		addresses__remove(&a, plain[at].address, plain[at].idx);
		plain__remove(at);
	}
	is_int(a.pieces.nr, 0, "%u addresses: all can be removed", spread);
	addresses__free(&a);
}

static void test_falling(void)
{
	struct addresses a = { 0 };
	struct addresses_at at = { 0 };
	const struct address *found;
	uint32_t i, nr_wrong = 0;

	for (i = NR_FALLING; i--;)
		if (addresses__add(&a, (uint64_t)i << 21, i))
			bail("out of memory");
	for (i = 0; i < NR_FALLING; i++) {
		found = addresses__next(&a, &at);
		nr_wrong += !found || found->idx != i;
	}
	is_int(nr_wrong, 0, "%u addresses in falling order are sorted", NR_FALLING);
	for (i = 0; i < NR_FALLING; i++)
		addresses__remove(&a, (uint64_t)i << 21, i);
	is_int(a.pieces.nr, 0, "addresses removed in rising order: all are removed");
	addresses__free(&a);
}

int main(void)
{
	test_random(1000000);
	test_random(300);
	test_random(3);
	test_falling();
	return done_testing();
}
