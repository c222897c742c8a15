// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/bins.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * The smallest keys are summed up by group if the groups then have at most 1/SMALL_PART of all
 * time. Otherwise, keys are first replaced by their coarser keys.
 */
#define SMALL_PART	20

void bins__init(struct bins *b, size_t max_sums, const struct bins_keys *keys)
{
	memset(b, 0, sizeof(*b));
	b->scale.shift = BINS_SHIFT_MIN;
	b->scale.first = UINT64_MAX;
	b->max_sums = max_sums;
	b->of = *keys;
}

void bins__exit(struct bins *b)
{
	array_free(&b->list);
	array_free(&b->keys);
	array_free(&b->groups);
}

/* ---- the list in order ----------------------------------------------------------------------- */

/* Return: the number by which a sum is sorted: its key, then its bin. */
static uint32_t bins__order(const struct bins *b, const struct bin_sum *sum)
{
	return (uint32_t)sum->key << 8 | bins__index(&b->scale, sum);
}

#define DIGIT_BITS	11
#define NR_DIGITS	3		/* number of digits in 32 bits */

/* Makes one pass of a radix sort. */
static void bins__sort_digit(const struct bins *b, unsigned int digit, const struct bin_sum *from,
			     struct bin_sum *to, size_t nr)
{
	size_t starts[(1 << DIGIT_BITS) + 1] = { 0 }, i;
	unsigned int shift = digit * DIGIT_BITS, mask = (1 << DIGIT_BITS) - 1;

	for (i = 0; i < nr; i++)
		starts[(bins__order(b, &from[i]) >> shift & mask) + 1]++;
	for (i = 1; i <= mask; i++)
		starts[i] += starts[i - 1];
	for (i = 0; i < nr; i++)
		to[starts[bins__order(b, &from[i]) >> shift & mask]++] = from[i];
}

/* Unites neighbors of the sorted sums that have the same key and bin. */
static void bins__unite(struct bins *b)
{
	struct bin_sum *v = b->list.v;
	size_t i, nr = 0;

	for (i = 0; i < b->list.nr; i++) {
		struct bin_sum *last = nr ? &v[nr - 1] : NULL;

		if (!last || bins__order(b, last) != bins__order(b, &v[i]) ||
		    last->nr > UINT32_MAX - v[i].nr) {
			v[nr++] = v[i];
			continue;
		}
		last->ns += v[i].ns;
		last->bytes += v[i].bytes;
		last->nr += v[i].nr;
	}
	b->list.nr = b->nr_sorted = nr;
}

/* Return: whether sum @at and the sum before it are in order. */
static bool bins__is_next(const struct bins *b, size_t at)
{
	return !at || bins__order(b, &b->list.v[at - 1]) < bins__order(b, &b->list.v[at]);
}

/*
 * Sorts the list: sorts the part added since the last sort, then merges it with the part that was
 * already sorted. Return: 0 or -ENOMEM.
 */
static int bins__sort(struct bins *b)
{
	size_t nr = b->list.nr - b->nr_sorted, head, at = b->list.nr, i;
	struct bin_sum *tail, *sorted;

	for (i = 0; i < b->keys.nr; i++)
		if (b->keys.v[i].state == KEY_OWN)
			b->keys.v[i].at = NO_INDEX;
	for (i = 0; i < b->groups.nr; i++)
		b->groups.v[i] = NO_INDEX;
	while (nr && bins__is_next(b, b->nr_sorted)) {
		b->nr_sorted++;
		nr--;
	}
	if (!nr)
		return 0;
	head = b->nr_sorted;
	tail = b->list.v + head;
	sorted = calloc(nr, sizeof(*sorted));
	if (!sorted)
		return -ENOMEM;
	_Static_assert(NR_DIGITS == 3, "the last pass ends in @sorted");
	bins__sort_digit(b, 0, tail, sorted, nr);
	bins__sort_digit(b, 1, sorted, tail, nr);
	bins__sort_digit(b, 2, tail, sorted, nr);
	while (nr) {
		if (head && bins__order(b, &b->list.v[head - 1]) > bins__order(b, &sorted[nr - 1]))
			b->list.v[--at] = b->list.v[--head];
		else
			b->list.v[--at] = sorted[--nr];
	}
	free(sorted);
	bins__unite(b);
	return 0;
}

/* Makes bins 2^@by times as long. The sums must be sorted. */
static void bins__double(struct bins *b, unsigned int by)
{
	struct bin_scale was = b->scale;
	size_t i;

	b->scale.shift += by;
	if (was.first > was.last)
		return;
	b->scale.first >>= by;
	b->scale.last >>= by;
	for (i = 0; i < b->list.nr; i++)
		b->list.v[i].bin = (uint8_t)((was.first + bins__index(&was, &b->list.v[i])) >> by);
	bins__unite(b);
}

