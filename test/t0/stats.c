// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Compares sums, extremes, deviations and medians with results that are computed from all values.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "stats.h"
#include "tap.h"
#include "util.h"

static uint64_t values[20001];

static int cmp(const void *a, const void *b)
{
	return cmp3(*(const uint64_t *)a, *(const uint64_t *)b);
}

/* Return: the deviation, rounded down, by Newton's method on the exact variance. */
static uint64_t deviation(size_t nr)
{
	unsigned __int128 sum = 0, squares = 0, root, next;
	size_t i;

	for (i = 0; i < nr; i++)
		sum += values[i];
	/* Multiplied by nr, so that the mean is not rounded. */
	for (i = 0; i < nr; i++) {
		__int128 d = (__int128)values[i] * nr - (__int128)sum;

		squares += (unsigned __int128)(d * d / nr);
	}
	squares = squares / nr / (nr - 1);
	for (root = squares + 1, next = (root + 1) / 2; next < root;) {
		root = next;
		next = (root + squares / root) / 2;
	}
	return root;
}

static void check(const char *name, size_t nr)
{
	struct stats s = { 0 }, half = { 0 };
	uint64_t sum = 0, median, got;
	size_t i;
	int err = 0;

	for (i = 0; i < nr; i++) {
		err |= stats__add(i % 3 ? &s : &half, values[i]);
		sum += values[i];
	}
	err |= stats__merge(&s, &half);
	is_int(err, 0, "%s: all values are added", name);
	got = stats__stddev(&s);
	/* The test's own deviation() rounds once more than the code under test. */
	ok(got - deviation(nr) + 1 <= 2, "%s: deviation %" PRIu64 ", exactly %" PRIu64, name,
	   got, deviation(nr));
	qsort(values, nr, sizeof(*values), cmp);
	ok(s.nr == nr && stats__sum(&s) == sum && s.min == values[0] &&
		   stats__max(&s) == values[nr - 1],
	   "%s: number, sum, least and largest value are exact", name);
	ok(stats__mean(&s) == sum / nr, "%s: the mean is exact", name);
	median = values[(nr - 1) / 2] + (values[nr / 2] - values[(nr - 1) / 2]) / 2;
	got = stats__median(&s);
	ok((got > median ? got - median : median - got) <= median / 256 + 1,
	   "%s: median %" PRIu64 ", exactly %" PRIu64, name, got, median);
	stats__free(&half);
	stats__free(&s);
}

int main(void)
{
	struct stats s = { 0 };
	uint64_t random = 88172645463325252ull;
	size_t i;

	ok(!stats__mean(&s) && !stats__stddev(&s) && !stats__median(&s),
	   "without values all results are 0");
	is_int(stats__add(&s, 7), 0, "a value is added");
	ok(stats__mean(&s) == 7 && !stats__stddev(&s) && stats__median(&s) == 7,
	   "a single value is its own mean and median");
	is_int(stats__add_part(&s, 100, 30, false), 0, "a part of an unfinished value is added");
	ok(s.nr == 1 && stats__sum(&s) == 7 && stats__total(&s) == 37,
	   "a part of an unfinished value is only in the total");
	is_int(stats__add_part(&s, 100, 70, true), 0,
	       "the last part is added with the whole value");
	ok(s.nr == 2 && stats__sum(&s) == 107 && stats__total(&s) == 107,
	   "with all parts the total equals the sum");
	stats__free(&s);
	stats__add(&s, 7);
	is_int(stats__add(&s, UINT64_MAX), 0, "the greatest value is added");
	ok(s.min == 7 && stats__max(&s) == UINT64_MAX,
	   "the least and the greatest of two values are right");
	stats__free(&s);
	is_int(stats__add(&s, 1000000007), 0, "a large value is added");
	ok(stats__median(&s) == 1000000007, "a single value is exactly its own median");
	stats__free(&s);

	for (i = 0; i < ARRAY_SIZE(values); i++)
		values[i] = i % 100;
	check("small", 20000);
	for (i = 0; i < ARRAY_SIZE(values); i++)
		values[i] = 5000000000 + i % 3;
	check("close together", 20001);
	for (i = 0; i < ARRAY_SIZE(values); i++) {
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		values[i] = random >> (20 + random % 30);
	}
	check("far apart", 20001);
	check("two", 2);
	return done_testing();
}
