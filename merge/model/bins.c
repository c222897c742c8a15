// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/bins.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void bins__init(struct bins *b, size_t max_sums, size_t max_keys)
{
	memset(b, 0, sizeof(*b));
	b->scale.shift = BINS_SHIFT_MIN;
	b->scale.first = UINT64_MAX;
	b->max_sums = max_sums;
	b->max_keys = max_keys;
	b->secret = secret();
}

void bins__exit(struct bins *b)
{
	array_free(&b->list);
	array_free(&b->recent);
	hashes__free(&b->by_bin);
}

static uint32_t bins__hash(const struct bins *b, uint32_t key, uint64_t bin)
{
	return hash__mix(bin, key, b->secret);
}

static int bin_sum__cmp(const void *va, const void *vb, void *ctx)
{
	const struct bin_sum *a = va, *b = vb;

	(void)ctx;
	return cmp3(a->key, b->key) ?: cmp3(a->bin, b->bin);
}

void bins__sort(struct bins *b)
{
	hashes__free(&b->by_bin);
	array_free(&b->recent);
	array_shrink(&b->list);
	array__sort(b->list.v, b->list.nr, sizeof(*b->list.v), bin_sum__cmp, NULL);
}

/* Finds the sum of a key and a bin. Return: whether there is one. */
static bool bins__find(const struct bins *b, uint32_t hash, uint32_t key, uint64_t bin, uint32_t *idx)
{
	size_t at = HASHES_START;

	while (hashes__next(&b->by_bin, hash, &at, idx))
		if (b->list.v[*idx].key == key && b->list.v[*idx].bin == bin)
			return true;
	return false;
}

int bins__widen(struct bins *b, unsigned int shift)
{
	unsigned int by = shift - b->scale.shift;
	size_t i, nr = 0;
	uint32_t hash, idx;
	int err = 0;

	if (shift <= b->scale.shift)
		return 0;
	b->scale.shift = shift;
	if (b->scale.first > b->scale.last)
		return 0;
	b->scale.first >>= by;
	b->scale.last >>= by;
	hashes__free(&b->by_bin);
	for (i = 0; i < b->recent.nr; i++)
		b->recent.v[i] = NO_INDEX;
	for (i = 0; i < b->list.nr && !err; i++) {
		struct bin_sum sum = b->list.v[i];

		sum.bin >>= by;
		hash = bins__hash(b, sum.key, sum.bin);
		if (bins__find(b, hash, sum.key, sum.bin, &idx)) {
			bin_value__add(&b->list.v[idx].value, &sum.value);
			continue;
		}
		err = hashes__add(&b->by_bin, hash, nr);
		b->list.v[nr++] = sum;
	}
	b->list.nr = nr;
	return err;
}

static void bins__give_up(struct bins *b)
{
	b->full = true;
	array_free(&b->list);
	array_free(&b->recent);
	hashes__free(&b->by_bin);
}

/* Makes room for one more sum. Return: 0 or -ENOMEM; perhaps b->full. */
static int bins__make_room(struct bins *b)
{
	int err = 0;

	/* Half of the room at least becomes free, lest each of the next sums makes the bins longer. */
	while (!err && b->list.nr >= b->max_sums / 2 && b->scale.first < b->scale.last)
		err = bins__widen(b, b->scale.shift + 1);
	if (!err && b->list.nr >= b->max_sums)
		bins__give_up(b);
	return err;
}

/* Makes the bins long enough for a span. Return: 0 or -ENOMEM. */
static int bins__reach(struct bins *b, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t first = min_t(uint64_t, b->scale.first, from_ns >> b->scale.shift);
	uint64_t last = max_t(uint64_t, b->scale.last, to_ns >> b->scale.shift);
	unsigned int shift = b->scale.shift;
	int err;

	for (; last - first >= BINS_MAX; shift++) {
		first >>= 1;
		last >>= 1;
	}
	err = bins__widen(b, shift);
	b->scale.first = first;
	b->scale.last = last;
	return err;
}

/* Finds or adds the sum of a key and a bin. Return: 0 or -ENOMEM. */
static int bins__get(struct bins *b, uint32_t key, uint64_t bin, uint32_t *idx)
{
	uint32_t hash = bins__hash(b, key, bin);

	if (bins__find(b, hash, key, bin, idx))
		return 0;
	*idx = b->list.nr;
	return array_push(&b->list, ((struct bin_sum){ .bin = bin, .key = key })) ?:
	       hashes__add(&b->by_bin, hash, *idx);
}

static int bins__add_value(struct bins *b, uint32_t key, uint64_t bin, const struct bin_value *value)
{
	uint32_t *idx = &b->recent.v[key];
	int err;

	if (*idx == NO_INDEX || b->list.v[*idx].bin != bin) {
		err = bins__get(b, key, bin, idx);
		if (err)
			return err;
	}
	bin_value__add(&b->list.v[*idx].value, value);
	return 0;
}

/* Makes room for sums of a key. Return: 0 or -ENOMEM; perhaps b->full. */
static int bins__expect(struct bins *b, uint32_t key)
{
	int err = 0;

	if (!b->full && key >= b->max_keys)
		bins__give_up(b);
	if (b->full)
		return 0;
	while (!err && b->recent.nr <= key)
		err = array_push(&b->recent, NO_INDEX);
	if (!err && b->list.nr + BINS_MAX > b->max_sums)
		err = bins__make_room(b);
	return err;
}

int bins__add(struct bins *b, uint32_t key, uint64_t from_ns, uint64_t to_ns,
	      const struct bin_value *value)
{
	struct bin_value rest = *value, part;
	uint64_t span_ns, bin, end_ns, ns = 0;
	int err;

	to_ns = max_t(uint64_t, to_ns, from_ns);
	err = bins__expect(b, key);
	if (err || b->full)
		return err;
	/* A span that ends where a bin does has no part in the next one. */
	span_ns = to_ns - from_ns;
	to_ns -= span_ns != 0;
	err = bins__reach(b, from_ns, to_ns);
	for (bin = from_ns >> b->scale.shift; !err && bin <= to_ns >> b->scale.shift; bin++) {
		end_ns = min_t(uint64_t, ((bin + 1) << b->scale.shift) - 1, to_ns);
		part = rest;
		part.ns = end_ns == to_ns ? value->ns - ns :
			  (uint64_t)((unsigned __int128)value->ns * (end_ns + 1 - from_ns) / span_ns) - ns;
		ns += part.ns;
		err = bins__add_value(b, key, bin, &part);
		rest.nr = rest.bytes = 0;
	}
	return err;
}

int bins__absorb(struct bins *b, const struct bins *from, const uint32_t *keys, uint32_t first)
{
	unsigned int shift = from->scale.shift;
	size_t i;
	int err = 0;

	if (from->full && !b->full)
		bins__give_up(b);
	if (!b->full)
		err = bins__widen(b, shift);
	for (i = 0; i < from->list.nr && !err; i++) {
		const struct bin_sum *sum = &from->list.v[i];
		uint32_t key = keys ? keys[sum->key] : sum->key + first;
		uint64_t from_ns = sum->bin << shift;

		err = bins__expect(b, key);
		if (err || b->full)
			break;
		err = bins__reach(b, from_ns, from_ns | ((1ull << shift) - 1)) ?:
		      bins__add_value(b, key, from_ns >> b->scale.shift, &sum->value);
	}
	return err;
}
