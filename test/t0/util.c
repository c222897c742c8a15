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
	is_int(a.v[99999], 99999 * 3, "and leaves the array as it was");
	array_free(&a);
	ok(!a.v && !a.nr && !a.cap, "freed, it is empty");
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
	ok(!arena__alloc(&a, SIZE_MAX), "but not all there is");
	arena__free(&a);
}

static void test_strpool(void)
{
	struct strpool p = { 0 };
	const char *a = strpool__intern(&p, "name", 4), *b;
	char buf[] = "names";

	b = strpool__intern(&p, buf, 4);
	ok(a == b && a != buf, "equal strings are one");
	b = strpool__intern(&p, buf, 5);
	ok(a != b && !strcmp(b, "names"), "others are not");
	ok(strpool__intern(&p, "", 0) == strpool__intern(&p, buf, 0), "nor the empty one twice");
	ok(strpool__internf(&p, "na%s", "me") == a, "formatted");
	strpool__free(&p);
}

static void test_idmap(void)
{
	struct idmap m = { 0 };
	bool right = true;
	uint32_t value;
	uint64_t i;

	ok(!idmap__get(&m, 0, &value), "an empty map has nothing");
	/* Dense keys, sparse keys, and keys that differ in their upper half only. */
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
	ok(right, "the map has all that was put");
	ok(!idmap__get(&m, UINT64_MAX, &value), "and nothing else");
	idmap__free(&m);
}

static void test_msgs(void)
{
	struct msgs m = { 0 };
	int i;

	for (i = 0; i < MSGS_MAX + 10; i++)
		msgs__add(&m, "message %d", i);
	is_int(m.lines.nr, MSGS_MAX, "so many messages are kept");
	is_int(m.nr_dropped, 10, "the others are counted");
	is_str(m.lines.v[1], "message 1", "as they were");
	msgs__free(&m);
}

int main(void)
{
	test_array();
	test_arena();
	test_strpool();
	test_idmap();
	test_msgs();
	return done_testing();
}
