/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * bins.h - sums over time: each span's values, in the stretches of equal length that it lies in
 *
 *	bins__init(&b, max_sums, &keys);
 *	bins__add(&b, key, from_ns, to_ns, &value);	whenever; keys are small numbers
 *	bins__finish(&b, max_sums);			then b.list is by key, then bin
 *
 * A bin is (1 << scale.shift) ns long and begins at a multiple of that, so bins of two such structures meet.
 * There are at most BINS_MAX of them. The memory is bounded, and nothing of any span is lost. When there are
 * more than @max_sums sums,
 *
 *	bins become twice as long, while there are more than BINS_MIN of them; then
 *	the keys of the smallest times are summed up by group, if their times are a small part of all times;
 *	else keys that their owner can do without become one, see struct bins_keys; and then
 *	as many keys are summed up by group as have to be, the smallest ones first.
 *
 * Where keys have no groups, there are no sums at all then, and full is set.
 */
#ifndef MERGE_BINS_H
#define MERGE_BINS_H

#include <stdbool.h>
#include <stdint.h>

#include "util.h"

#define BINS_MAX	240
#define BINS_MIN	30
#define BINS_SHIFT_MIN	10		/* the shortest bin: 1 us */

/* Groups have the numbers of the last keys. Keys beyond the first one are with their groups, too. */
#define BINS_GROUPS	4096u
#define BINS_GROUP(nr)	((1u << 24) - BINS_GROUPS + (nr))

struct bin_value {
	uint64_t ns;
	uint64_t bytes;
	uint32_t nr;			/* with bytes, of spans that begin in the bin */
};

struct bin_sum {
	uint64_t ns, bytes;
	uint32_t nr;
	uint32_t key : 24;		/* or BINS_GROUP() of a group */
	uint32_t bin : 8;		/* see bins__index() */
};

struct bin_scale {
	unsigned int shift;
	uint64_t first, last;		/* bins, as time in ns >> shift; first > last: none */
};

/* The owner of keys tells these of them. */
struct bins_keys {
	/* Return: the group of a key, below BINS_GROUPS. NULL: there are none; bins get longer instead. */
	uint32_t (*group)(void *ctx, uint32_t key);
	/*
	 * Finds the key that a key's sums go to, if there must be fewer keys; it may be the key itself. It is
	 * called once for each key, with the lowest first. NULL: all are needed. Return: 0 or -ENOMEM.
	 */
	int (*coarser)(void *ctx, uint32_t key, uint32_t *to);
	void *ctx;
};

/* Where the sums of a key are. */
struct bins_key {
	uint32_t at;			/* KEY_OWN: in list, what was added to last, or NO_INDEX; KEY_COARSER:
					 * the key that has them; KEY_GROUPED: number of the group */
	enum { KEY_OWN, KEY_COARSER, KEY_GROUPED } state;
};

struct bins {
	struct bin_scale scale;
	ARRAY(struct bin_sum) list;
	size_t nr_sorted;		/* of its first sums, which are in order, each once */
	ARRAY(struct bins_key) keys;
	ARRAY(uint32_t) groups;		/* as bins_key.at of keys with KEY_OWN */
	struct bins_keys of;
	size_t max_sums;
	bool full;			/* there are no groups, and more keys than sums: nothing is kept */
	bool is_coarse;			/* keys have been summed up by of.coarser() */
	uint64_t nr_grouped;		/* keys that have been summed up by group */
};

void bins__init(struct bins *b, size_t max_sums, const struct bins_keys *keys);
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
 * @groups: by group of @from: what it becomes
 *
 * Return: 0 or -ENOMEM.
 */
int bins__absorb(struct bins *b, const struct bins *from, const uint32_t *keys, uint32_t first,
		 const uint32_t *groups);

/* Adds a sum of other bins, whose scale was that of @b in the beginning. Return: 0 or -ENOMEM. */
int bins__put(struct bins *b, const struct bin_scale *scale, const struct bin_sum *sum);

/* Return: the number of a sum's bin, from scale.first on. */
static inline uint32_t bins__index(const struct bin_scale *scale, const struct bin_sum *sum)
{
	return (uint8_t)(sum->bin - (uint8_t)scale->first);
}

/* Makes bins at least (1 << @shift) ns long. Return: 0 or -ENOMEM. */
int bins__widen(struct bins *b, unsigned int shift);

/*
 * Puts the list in order, with at most @max_sums sums. Nothing can be added after. Return: 0 or -ENOMEM.
 */
int bins__finish(struct bins *b, size_t max_sums);

/* Return: the key that the sums of a key are with, or BINS_GROUP() of its group. */
uint32_t bins__key(const struct bins *b, uint32_t key);

#endif /* MERGE_BINS_H */
