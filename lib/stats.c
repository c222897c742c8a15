// SPDX-License-Identifier: MIT
#include "stats.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "util.h"

#define HISTOGRAM_SUB_BITS	7
#define HISTOGRAM_SUBS		(1u << HISTOGRAM_SUB_BITS)
#define HISTOGRAM_OCTAVES	(64 - HISTOGRAM_SUB_BITS + 1)
#define HISTOGRAM_FEW		32u		/* a power of two */

/* The count of the values of one bucket, whose number is octave * HISTOGRAM_SUBS + sub. */
struct bucket {
	uint64_t number : 13;
	uint64_t count : 51;
};

_Static_assert(HISTOGRAM_OCTAVES * HISTOGRAM_SUBS <= 1u << 13, "bucket.number");

/*
 * Return: the bucket of a value. Octave 0 has the values below HISTOGRAM_SUBS, each later one those
 * of one power of two.
 */
static unsigned int value__bucket(uint64_t value)
{
	unsigned int octave;

	if (value < HISTOGRAM_SUBS)
		return value;
	octave = 64 - HISTOGRAM_SUB_BITS - __builtin_clzll(value);
	return octave * HISTOGRAM_SUBS + (value >> (octave - 1)) % HISTOGRAM_SUBS;
}

/* Return: the middle of the values that a bucket stands for. */
static uint64_t bucket__value(unsigned int bucket)
{
	unsigned int octave = bucket / HISTOGRAM_SUBS;
	uint64_t width;

	if (!octave)
		return bucket;
	width = 1ull << (octave - 1);
	return (HISTOGRAM_SUBS + bucket % HISTOGRAM_SUBS) * width + (width - 1) / 2;
}

static inline bool stats__has_octaves(const struct stats *s)
{
	return s->nr_few > HISTOGRAM_FEW;
}

static unsigned __int128 stats__squares(const struct stats *s)
{
	return (unsigned __int128)s->sum_of_squares.high << 64 | s->sum_of_squares.low;
}

static void stats__add_squares(struct stats *s, unsigned __int128 squares)
{
	squares += stats__squares(s);
	s->sum_of_squares.low = squares;
	s->sum_of_squares.high = squares >> 64;
}

void stats__free(struct stats *s)
{
	unsigned int i;

	for (i = 0; stats__has_octaves(s) && i < HISTOGRAM_OCTAVES; i++)
		free(s->octaves[i]);
	free(s->few);
	memset(s, 0, sizeof(*s));
}

/* ---- the histogram -------------------------------------------------------------------------- */

static int octaves__count(uint64_t **octaves, unsigned int bucket, uint64_t count)
{
	uint64_t **octave = &octaves[bucket / HISTOGRAM_SUBS];

	if (!*octave)
		*octave = calloc(HISTOGRAM_SUBS, sizeof(**octave));
	if (!*octave)
		return -ENOMEM;
	(*octave)[bucket % HISTOGRAM_SUBS] += count;
	return 0;
}

/* Replaces a list that is full. Return: 0, or -ENOMEM with the list as it was. */
static int stats__make_octaves(struct stats *s)
{
	uint64_t **octaves = calloc(HISTOGRAM_OCTAVES, sizeof(*octaves));
	unsigned int i;
	int err = octaves ? 0 : -ENOMEM;

	for (i = 0; i < s->nr_few && !err; i++)
		err = octaves__count(octaves, s->few[i].number, s->few[i].count);
	if (err) {
		for (i = 0; octaves && i < HISTOGRAM_OCTAVES; i++)
			free(octaves[i]);
		free(octaves);
		return err;
	}
	free(s->few);
	s->octaves = octaves;
	s->nr_few = HISTOGRAM_FEW + 1;
	return 0;
}

static int stats__count(struct stats *s, unsigned int bucket, uint64_t count)
{
	struct bucket *few;
	unsigned int i;
	int err;

	if (stats__has_octaves(s))
		return octaves__count(s->octaves, bucket, count);
	for (i = 0; i < s->nr_few && s->few[i].number < bucket; i++)
		;
	if (i < s->nr_few && s->few[i].number == bucket) {
		s->few[i].count += count;
		return 0;
	}
	if (s->nr_few == HISTOGRAM_FEW) {
		err = stats__make_octaves(s);
		return err ?: octaves__count(s->octaves, bucket, count);
	}
	/* It has room for two, or for the next power of two. */
	if (!s->nr_few || (s->nr_few > 1 && !(s->nr_few & (s->nr_few - 1)))) {
		few = realloc(s->few, max_t(size_t, 2, 2 * s->nr_few) * sizeof(*few));
		if (!few)
			return -ENOMEM;
		s->few = few;
	}
	memmove(&s->few[i + 1], &s->few[i], (s->nr_few - i) * sizeof(*s->few));
	s->few[i] = (struct bucket){ .number = bucket, .count = count };
	s->nr_few++;
	return 0;
}

