// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Sums over time: no span loses time when bins become longer, and the number of bins is bounded.
 * Time in which a device runs several activities at once counts as busy once.
 */
#include <stdlib.h>

#include "join/times.h"
#include "tap.h"

#define MS	1000000ull

static struct bin_value sum_of(const struct bins *b, uint32_t key)
{
	struct bin_value sum = { 0 };
	size_t i;

	for (i = 0; i < b->list.nr; i++)
		if (b->list.v[i].key == key)
			sum.ns += b->list.v[i].ns, sum.nr += b->list.v[i].nr,
				sum.bytes += b->list.v[i].bytes;
	return sum;
}

/* Return: the start of the bin of @sum, in units of 1 << shift ns. */
static uint64_t bin_of(const struct bins *b, const struct bin_sum *sum)
{
	return b->scale.first + bins__index(&b->scale, sum);
}

/* Return: the ns that a key has in the bin that contains @time_ns. */
static uint64_t ns_at(const struct bins *b, uint32_t key, uint64_t time_ns)
{
	uint64_t ns = 0;
	size_t i;

	for (i = 0; i < b->list.nr; i++)
		if (b->list.v[i].key == key &&
		    bin_of(b, &b->list.v[i]) == time_ns >> b->scale.shift)
			ns += b->list.v[i].ns;
	return ns;
}

/* Keys that are both even or both odd form a group. */
static uint32_t group_of(void *ctx, uint32_t key)
{
	(void)ctx;
	return key % 2;
}

/* Keys 4n to 4n + 3 may be merged into one key. */
static int by_four(void *ctx, uint32_t key, uint32_t *to)
{
	(void)ctx;
	*to = key / 4 * 4;
	return 0;
}

static const struct bins_keys plain = { .group = group_of }, no_groups = { NULL, NULL, NULL };
static const struct bins_keys in_fours = { .group = group_of, .coarser = by_four };

static void spans(void)
{
	struct bins b;

	bins__init(&b, 10000, &plain);
	/* The span covers half a bin, three whole bins of 1024 ns, and a quarter of a bin. */
	bins__add(&b, 1, 512, 4352, &(struct bin_value){ .ns = 3840, .nr = 1, .bytes = 7 });
	is_int(ns_at(&b, 1, 0), 512, "the first bin has its part of the span");
	is_int(ns_at(&b, 1, 2048), 1024, "a bin inside the span is full");
	is_int(ns_at(&b, 1, 4100), 256, "the last bin has its part of the span");
	is_int(b.list.v[0].nr + b.list.v[0].bytes, 8, "the span's counts are in its first bin");
	is_int(b.list.nr, 5, "there are no bins outside a span");
	/* If several keys share a wait's time, each key has fewer ns than the wait's span. */
	bins__add(&b, 2, 0, 4096, &(struct bin_value){ .ns = 10, .nr = 1 });
	is_int(sum_of(&b, 2).ns, 10,
	       "the bins have all ns of a span, even if the ns do not divide evenly");
	is_int(ns_at(&b, 2, 0) + ns_at(&b, 2, 1024), 5, "ns are spread evenly over the span");
	/* If a sum has many short durations, its count is spread, too, as in filter__cut(). */
	bins__add(&b, 5, 0, 4096, &(struct bin_value){ .ns = 10, .nr = 6 });
	is_int(sum_of(&b, 5).nr, 6, "the counts of all bins add up to the sum's count");
	is_int(b.list.v[b.list.nr - 1].nr + b.list.v[b.list.nr - 2].nr, 3,
	       "the count of a sum is spread evenly");
	/* A span that ends exactly at the end of a bin, then a span without length. */
	bins__add(&b, 3, 1024, 2048, &(struct bin_value){ .ns = 1024, .nr = 1 });
	is_int(ns_at(&b, 3, 2048), 0, "a span has no part in the bin after its end");
	bins__add(&b, 4, 2048, 2048, &(struct bin_value){ .nr = 1 });
	is_int(sum_of(&b, 4).nr, 1, "a span of length 0 is counted");
	bins__exit(&b);
}

