/* SPDX-License-Identifier: MIT */
/*
 * stats.h - sum, extremes, standard deviation and median, without storing the values
 *
 * All are exact except the median. The median comes from a histogram that is exact for values below
 * 128 and keeps only 7 bits after the leading bit of larger values, so it is off by at most 1/256.
 *
 * There may be a struct stats for each of a million names, most of them with one value. So while
 * all values are equal, no sums and no histogram exist. After that the histogram is a list of the
 * buckets that have values. If the list gets long, it is replaced by arrays: one kilobyte for each
 * power of two that has values.
 */
#ifndef LIB_STATS_H
#define LIB_STATS_H

#include <stdbool.h>
#include <stdint.h>

struct spread;

/* Starts zeroed. */
struct stats {
	uint64_t nr;
	uint64_t min;			/* 0 without values */
	struct spread *spread;		/* NULL while all values are min */
	uint64_t apart;			/* stats__total() minus stats__sum(), modulo 2^64 */
};

void stats__free(struct stats *s);

/* Adds a value. Return: 0 or -ENOMEM. */
int stats__add(struct stats *s, uint64_t value);

/*
 * Adds @part of a value to the total. Adds the value itself only if @counts is set; otherwise
 * another struct counts it. Return: 0 or -ENOMEM.
 */
int stats__add_part(struct stats *s, uint64_t value, uint64_t part, bool counts);

/* Adds all values in @from. Return: 0 or -ENOMEM. */
int stats__merge(struct stats *s, const struct stats *from);

/* Return: the sum of the values; 0 without values. */
uint64_t stats__sum(const struct stats *s);
/* Return: the total of all parts; a value that was added whole is one part. */
uint64_t stats__total(const struct stats *s);
uint64_t stats__max(const struct stats *s);
static inline uint64_t stats__min(const struct stats *s)
{
	return s->min;
}

/*
 * Return: the mean, rounded down; 0 without values. stats__stddev() is also 0 with a single value.
 */
uint64_t stats__mean(const struct stats *s);
uint64_t stats__stddev(const struct stats *s);	/* the standard deviation of a sample: divides by nr
						 * - 1 */
uint64_t stats__median(const struct stats *s);	/* for an even number of values: the mean of the
						 * middle two */

#endif /* LIB_STATS_H */