/* Makes a histogram of equal values, which had none. */
static int stats__begin_histogram(struct stats *s)
{
	return s->nr && !s->nr_few ? stats__count(s, value__bucket(s->min), s->nr) : 0;
}

/* ---- adding --------------------------------------------------------------------------------- */

int stats__add(struct stats *s, uint64_t value)
{
	int err;

	if (s->nr_few || (s->nr && value != s->min)) {
		err = stats__begin_histogram(s) ?: stats__count(s, value__bucket(value), 1);
		if (err)
			return err;
	}
	s->min = s->nr ? min_t(uint64_t, s->min, value) : value;
	s->max = max_t(uint64_t, s->max, value);
	s->nr++;
	s->sum += value;
	stats__add_squares(s, (unsigned __int128)value * value);
	return 0;
}

static int stats__merge_histogram(struct stats *s, const struct stats *from)
{
	unsigned int i, bucket;
	int err;

	err = stats__begin_histogram(s);
	if (!from->nr_few)
		return err ?: stats__count(s, value__bucket(from->min), from->nr);
	for (i = 0; !stats__has_octaves(from) && i < from->nr_few && !err; i++)
		err = stats__count(s, from->few[i].number, from->few[i].count);
	for (i = 0; stats__has_octaves(from) && i < HISTOGRAM_OCTAVES; i++) {
		if (!from->octaves[i])
			continue;
		for (bucket = 0; bucket < HISTOGRAM_SUBS && !err; bucket++)
			if (from->octaves[i][bucket])
				err = stats__count(s, i * HISTOGRAM_SUBS + bucket,
						   from->octaves[i][bucket]);
	}
	return err;
}

int stats__merge(struct stats *s, const struct stats *from)
{
	int err;

	if (!from->nr)
		return 0;
	if (s->nr_few || from->nr_few || (s->nr && s->min != from->min)) {
		err = stats__merge_histogram(s, from);
		if (err)
			return err;
	}
	s->min = s->nr ? min_t(uint64_t, s->min, from->min) : from->min;
	s->max = max_t(uint64_t, s->max, from->max);
	s->nr += from->nr;
	s->sum += from->sum;
	stats__add_squares(s, stats__squares(from));
	return 0;
}

/* ---- the results ---------------------------------------------------------------------------- */

uint64_t stats__mean(const struct stats *s)
{
	return s->nr ? s->sum / s->nr : 0;
}

/* Return: the square root of @n, rounded down. */
static uint64_t square_root(unsigned __int128 n)
{
	uint64_t root = 0, bit;

	for (bit = 1ull << 63; bit; bit >>= 1)
		if ((unsigned __int128)(root | bit) * (root | bit) <= n)
			root |= bit;
	return root;
}

uint64_t stats__stddev(const struct stats *s)
{
	unsigned __int128 mean, squares;

	if (s->nr < 2)
		return 0;
	/*
	 * The sum of (x - mean)^2 is sum_of_squares - sum * sum / nr, in which the product may need
	 * 192 bits. So it is computed with sum = mean * nr + rest.
	 */
	mean = s->sum / s->nr;
	squares = stats__squares(s) - mean * s->sum - mean * (s->sum % s->nr) -
		  (unsigned __int128)(s->sum % s->nr) * (s->sum % s->nr) / s->nr;
	return square_root(squares / (s->nr - 1));
}

/* Return: the bucket of the value that @before smaller values precede. */
static unsigned int stats__nth_bucket(const struct stats *s, uint64_t before)
{
	unsigned int i, bucket;

	for (i = 0; !stats__has_octaves(s) && i < s->nr_few; i++) {
		if (before < s->few[i].count)
			return s->few[i].number;
		before -= s->few[i].count;
	}
	for (i = 0; stats__has_octaves(s) && i < HISTOGRAM_OCTAVES; i++) {
		for (bucket = 0; s->octaves[i] && bucket < HISTOGRAM_SUBS; bucket++) {
			if (before < s->octaves[i][bucket])
				return i * HISTOGRAM_SUBS + bucket;
			before -= s->octaves[i][bucket];
		}
	}
	return 0;
}

/* Return: the value that @before smaller values precede. */
static uint64_t stats__nth(const struct stats *s, uint64_t before)
{
	uint64_t value;

	if (!s->nr_few)
		return s->min;
	value = max_t(uint64_t, bucket__value(stats__nth_bucket(s, before)), s->min);
	return min_t(uint64_t, value, s->max);
}

uint64_t stats__median(const struct stats *s)
{
	uint64_t a, b;

	if (!s->nr)
		return 0;
	a = stats__nth(s, (s->nr - 1) / 2);
	b = stats__nth(s, s->nr / 2);
	return a + (b - a) / 2;
}