static void growth(void)
{
	uint64_t seed = 1, ns = 0, in_order = 1, i;
	struct bins b;

	bins__init(&b, 2000, &no_groups);
	for (i = 0; i < 100000; i++) {
		uint64_t from_ns, long_ns;

		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		from_ns = 1000 * MS + (seed >> 33) % (i * 1000 + 1);
		long_ns = (seed >> 20) % 5000;
		ns += long_ns;
		if (bins__add(&b, i % 100, from_ns, from_ns + long_ns,
			      &(struct bin_value){ .ns = long_ns, .nr = 1 }))
			break;
	}
	is_int(i, 100000, "all spans are added");
	ok(b.list.nr <= 2000 && b.scale.last - b.scale.first < BINS_MAX,
	   "there are at most as many sums as allowed");
	ok(b.scale.first < b.scale.last, "there are still several bins");
	is_int(bins__finish(&b, 1500), 0, "bins can be finished");
	for (i = 1; i < b.list.nr; i++)
		in_order &= b.list.v[i - 1].key < b.list.v[i].key ||
			    (b.list.v[i - 1].key == b.list.v[i].key &&
			     bin_of(&b, &b.list.v[i - 1]) < bin_of(&b, &b.list.v[i]));
	ok(in_order, "each sum exists once");
	for (i = 0; i < 100; i++)
		ns -= sum_of(&b, i).ns;
	is_int(ns, 0, "nothing of any span is lost");
	bins__exit(&b);

	/* The smallest and the largest possible time. */
	bins__init(&b, 2000, &plain);
	bins__add(&b, 0, 1, 2, &(struct bin_value){ .ns = 1, .nr = 1 });
	bins__add(&b, 0, UINT64_MAX - 5, UINT64_MAX, &(struct bin_value){ .ns = 5, .nr = 1 });
	bins__add(&b, 0, 0, UINT64_MAX, &(struct bin_value){ .ns = UINT64_MAX - 100, .nr = 1 });
	is_int(sum_of(&b, 0).nr, 3, "spans at the smallest and the largest time are added");
	ok(sum_of(&b, 0).ns == UINT64_MAX - 94,
	   "spans at the smallest and the largest time keep all their ns");
	bins__exit(&b);

}

/* Adds @nr keys with @ns in each of 100 bins; every 50th key has 100 times @ns. */
static uint64_t add_keys(struct bins *b, uint32_t nr, uint64_t ns)
{
	uint64_t all = 0, bin;
	uint32_t key;
	int err = 0;

	for (bin = 0; bin < 100; bin++) {
		for (key = 0; key < nr; key++) {
			uint64_t this_ns = key % 50 ? ns : 100 * ns;

			err |= bins__add(b, key, bin << 20, bin << 20,
					 &(struct bin_value){ .ns = this_ns, .nr = 1 });
			all += this_ns;
		}
	}
	is_int(err, 0, "%u keys: all are added", nr);
	return all;
}

static uint64_t sum_of_all(const struct bins *b, uint64_t *nr)
{
	uint64_t ns = 0;
	size_t i;

	for (i = 0, *nr = 0; i < b->list.nr; i++) {
		ns += b->list.v[i].ns;
		*nr += b->list.v[i].nr;
	}
	return ns;
}

static void groups(void)
{
	uint64_t all, nr;
	struct bins b;

	/* The largest keys have two thirds of the time. */
	bins__init(&b, 20000, &plain);
	all = add_keys(&b, 5000, 10);
	is_int(bins__finish(&b, 10000), 0, "many keys: bins__finish() succeeds");
	ok(b.list.nr <= 10000, "many keys: %zu sums", b.list.nr);
	ok(sum_of_all(&b, &nr) == all && nr == 500000, "many keys: nothing is lost");
	is_int(sum_of(&b, 50).ns, 100 * 1000, "many keys: a key with much time keeps its own sum");
	is_int(sum_of(&b, 51).ns, 0, "many keys: a key with little time has no sum of its own");
	is_int(bins__key(&b, 51), BINS_GROUP(1),
	       "many keys: the time of a key with little time is in its group");
	ok(b.nr_grouped > 4000 && b.nr_grouped <= 4900, "many keys: %lu keys are in groups",
	   (unsigned long)b.nr_grouped);
	ok(b.scale.last - b.scale.first >= BINS_MIN / 2, "many keys: there are still enough bins");
	bins__exit(&b);

	/* The caller can merge keys. The many keys with little time have much time together. */
	bins__init(&b, 20000, &in_fours);
	all = add_keys(&b, 5000, 10);
	is_int(bins__finish(&b, 10000), 0, "coarser keys: bins__finish() succeeds");
	ok(sum_of_all(&b, &nr) == all && nr == 500000, "coarser keys: nothing is lost");
	ok(b.is_coarse, "coarser keys: keys were merged");
	ok(sum_of(&b, 48).ns >= 100 * 1000, "coarser keys: one sum has the time of four keys");
	is_int(bins__key(&b, 50), 48, "coarser keys: the merged key is found");
	is_int(sum_of(&b, 50).ns, 0, "coarser keys: a merged key has no sum of its own");
	bins__exit(&b);

	/* If keys have no groups, bins become longer. */
	bins__init(&b, 2000, &no_groups);
	all = add_keys(&b, 500, 10);
	is_int(bins__finish(&b, 600), 0, "no groups: bins__finish() succeeds");
	ok(sum_of_all(&b, &nr) == all && b.list.nr == 500, "no groups: each key has one sum");
	bins__exit(&b);
	bins__init(&b, 2000, &no_groups);
	add_keys(&b, 2000, 10);
	is_int(bins__finish(&b, 600), 0,
	       "no groups, and more keys than sums: bins__finish() succeeds");
	ok(b.full && !b.list.nr, "no groups, and more keys than sums: no sum is kept");
	bins__exit(&b);
}

