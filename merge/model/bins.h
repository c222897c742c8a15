/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * bins.h - sums over time: adds the values of spans to bins of equal length
 *
 *	bins__init(&b, max_sums, &keys);
 *	bins__add(&b, key, from_ns, to_ns, &value);	in any order; keys are small numbers
 *	bins__finish(&b, max_sums);			then b.list is in order of key and bin
 *
 * A bin is (1 << scale.shift) ns long and begins at a multiple of its length, so bins of two
 * structures line up. There are at most BINS_MAX bins. The memory is bounded, and no part of a span
 * is lost. When there are more than @max_sums sums, these steps are taken until at most
 * @max_sums sums remain:
 *
 *	Bins become twice as long, while there are more than BINS_MIN bins.
 *	The keys with the least time are summed up by group, if they have a small part of all time.
 *	Otherwise, each key is replaced by its coarser key (see struct bins_keys).
 *	As many keys as necessary are summed up by group, the keys with the least time first.
 *
 * If keys have no groups, all sums are dropped instead, and full is set.
 */
#ifndef MERGE_BINS_H
#define MERGE_BINS_H

#include <stdbool.h>
#include <stdint.h>

#include "util.h"

#define BINS_MAX	240
#define BINS_MIN	30
#define BINS_SHIFT_MIN	10		/* the shortest bin: 1 us */

/*
 * The highest numbers of keys stand for groups. A key of BINS_GROUP(0) or more is always summed up
 * in its group.
 */
#define BINS_GROUPS	4096u
#define BINS_GROUP(nr)	((1u << 24) - BINS_GROUPS + (nr))

struct bin_value {
	uint64_t ns;
	uint64_t bytes;
	uint32_t nr;			/* a span adds its bytes, and an nr of 1, only to the bin
					 * where the span begins */
};

struct bin_sum {
	uint64_t ns, bytes;
	uint32_t nr;
	uint32_t key : 24;		/* BINS_GROUP() for a group */
	uint32_t bin : 8;		/* see bins__index() */
};

struct bin_scale {
	unsigned int shift;
	uint64_t first, last;		/* first and last bin, as time in ns >> shift; first > last:
					 * no bins */
};

/* The owner of the keys provides these functions. */
struct bins_keys {
	/*
	 * Return: the group of a key, below BINS_GROUPS. NULL: keys have no groups; if there are
	 * too many sums, only bins get longer.
	 */
	uint32_t (*group)(void *ctx, uint32_t key);
	/*
	 * Reduces the number of keys: sets *@to to the key that takes over the sums of @key; this
	 * may be @key itself. Called once for each key, the lowest first. NULL: all keys are
	 * needed. Return: 0 or -ENOMEM.
	 */
	int (*coarser)(void *ctx, uint32_t key, uint32_t *to);
	void *ctx;
};

/* the place of the sums of a key */
struct bins_key {
	uint32_t at;			/* KEY_OWN: index of the key's latest sum, or NO_INDEX.
					 * KEY_COARSER: the key that has its sums. KEY_GROUPED: the
					 * number of its group */
	enum { KEY_OWN, KEY_COARSER, KEY_GROUPED } state;
};

struct bins {
	struct bin_scale scale;
	ARRAY(struct bin_sum) list;
	size_t nr_sorted;		/* how many sums at the start of @list are sorted and
					 * united */
	ARRAY(struct bins_key) keys;
	ARRAY(uint32_t) groups;		/* for each group: index of its latest sum, or NO_INDEX */
	struct bins_keys of;
	size_t max_sums;
	bool full;			/* keys have no groups and are too many: all sums were
					 * dropped */
	bool is_coarse;			/* keys have been summed up by of.coarser() */
	uint64_t nr_grouped;		/* number of keys that have been summed up by group */
};

void bins__init(struct bins *b, size_t max_sums, const struct bins_keys *keys);
void bins__exit(struct bins *b);

/**
 * bins__add - add a span to the sums of a key
 * @from_ns, @to_ns: the span. The ns and, unless it is 1, the nr of @value are spread evenly over
 *	the span, as in filter__cut(). The bytes and an nr of 1 are added at its start.
 *
 * Return: 0 or -ENOMEM.
 */
int bins__add(struct bins *b, uint32_t key, uint64_t from_ns, uint64_t to_ns,
	      const struct bin_value *value);

/*
 * Moves the ns of a span from key @from to key @to. Spans added to key @from must cover the span.
 * Moves nothing if key @from has been summed up by group. Return: 0 or -ENOMEM.
 */
int bins__move(struct bins *b, uint32_t from, uint32_t to, uint64_t from_ns, uint64_t to_ns);

/**
 * bins__absorb - add all sums of @from
 * @keys: the new number of each key; NULL: each key plus @first
 * @groups: the new number of each group of @from
 *
 * Return: 0 or -ENOMEM.
 */
int bins__absorb(struct bins *b, const struct bins *from, const uint32_t *keys, uint32_t first,
		 const uint32_t *groups);

/* Adds a sum of other bins, which started with the same scale as @b. Return: 0 or -ENOMEM. */
int bins__put(struct bins *b, const struct bin_scale *scale, const struct bin_sum *sum);

/* Return: the number of a sum's bin, counted from scale.first. */
static inline uint32_t bins__index(const struct bin_scale *scale, const struct bin_sum *sum)
{
	return (uint8_t)(sum->bin - (uint8_t)scale->first);
}

/* Makes bins at least (1 << @shift) ns long. Return: 0 or -ENOMEM. */
int bins__widen(struct bins *b, unsigned int shift);

/*
 * Sorts the list, and reduces it to @max_sums sums. Nothing can be added afterwards. Return: 0 or
 * -ENOMEM.
 */
int bins__finish(struct bins *b, size_t max_sums);

/*
 * Return: @key if it has sums of its own, otherwise BINS_GROUP() of the group that includes its
 * sums.
 */
uint32_t bins__key(const struct bins *b, uint32_t key);

#endif /* MERGE_BINS_H */
