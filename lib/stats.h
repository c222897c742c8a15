/* SPDX-License-Identifier: MIT */
/*
 * stats.h - sum, extremes, standard deviation and median of values that are not kept
 *
 * All are exact but the median. For the median a histogram counts values below 128 exactly, others
 * to 7 bits after the first, so the median is off by 1/256 at most. Each power of two that has a
 * value takes a kilobyte.
 */
#ifndef LIB_STATS_H
#define LIB_STATS_H

#include <stdint.h>

#define HISTOGRAM_SUB_BITS	7
#define HISTOGRAM_SUBS		(1u << HISTOGRAM_SUB_BITS)
#define HISTOGRAM_OCTAVES	(64 - HISTOGRAM_SUB_BITS + 1)

/* Zero it to start. */
struct stats {
	uint64_t nr;
	uint64_t sum;
	uint64_t min, max;		/* valid if nr > 0 */
	unsigned __int128 sum_of_squares;
	uint64_t *octaves[HISTOGRAM_OCTAVES];
};

void stats__free(struct stats *s);

/* Return: 0 or -ENOMEM. */
int stats__add(struct stats *s, uint64_t value);

/* Adds all of @from. Return: 0 or -ENOMEM. */
int stats__merge(struct stats *s, const struct stats *from);

/* Rounded down. 0 without values; stats__stddev() is also 0 with a single value. */
uint64_t stats__mean(const struct stats *s);
uint64_t stats__stddev(const struct stats *s);	/* of the sample: divided by nr - 1 */
uint64_t stats__median(const struct stats *s);	/* or the mean of the two in the middle */

#endif /* LIB_STATS_H */
