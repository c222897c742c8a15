// SPDX-License-Identifier: GPL-3.0-or-later
/* Arrays, the arena, interned strings, the id map and kept messages. */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"
#include "util.h"

static void test_array(void)
{
	ARRAY(uint32_t) a = { 0 };
	bool right = true;
	uint32_t i;

	for (i = 0; i < 100000; i++)
		if (array_push(&a, i * 3))
			bail("out of memory");
	for (i = 0; i < 100000; i++)
		right &= a.v[i] == i * 3;
	ok(right, "an array keeps what was pushed");
	is_int(array__reserve(&a.v, &a.cap, SIZE_MAX / 2, sizeof(*a.v)), -ENOMEM,
	       "a size that overflows is refused");
	is_int(a.v[99999], 99999 * 3, "after a refused size the array is unchanged");
	array_free(&a);
	ok(!a.v && !a.nr && !a.cap, "a freed array is empty");
}

static void test_arena(void)
{
	static const size_t sizes[] = { 1, 8, 100, 70000, 3, 64000, 17000, 24, 1 << 20, 8 };
	struct arena a = { 0 };
	uint8_t *p[1000];
	bool right = true;
	size_t i, k;

	for (i = 0; i < 1000; i++) {
		size_t size = sizes[i % ARRAY_SIZE(sizes)];

		p[i] = arena__alloc(&a, size);
		if (!p[i])
			bail("out of memory");
		right &= !((uintptr_t)p[i] % 8);
		for (k = 0; k < size; k += size > 1000 ? 997 : 1)
			right &= !p[i][k];
		memset(p[i], i, size);
	}
	for (i = 0; i < 1000; i++)
		right &= p[i][0] == (uint8_t)i &&
			 p[i][sizes[i % ARRAY_SIZE(sizes)] - 1] == (uint8_t)i;
	ok(right, "the arena gives zeroed, aligned memory that does not overlap");
	ok(!arena__alloc(&a, SIZE_MAX), "the arena does not give all memory");
	arena__free(&a);
}

static void test_strpool(void)
{
	struct strpool p = { 0 };
	const char *a = strpool__intern(&p, "name", 4), *b;
	char buf[] = "names";

	b = strpool__intern(&p, buf, 4);
	ok(a == b && a != buf, "equal strings are interned once");
	b = strpool__intern(&p, buf, 5);
	ok(a != b && !strcmp(b, "names"), "different strings stay different");
	ok(strpool__intern(&p, "", 0) == strpool__intern(&p, buf, 0),
	   "the empty string is interned once");
	ok(strpool__internf(&p, "na%s", "me") == a, "a formatted string is interned");
	strpool__free(&p);
}

static void test_idmap(void)
{
	struct idmap m = { 0 };
	bool right = true;
	uint32_t value;
	uint64_t i;

	ok(!idmap__get(&m, 0, &value), "an empty map finds nothing");
	/* Dense keys, sparse keys, and keys that differ only in their upper half. */
	for (i = 0; i < 50000; i++)
		if (idmap__put(&m, i, i) || idmap__put(&m, (i + 1) << 32, i + 1) ||
		    idmap__put(&m, (i + 1) * 0x10001000100ull + 0x8000000000000000ull, i + 2))
			bail("out of memory");
	for (i = 0; i < 50000; i++) {
		right &= idmap__get(&m, i, &value) && value == i;
		right &= idmap__get(&m, (i + 1) << 32, &value) && value == i + 1;
		right &= idmap__get(&m, (i + 1) * 0x10001000100ull + 0x8000000000000000ull,
				    &value) && value == i + 2;
	}
	ok(right, "the map finds all entries");
	ok(!idmap__get(&m, UINT64_MAX, &value), "the map does not find any other key");
	idmap__free(&m);
}

static void test_ids(void)
{
	struct ids ids = { 0 };
	uint32_t value, i;
	bool right = true;

	ok(!ids__get(&ids, 0, 1, &value), "without ids nothing is found");
	/*
	 * One process uses consecutive ids, but one id is missing, and two ids are swapped. The
	 * other process uses every 1000th id.
	 */
	for (i = 1; i <= 10000; i++)
		if (i != 500 && (ids__add(&ids, 0, i == 70 ? 71 : i == 71 ? 70 : i, i) != 1 ||
				 ids__add(&ids, 2, i * 1000, i) != 1))
			bail("out of memory");
	is_int(ids__add(&ids, 0, 7, 9), 0, "an id in a list is added once");
	is_int(ids__add(&ids, 2, 7000, 9), 0, "an id that is not in a list is added once");
	for (i = 1; i <= 10000; i++) {
		if (i == 500)
			continue;
		right &= ids__get(&ids, 0, i, &value) &&
			 value == (i == 70 ? 71 : i == 71 ? 70 : i);
		right &= ids__get(&ids, 2, i * 1000, &value) && value == i;
	}
	ok(right, "ids in lists and other ids are found with their values");
	ok(!ids__get(&ids, 0, 500, &value) && !ids__get(&ids, 0, 0, &value) &&
	   !ids__get(&ids, 0, 10001, &value) && !ids__get(&ids, 1, 1, &value) &&
	   !ids__get(&ids, 2, 1, &value), "ids that were not added are not found");
	is_int(ids__add(&ids, 0, 500, 1), 1, "an id that fills the gap can be added");
	ok(ids__get(&ids, 0, 500, &value) && value == 1,
	   "the id in the gap is found with its value");
	ok(ids.lists.v[0].nr == 10000 && ids.lists.v[2].nr == 0, "only ids in order are in lists");
	ids__free(&ids);
}

/* Most elements share their hash with other elements, even at both ends of the table. */
static void test_hashes(void)
{
	struct hashes h = { 0 };
	bool seen[30000] = { false }, right = true;
	size_t at = HASHES_START;
	uint32_t i, index;

	ok(!hashes__next(&h, 1, &at, &index), "without hashes nothing is found");
	for (i = 0; i < 30000; i++)
		if (hashes__add(&h, i < 100 ? UINT32_MAX : i < 200 ? 0 : i * 0x9e3779b9u, i))
			bail("out of memory");
	for (i = 0; i < 3; i++)
		for (at = HASHES_START; hashes__next(&h, i - 1, &at, &index);) {
			right &= i != 0 || index < 100;		/* the hashes UINT32_MAX, 0, 1 */
			right &= i != 1 || (index >= 100 && index < 200);
			seen[index] = true;
		}
	for (i = 200; i < 30000; i++)
		for (at = HASHES_START; hashes__next(&h, i * 0x9e3779b9u, &at, &index);)
			seen[index] |= index == i;
	for (i = 0; i < 30000; i++)
		right &= seen[i];
	ok(right, "each hash finds all its elements, and no others");
	ok(h.nr_slots < 2 * h.nr, "a large table has few free slots: %zu", h.nr_slots);
	hashes__free(&h);
}

static void test_msgs(void)
{
	struct msgs m = { 0 };
	int i;

	for (i = 0; i < MSGS_MAX + 10; i++)
		msgs__add(&m, "message %d", i);
	is_int(m.lines.nr, MSGS_MAX, "as many messages as allowed are kept");
	is_int(m.nr_dropped, 10, "the other messages are counted");
	is_str(m.lines.v[1], "message 1", "a kept message is unchanged");
	msgs__free(&m);
}

int main(void)
{
	test_array();
	test_arena();
	test_strpool();
	test_idmap();
	test_ids();
	test_hashes();
	test_msgs();
	return done_testing();
}