int bins__widen(struct bins *b, unsigned int shift)
{
	int err;

	if (shift <= b->scale.shift)
		return 0;
	err = bins__sort(b);
	if (!err)
		bins__double(b, shift - b->scale.shift);
	return err;
}

/* ---- fewer sums ------------------------------------------------------------------------------ */

/*
 * Return: the index after the last sum with the key of sum @from. *@ns: total time of these sums.
 */
static size_t bins__end_of_key(const struct bins *b, size_t from, uint64_t *ns)
{
	size_t i;

	for (i = from, *ns = 0; i < b->list.nr && b->list.v[i].key == b->list.v[from].key; i++)
		*ns += b->list.v[i].ns;
	return i;
}

static unsigned int log2_of(uint64_t ns)
{
	return ns ? 63 - __builtin_clzll(ns) : 0;
}

/*
 * Finds the keys to sum up by group so that at most @max sums remain.
 * Return: a value of log2_of(). Sum up all keys whose time has a smaller log2_of(), and then keys
 * whose time has this log2_of(), until *@more sums are gone.
 * *@small: whether groups then have only a small part of all time.
 */
static unsigned int bins__small_keys(const struct bins *b, size_t max, size_t *more, bool *small)
{
	uint64_t ns_of[64] = { 0 }, all_ns = 0, small_ns = 0, ns;
	size_t sums_of[64] = { 0 }, i, end, nr = b->list.nr;
	unsigned int size;

	for (i = 0; i < b->list.nr; i = end) {
		end = bins__end_of_key(b, i, &ns);
		all_ns += ns;
		if (b->list.v[i].key >= BINS_GROUP(0)) {
			small_ns += ns;
			continue;
		}
		ns_of[log2_of(ns)] += ns;
		sums_of[log2_of(ns)] += end - i;
	}
	for (size = 0; size < 63 && nr - sums_of[size] > max; size++) {
		nr -= sums_of[size];
		small_ns += ns_of[size];
	}
	*more = nr > max ? nr - max : 0;
	if (sums_of[size])
		small_ns +=
			ns_of[size] * ((double)min_t(size_t, *more, sums_of[size]) / sums_of[size]);
	*small = small_ns <= all_ns / SMALL_PART;
	return size;
}

/* Sets *@at to the variable that holds the index of a group's latest sum. Return: 0 or -ENOMEM. */
static int bins__find_group(struct bins *b, uint32_t group, uint32_t **at)
{
	int err = 0;

	while (!err && b->groups.nr <= group)
		err = array_push(&b->groups, NO_INDEX);
	*at = err ? NULL : &b->groups.v[group];
	return err;
}

/*
 * Gives the sums of the keys with the least time to the groups of these keys; see
 * bins__small_keys(). Return: 0 or -ENOMEM.
 */
static int bins__group(struct bins *b, unsigned int size, size_t more)
{
	size_t i, end, nr = 0;
	uint32_t *at;
	uint64_t ns;
	int err = 0;

	for (i = 0; i < b->list.nr && !err; i = end) {
		uint32_t key = b->list.v[i].key, group;

		end = bins__end_of_key(b, i, &ns);
		if (key >= BINS_GROUP(0) || log2_of(ns) > size ||
		    (log2_of(ns) == size && nr >= more))
			continue;
		if (log2_of(ns) == size)
			nr += end - i;
		group = b->of.group(b->of.ctx, key);
		err = bins__find_group(b, group, &at);
		b->keys.v[key] = (struct bins_key){ group, KEY_GROUPED };
		b->nr_grouped++;
		for (; i < end; i++)
			b->list.v[i].key = BINS_GROUP(group);
	}
	b->nr_sorted = 0;
	return err ?: bins__sort(b);
}

/* Replaces each key by its coarser key, see struct bins_keys. Return: 0 or -ENOMEM. */
static int bins__coarsen(struct bins *b)
{
	uint32_t i, to;
	int err = 0;

	b->is_coarse = true;
	for (i = 0; i < b->keys.nr && !err; i++) {
		if (b->keys.v[i].state != KEY_OWN)
			continue;
		err = b->of.coarser(b->of.ctx, i, &to);
		if (!err && to != i)
			b->keys.v[i] = (struct bins_key){ to, KEY_COARSER };
	}
	for (i = 0; i < b->list.nr && !err; i++)
		b->list.v[i].key = bins__key(b, b->list.v[i].key);
	b->nr_sorted = 0;
	return err ?: bins__sort(b);
}

/*
 * Makes bins longer, and then reduces the number of keys, until at most @max sums remain. Return: 0
 * or -ENOMEM.
 */
