/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * bins.h - sums over time: each span's values, in the stretches of equal length that it lies in
 *
 *	bins__init(&b, max_sums, max_keys);
 *	bins__add(&b, key, from_ns, to_ns, &value);	whenever; keys are small numbers
 *	bins__sort(&b);					then b.list is by key, then bin
 *
 * A bin is (1 << scale.shift) ns long and begins at a multiple of that, so bins of two such structures meet.
 * There are at most BINS_MAX of them, and at most @max_sums sums that are not 0: when more are needed, the
 * bins become twice as long. With more than @max_keys keys, or sums in the longest bins, there are no sums at
 * all, and full is set. The memory is bounded; else all values are there, whatever the times are.
 */
#ifndef MERGE_BINS_H
#define MERGE_BINS_H

#include <stdbool.h>
#include <stdint.h>

#include "util.h"

#define BINS_MAX	240
#define BINS_SHIFT_MIN	10		/* the shortest bin: 1 us */

struct bin_value {
	uint64_t ns;
	uint64_t nr, bytes;		/* of spans that begin in the bin */
};

struct bin_sum {
	uint64_t bin;			/* time in ns >> shift */
	struct bin_value value;
	uint32_t key;
};

struct bin_scale {
	unsigned int shift;
	uint64_t first, last;		/* bins; first > last: none */
};

struct bins {
	struct bin_scale scale;
	ARRAY(struct bin_sum) list;
	ARRAY(uint32_t) recent;		/* by key: the sum that was added to last, or NO_INDEX */
	struct hashes by_bin;
	uint64_t secret;
	size_t max_sums, max_keys;
	bool full;			/* there are more keys than sums: nothing is kept */
};

static inline void bin_value__add(struct bin_value *to, const struct bin_value *value)
{
	to->ns += value->ns;
	to->nr += value->nr;
	to->bytes += value->bytes;
}

void bins__init(struct bins *b, size_t max_sums, size_t max_keys);
void bins__exit(struct bins *b);

/**
 * bins__add - add a span to the sums of a key
 * @from_ns, @to_ns: the span; its ns are shared out evenly over it, the counts belong to its begin
 *
 * Return: 0 or -ENOMEM.
 */
int bins__add(struct bins *b, uint32_t key, uint64_t from_ns, uint64_t to_ns,
	      const struct bin_value *value);

/**
 * bins__absorb - add all sums of @from
 * @keys: by key: what it becomes; NULL: it is moved by @first
 *
 * Return: 0 or -ENOMEM.
 */
int bins__absorb(struct bins *b, const struct bins *from, const uint32_t *keys, uint32_t first);

/* Makes bins at least (1 << @shift) ns long. Return: 0 or -ENOMEM. */
int bins__widen(struct bins *b, unsigned int shift);

/* Puts the list in order. Nothing can be added after. */
void bins__sort(struct bins *b);

#endif /* MERGE_BINS_H */
