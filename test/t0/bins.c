// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Sums over time: nothing of a span is lost however the bins grow, and their number is bounded. A device
 * is busy once, whatever runs on it at a time.
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
			bin_value__add(&sum, &b->list.v[i].value);
	return sum;
}

/* Return: the ns of a key in the bin of a time. */
static uint64_t ns_at(const struct bins *b, uint32_t key, uint64_t time_ns)
{
	size_t i;

	for (i = 0; i < b->list.nr; i++)
		if (b->list.v[i].key == key && b->list.v[i].bin == time_ns >> b->scale.shift)
			return b->list.v[i].value.ns;
	return 0;
}

static void spans(void)
{
	struct bins b;

	bins__init(&b, 10000, SIZE_MAX);
	/* Bins of 1024 ns: a half, three whole ones, a quarter. */
	bins__add(&b, 1, 512, 4352, &(struct bin_value){ 3840, 1, 7 });
	is_int(ns_at(&b, 1, 0), 512, "the part in the first bin");
	is_int(ns_at(&b, 1, 2048), 1024, "a whole bin");
	is_int(ns_at(&b, 1, 4100), 256, "the part in the last bin");
	is_int(b.list.v[0].value.nr + b.list.v[0].value.bytes, 8, "counts belong to the begin");
	is_int(b.list.nr, 5, "no more bins than that");
	/* A wait that is shared out has fewer ns than its span. */
	bins__add(&b, 2, 0, 4096, &(struct bin_value){ .ns = 10, .nr = 1 });
	is_int(sum_of(&b, 2).ns, 10, "ns that do not divide are all there");
	is_int(ns_at(&b, 2, 0) + ns_at(&b, 2, 1024), 5, "evenly over the span");
	/* One that ends where a bin does; one of no length. */
	bins__add(&b, 3, 1024, 2048, &(struct bin_value){ .ns = 1024, .nr = 1 });
	is_int(ns_at(&b, 3, 2048), 0, "a span has no part in the bin after it");
	bins__add(&b, 4, 2048, 2048, &(struct bin_value){ .nr = 1 });
	is_int(sum_of(&b, 4).nr, 1, "a span of no length counts");
	bins__exit(&b);
}

static void growth(void)
{
	uint64_t seed = 1, ns = 0, in_order = 1, i;
	struct bins b;

	bins__init(&b, 2000, SIZE_MAX);
	for (i = 0; i < 100000; i++) {
		uint64_t from_ns, long_ns;

		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		from_ns = 1000 * MS + (seed >> 33) % (i * 1000 + 1);
		long_ns = (seed >> 20) % 5000;
		ns += long_ns;
		if (bins__add(&b, i % 100, from_ns, from_ns + long_ns,
			      &(struct bin_value){ long_ns, 1, 0 }))
			break;
	}
	is_int(i, 100000, "all are added");
	ok(b.list.nr <= 2000 && b.scale.last - b.scale.first < BINS_MAX, "no more sums than allowed");
	ok(b.scale.first < b.scale.last, "and still several bins");
	bins__sort(&b);
	for (i = 1; i < b.list.nr; i++)
		in_order &= b.list.v[i - 1].key < b.list.v[i].key ||
			    (b.list.v[i - 1].key == b.list.v[i].key && b.list.v[i - 1].bin < b.list.v[i].bin);
	ok(in_order, "each sum is there once");
	for (i = 0; i < 100; i++)
		ns -= sum_of(&b, i).ns;
	is_int(ns, 0, "nothing of any span is lost");
	bins__exit(&b);

	/* The first and the last time that there can be. */
	bins__init(&b, 2000, SIZE_MAX);
	bins__add(&b, 0, 1, 2, &(struct bin_value){ 1, 1, 0 });
	bins__add(&b, 0, UINT64_MAX - 5, UINT64_MAX, &(struct bin_value){ 5, 1, 0 });
	bins__add(&b, 0, 0, UINT64_MAX, &(struct bin_value){ UINT64_MAX - 100, 1, 0 });
	is_int(sum_of(&b, 0).nr, 3, "any times");
	ok(sum_of(&b, 0).ns == UINT64_MAX - 94, "and all of their ns");
	bins__exit(&b);

	/* More keys than sums. */
	bins__init(&b, 1000, SIZE_MAX);
	for (i = 0; i < 2000; i++)
		bins__add(&b, i, i * 1000, i * 1000 + 10, &(struct bin_value){ 10, 1, 0 });
	ok(b.full && !b.list.nr, "too many keys: none is kept");
	bins__exit(&b);
	bins__init(&b, 1000, 3);
	for (i = 0; i < 4; i++)
		is_int(bins__add(&b, i, 1000, 1010, &(struct bin_value){ 10, 1, 0 }), 0, "a key");
	ok(b.full && !b.list.nr, "a key more than are wanted: none is kept");
	is_int(bins__add(&b, 0, 1000, 1010, &(struct bin_value){ 10, 1, 0 }), 0, "and none is added");
	bins__exit(&b);
}

static void devices(void)
{
	struct times t;
	uint64_t ns = 0;
	size_t i;

	times__init(&t);
	is_int(times__device(&t, 0, 1, 2), 0, "not wanted");
	is_int(t.spans.nr, 0, "nothing kept");
	t.wanted = true;
	/* Two streams, out of order: 10 to 20 and 15 to 30, 40 to 50 around 42 to 44. */
	times__device(&t, 1, 40 * MS, 50 * MS);
	times__device(&t, 1, 15 * MS, 30 * MS);
	times__device(&t, 1, 42 * MS, 44 * MS);
	times__device(&t, 1, 10 * MS, 20 * MS);
	times__device(&t, 1, 0, 20 * MS);		/* no time is known */
	times__thread(&t, 3, "worker", LEAF_CPU, 10 * MS, 20 * MS, 10 * MS);
	is_int(times__finish(&t), 0, "finished");
	is_int(t.row_list.nr, 2, "a row for the device, one for the thread");
	for (i = 0; i < t.rows.list.nr; i++)
		if (t.row_list.v[t.rows.list.v[i].key].device)
			ns += t.rows.list.v[i].value.ns;
	is_int(ns, 30 * MS, "busy: a union");
	ok(t.sums.scale.shift >= t.rows.scale.shift, "rows are no coarser than sums");
	times__exit(&t);
}

int main(void)
{
	spans();
	growth();
	devices();
	return done_testing();
}