static int bins__reduce(struct bins *b, size_t max)
{
	int err = bins__sort(b);
	unsigned int size;
	size_t more;
	bool small;

	while (!err && b->list.nr > max) {
		if (b->scale.last - b->scale.first >= (b->of.group ? BINS_MIN : 1)) {
			bins__double(b, 1);
			continue;
		}
		if (!b->of.group) {
			b->full = true;
			b->list.nr = b->nr_sorted = 0;
			break;
		}
		size = bins__small_keys(b, max, &more, &small);
		if (!small && b->of.coarser && !b->is_coarse) {
			err = bins__coarsen(b);
			continue;
		}
		err = bins__group(b, size, more);
		/* Only sums of groups are left, and there are still too many. */
		if (!err && b->list.nr > max && b->scale.first == b->scale.last)
			break;
		if (!err && b->list.nr > max)
			bins__double(b, 1);
	}
	return err;
}

/* ---- adding ---------------------------------------------------------------------------------- */

/* Makes the bins long enough to include a span. Return: 0 or -ENOMEM. */
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

uint32_t bins__key(const struct bins *b, uint32_t key)
{
	if (key >= BINS_GROUP(0))
		return key;
	if (key < b->keys.nr && b->keys.v[key].state == KEY_COARSER)
		key = b->keys.v[key].at;
	if (key < b->keys.nr && b->keys.v[key].state == KEY_GROUPED)
		return BINS_GROUP(b->keys.v[key].at);
	return key;
}

/* Adds the missing keys up to @key to b->keys. Return: 0 or -ENOMEM. */
static int bins__learn(struct bins *b, uint32_t key)
{
	int err = 0;

	while (!err && b->keys.nr <= key) {
		uint32_t new = b->keys.nr, to = new;

		err = array_push(&b->keys, ((struct bins_key){ NO_INDEX, KEY_OWN }));
		if (!err && b->is_coarse)
			err = b->of.coarser(b->of.ctx, new, &to);
		if (!err && to != new)
			b->keys.v[new] = (struct bins_key){ to, KEY_COARSER };
	}
	return err;
}

/*
 * Replaces *@key by the key that took over its sums, and sets *@at to the variable that holds the
 * index of that key's latest sum. Return: 0 or -ENOMEM.
 */
static int bins__find(struct bins *b, uint32_t *key, uint32_t **at)
{
	int err = 0;

	if (*key < BINS_GROUP(0)) {
		err = bins__learn(b, *key);
		*key = bins__key(b, *key);
	} else {
		*key = BINS_GROUP(b->of.group(b->of.ctx, *key));
	}
	if (!err && *key >= BINS_GROUP(0))
		return bins__find_group(b, *key - BINS_GROUP(0), at);
	*at = err ? NULL : &b->keys.v[*key].at;
	return err;
}

static int bins__add_value(struct bins *b, uint32_t key, uint32_t *at, uint64_t bin,
			   const struct bin_value *value)
{
	struct bin_sum *sum = *at == NO_INDEX ? NULL : &b->list.v[*at];

	if (sum && sum->bin == (uint8_t)bin && sum->nr <= UINT32_MAX - value->nr) {
		sum->ns += value->ns;
		sum->bytes += value->bytes;
		sum->nr += value->nr;
		return 0;
	}
	*at = b->list.nr;
	return array_push(&b->list, ((struct bin_sum){
		.key = key, .bin = (uint8_t)bin, .ns = value->ns, .bytes = value->bytes,
		.nr = value->nr,
	}));
}

/* Makes room for the sums of one span. Return: 0 or -ENOMEM. */
static int bins__make_room(struct bins *b)
{
	/*
	 * Free half of the room. If less room were free, almost every later sum would make the bins
	 * longer again.
	 */
	if (b->list.nr + BINS_MAX > b->max_sums || b->list.nr - b->nr_sorted > b->max_sums / 2)
		return bins__reduce(b, b->max_sums / 2);
	return 0;
}