/* Moves part of one key's time to another key, bin by bin. */
static void moves(void)
{
	uint64_t all, nr;
	struct bins b;

	bins__init(&b, 10000, &plain);
	bins__add(&b, 1, 512, 4352, &(struct bin_value){ .ns = 3840, .nr = 1, .bytes = 7 });
	bins__add(&b, 1, 5000, 6000, &(struct bin_value){ .ns = 1000, .nr = 1 });
	is_int(bins__move(&b, 1, 3, 512, 2560) ?: bins__finish(&b, 10000), 0,
	       "moved: the move succeeds");
	is_int(sum_of(&b, 3).ns, 2048, "moved: the new key has the ns of the span");
	is_int(ns_at(&b, 3, 0) + ns_at(&b, 1, 0), 512,
	       "moved: both keys have as much in a bin as before");
	is_int(ns_at(&b, 1, 0) + ns_at(&b, 1, 1024), 0, "moved: bins in the span are empty");
	is_int(ns_at(&b, 1, 2048), 512, "moved: a bin that the span covers partly keeps the rest");
	is_int(ns_at(&b, 1, 5000), 256 + 120, "moved: time after the span stays");
	is_int(sum_of(&b, 1).nr + sum_of(&b, 1).bytes, 9, "moved: counts stay");
	bins__exit(&b);

	bins__init(&b, 20000, &plain);
	all = add_keys(&b, 5000, 10);
	is_int(bins__finish(&b, 10000) ?: bins__move(&b, 51, 6001, 1000 * MS, 1000 * MS + 50), 0,
	       "time of a key in a group: the move succeeds");
	ok(sum_of_all(&b, &nr) == all && !sum_of(&b, 6001).ns,
	   "time of a key in a group: a moved time stays in the group");
	bins__exit(&b);
}

/* Tests keys beyond the largest key number. */
static void last_keys(void)
{
	struct bins b;

	bins__init(&b, 1000, &plain);
	bins__add(&b, UINT32_MAX, 0, 1000, &(struct bin_value){ .ns = 7, .nr = 1 });
	bins__add(&b, BINS_GROUP(0) + 2, 0, 1000, &(struct bin_value){ .ns = 8, .nr = 1 });
	is_int(bins__finish(&b, 1000), 0, "more keys than numbers: bins__finish() succeeds");
	is_int(sum_of(&b, BINS_GROUP(1)).ns, 7, "the largest key is in the second group");
	is_int(sum_of(&b, BINS_GROUP(0)).ns, 8,
	       "the number of a group, used as a key, is in the first group");
	bins__exit(&b);
}

/* Counts whose sum would overflow stay in several sums. */
static void counts(void)
{
	struct bins b;
	int i;

	bins__init(&b, 1000, &plain);
	for (i = 0; i < 3; i++)
		bins__add(&b, 1, 0, 0, &(struct bin_value){ .ns = 1, .nr = 3000000000u });
	is_int(bins__finish(&b, 1000), 0, "large counts: bins__finish() succeeds");
	is_int(b.list.nr, 3, "large counts: no sum overflows");
	bins__exit(&b);
}

static void devices(void)
{
	struct busy busy[2] = { 0 };
	struct times t;
	uint64_t ns = 0;
	size_t i;

	times__init(&t, &plain, 0);
	/* Two streams, out of order: 10 to 20 ms overlaps 15 to 30; 40 to 50 contains 42 to 44. */
	busy__add(&busy[1], 40 * MS, 50 * MS);
	busy__add(&busy[1], 15 * MS, 30 * MS);
	busy__add(&busy[1], 42 * MS, 44 * MS);
	busy__add(&busy[1], 10 * MS, 20 * MS);
	busy__finish(&busy[1]);
	times__thread(&t, 3, "worker", LEAF_CPU, 10 * MS, 20 * MS, 10 * MS);
	is_int(times__finish(&t, busy, 2), 0, "row times are finished");
	is_int(t.row_list.nr, 0, "rows that were not requested are not kept");
	t.wanted = true;
	times__thread(&t, 3, "worker", LEAF_CPU, 10 * MS, 20 * MS, 10 * MS);
	is_int(times__finish(&t, busy, 2), 0, "rows are finished");
	is_int(t.row_list.nr, 2, "the device that worked and the thread have one row each");
	for (i = 0; i < t.rows.list.nr; i++)
		if (t.row_list.v[t.rows.list.v[i].key].device)
			ns += t.rows.list.v[i].ns;
	is_int(ns, 30 * MS, "overlapping device work counts once");
	ok(t.sums.scale.shift >= t.rows.scale.shift,
	   "bins of rows are at most as long as bins of sums");
	times__exit(&t);
	busy__free(&busy[1]);
}

int main(void)
{
	spans();
	growth();
	groups();
	moves();
	last_keys();
	counts();
	devices();
	return done_testing();
}