/* Adds a span to the sums of a key; with @take, subtracts its ns instead. Return: 0 or -ENOMEM. */
static int bins__add_span(struct bins *b, uint32_t key, uint64_t from_ns, uint64_t to_ns,
			  const struct bin_value *value, bool take)
{
	uint64_t span_ns, bin, end_ns, done_ns, bytes = value->bytes, ns = 0;
	struct bin_value part;
	uint32_t nr = 0;
	uint32_t *at;
	int err;

	if (b->full)
		return 0;
	to_ns = max_t(uint64_t, to_ns, from_ns);
	/* A span that ends where a bin ends has no part in the next bin. */
	span_ns = to_ns - from_ns;
	to_ns -= span_ns != 0;
	err = bins__make_room(b) ?: bins__reach(b, from_ns, to_ns) ?: bins__find(b, &key, &at);
	if (b->full)
		return err;
	for (bin = from_ns >> b->scale.shift; !err && bin <= to_ns >> b->scale.shift; bin++) {
		end_ns = min_t(uint64_t, ((bin + 1) << b->scale.shift) - 1, to_ns);
		part = (struct bin_value){ value->ns - ns, bytes, value->nr - nr };
		if (end_ns != to_ns) {		/* round as filter__cut() does */
			done_ns = end_ns + 1 - from_ns;
			part.ns = (uint64_t)((unsigned __int128)value->ns * done_ns / span_ns) - ns;
			part.nr = ((unsigned __int128)value->nr * done_ns + span_ns - 1) / span_ns -
				  nr;
		}
		ns += part.ns;
		nr += part.nr;
		bytes = 0;
		if (take)
			part.ns = -part.ns;	/* may wrap around; the sum is right again when its
						 * parts are united */
		err = bins__add_value(b, key, at, bin, &part);
	}
	return err;
}

int bins__add(struct bins *b, uint32_t key, uint64_t from_ns, uint64_t to_ns,
	      const struct bin_value *value)
{
	return bins__add_span(b, key, from_ns, to_ns, value, false);
}

int bins__move(struct bins *b, uint32_t from, uint32_t to, uint64_t from_ns, uint64_t to_ns)
{
	const struct bin_value value = { .ns = to_ns - from_ns };

	if (to_ns <= from_ns || bins__key(b, from) >= BINS_GROUP(0))
		return 0;
	return bins__add_span(b, to, from_ns, to_ns, &value, false) ?:
	       bins__add_span(b, from, from_ns, to_ns, &value, true);
}

static int bins__add_to_group(struct bins *b, uint32_t group, uint64_t time_ns,
			      const struct bin_value *value)
{
	uint32_t *at;

	return bins__make_room(b) ?: bins__reach(b, time_ns, time_ns) ?:
	       bins__find_group(b, group, &at) ?:
	       bins__add_value(b, BINS_GROUP(group), at, time_ns >> b->scale.shift, value);
}

/*
 * Marks the keys that @from has summed up by group. The arguments are as in bins__absorb(). Return:
 * 0 or -ENOMEM.
 */
static int bins__absorb_keys(struct bins *b, const struct bins *from, const uint32_t *keys,
			     uint32_t first, const uint32_t *groups)
{
	uint32_t *at;
	size_t i;
	int err = 0;

	if (from->is_coarse && !b->is_coarse)
		err = bins__coarsen(b);
	for (i = 0; i < from->keys.nr && !err; i++) {
		uint32_t key = keys ? keys[i] : i + first;

		if (from->keys.v[i].state != KEY_GROUPED || key >= BINS_GROUP(0))
			continue;
		err = bins__learn(b, key) ?: bins__find_group(b, groups[from->keys.v[i].at], &at);
		if (err || b->keys.v[key].state != KEY_OWN)
			continue;
		b->keys.v[key] = (struct bins_key){ groups[from->keys.v[i].at], KEY_GROUPED };
		b->nr_grouped++;
	}
	return err;
}

int bins__absorb(struct bins *b, const struct bins *from, const uint32_t *keys, uint32_t first,
		 const uint32_t *groups)
{
	unsigned int shift = from->scale.shift;
	int err = bins__widen(b, shift) ?: bins__absorb_keys(b, from, keys, first, groups);

	array_each_while(&from->list, sum, !err) {
		const struct bin_value value = { .ns = sum->ns,
						 .bytes = sum->bytes,
						 .nr = sum->nr };
		uint64_t from_ns = (from->scale.first + bins__index(&from->scale, sum)) << shift;
		uint32_t key = sum->key;

		if (key >= BINS_GROUP(0))
			err = bins__add_to_group(b, groups[key - BINS_GROUP(0)], from_ns, &value);
		else
			err = bins__add(b, keys ? keys[key] : key + first, from_ns, from_ns,
					&value);
	}
	return err;
}

int bins__put(struct bins *b, const struct bin_scale *scale, const struct bin_sum *sum)
{
	uint64_t bin = scale->first + bins__index(scale, sum);
	int err = 0;

	if (b->full)
		return 0;
	if (b->list.nr - b->nr_sorted >= b->max_sums / 2)
		err = bins__reduce(b, b->max_sums / 2);
	err = err ?: array_push(&b->list, *sum);
	if (!err)
		b->list.v[b->list.nr - 1].bin = (uint8_t)(bin >> (b->scale.shift - scale->shift));
	return err;
}

int bins__finish(struct bins *b, size_t max_sums)
{
	int err = bins__reduce(b, max_sums);

	array_shrink(&b->list);
	return err;
}
