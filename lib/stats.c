// SPDX-License-Identifier: MIT
#include "stats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util.h"

#define HISTOGRAM_SUB_BITS	7
#define HISTOGRAM_SUBS		(1u << HISTOGRAM_SUB_BITS)
#define HISTOGRAM_OCTAVES	(64 - HISTOGRAM_SUB_BITS + 1)
#define HISTOGRAM_FEW		32u		/* must be a power of two */

/* A bucket that has @count values. @number is octave * HISTOGRAM_SUBS + sub. */
struct bucket {
	uint64_t number : 13;
	uint64_t count : 51;
};

_Static_assert(HISTOGRAM_OCTAVES * HISTOGRAM_SUBS <= 1u << 13, "bucket.number");

/*
 * Return: the bucket of a value. Octave 0 has the values below HISTOGRAM_SUBS. Each later octave
 * has the values between two powers of two.
 */
static unsigned int value__bucket(uint64_t value)
{
	unsigned int octave;

	if (value < HISTOGRAM_SUBS)
		return value;
	octave = 64 - HISTOGRAM_SUB_BITS - __builtin_clzll(value);
	return octave * HISTOGRAM_SUBS + (value >> (octave - 1)) % HISTOGRAM_SUBS;
}

/* Return: the middle of the range of values that a bucket stands for. */
static uint64_t bucket__value(unsigned int bucket)
{
	unsigned int octave = bucket / HISTOGRAM_SUBS;
	uint64_t width;

	if (!octave)
		return bucket;
	width = 1ull << (octave - 1);
	return (HISTOGRAM_SUBS + bucket % HISTOGRAM_SUBS) * width + (width - 1) / 2;
}

/* The sums and the histogram, for values that are not all equal. */
struct spread {
	uint64_t sum;
	uint64_t max;
	unsigned __int128 sum_of_squares;
	uint32_t nr_few;
	union {
		struct bucket *few;	/* used if nr_few <= HISTOGRAM_FEW; sorted by value */
		uint64_t **octaves;	/* used instead of @few if nr_few is larger */
	};
};

static inline bool spread__has_octaves(const struct spread *s)
{
	return s->nr_few > HISTOGRAM_FEW;
}

static unsigned __int128 square(uint64_t value)
{
	return (unsigned __int128)value * value;
}

uint64_t stats__sum(const struct stats *s)
{
	return s->spread ? s->spread->sum : s->nr * s->min;
}

uint64_t stats__total(const struct stats *s)
{
	return stats__sum(s) + s->apart;
}

uint64_t stats__max(const struct stats *s)
{
	return s->spread ? s->spread->max : s->min;
}

static unsigned __int128 stats__squares(const struct stats *s)
{
	return s->spread ? s->spread->sum_of_squares : s->nr * square(s->min);
}

static void spread__free(struct spread *s)
{
	unsigned int i;

	for (i = 0; spread__has_octaves(s) && i < HISTOGRAM_OCTAVES; i++)
		free(s->octaves[i]);
	free(s->few);
	free(s);
}

void stats__free(struct stats *s)
{
	if (s->spread)
		spread__free(s->spread);
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

/* Replaces a full list by octaves. Return: 0, or -ENOMEM with the list unchanged. */
static int spread__make_octaves(struct spread *s)
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

static int spread__count(struct spread *s, unsigned int bucket, uint64_t count)
{
	struct bucket *few;
	unsigned int i;
	int err;

	if (spread__has_octaves(s))
		return octaves__count(s->octaves, bucket, count);
	for (i = 0; i < s->nr_few && s->few[i].number < bucket; i++)
		;
	if (i < s->nr_few && s->few[i].number == bucket) {
		s->few[i].count += count;
		return 0;
	}
	if (s->nr_few == HISTOGRAM_FEW) {
		err = spread__make_octaves(s);
		return err ?: octaves__count(s->octaves, bucket, count);
	}
	/* The list's capacity starts at 2, and doubles each time. */
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

/*
 * Makes the sums and the histogram as soon as the values are not all equal. Return: 0 or -ENOMEM.
 */
static int stats__make_spread(struct stats *s)
{
	struct spread *spread;
	int err;

	if (s->spread)
		return 0;
	spread = calloc(1, sizeof(*spread));
	if (!spread)
		return -ENOMEM;
	spread->sum = stats__sum(s);
	spread->max = stats__max(s);
	spread->sum_of_squares = stats__squares(s);
	err = s->nr ? spread__count(spread, value__bucket(s->min), s->nr) : 0;
	if (err)
		spread__free(spread);
	else
		s->spread = spread;
	return err;
}

/* ---- adding --------------------------------------------------------------------------------- */

int stats__add(struct stats *s, uint64_t value)
{
	int err;

	if (!s->nr)
		s->min = value;
	if (s->spread || value != s->min) {
		err = stats__make_spread(s) ?: spread__count(s->spread, value__bucket(value), 1);
		if (err)
			return err;
		s->spread->sum += value;
		s->spread->max = max_t(uint64_t, s->spread->max, value);
		s->spread->sum_of_squares += square(value);
		s->min = min_t(uint64_t, s->min, value);
	}
	s->nr++;
	return 0;
}

int stats__add_part(struct stats *s, uint64_t value, uint64_t part, bool counts)
{
	int err = counts ? stats__add(s, value) : 0;

	if (!err)
		s->apart += part - (counts ? value : 0);
	return err;
}

static int spread__merge(struct spread *s, const struct stats *from)
{
	const struct spread *f = from->spread;
	unsigned int i, bucket;
	int err = 0;

	if (!f)
		return spread__count(s, value__bucket(from->min), from->nr);
	for (i = 0; !spread__has_octaves(f) && i < f->nr_few && !err; i++)
		err = spread__count(s, f->few[i].number, f->few[i].count);
	for (i = 0; spread__has_octaves(f) && i < HISTOGRAM_OCTAVES; i++) {
		if (!f->octaves[i])
			continue;
		for (bucket = 0; bucket < HISTOGRAM_SUBS && !err; bucket++)
			if (f->octaves[i][bucket])
				err = spread__count(s, i * HISTOGRAM_SUBS + bucket,
						    f->octaves[i][bucket]);
	}
	return err;
}

int stats__merge(struct stats *s, const struct stats *from)
{
	int err;

	if (!from->nr) {
		s->apart += from->apart;
		return 0;
	}
	if (!s->nr)
		s->min = from->min;
	if (s->spread || from->spread || s->min != from->min) {
		err = stats__make_spread(s) ?: spread__merge(s->spread, from);
		if (err)
			return err;
		s->spread->sum += stats__sum(from);
		s->spread->max = max_t(uint64_t, s->spread->max, stats__max(from));
		s->spread->sum_of_squares += stats__squares(from);
		s->min = min_t(uint64_t, s->min, from->min);
	}
	s->nr += from->nr;
	s->apart += from->apart;
	return 0;
}

/* ---- the results ---------------------------------------------------------------------------- */

uint64_t stats__mean(const struct stats *s)
{
	return s->nr ? stats__sum(s) / s->nr : 0;
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
	uint64_t sum = stats__sum(s);

	if (!s->spread)
		return 0;
	/*
	 * The sum of (x - mean)^2 is sum_of_squares - sum * sum / nr, where the product may need
	 * 192 bits. So compute it with sum = mean * nr + rest.
	 */
	mean = sum / s->nr;
	squares = stats__squares(s) - mean * sum - mean * (sum % s->nr) -
		  (unsigned __int128)(sum % s->nr) * (sum % s->nr) / s->nr;
	return square_root(squares / (s->nr - 1));
}

/* Return: the bucket of the value with index @before in sorted order. */
static unsigned int spread__nth_bucket(const struct spread *s, uint64_t before)
{
	unsigned int i, bucket;

	for (i = 0; !spread__has_octaves(s) && i < s->nr_few; i++) {
		if (before < s->few[i].count)
			return s->few[i].number;
		before -= s->few[i].count;
	}
	for (i = 0; spread__has_octaves(s) && i < HISTOGRAM_OCTAVES; i++) {
		for (bucket = 0; s->octaves[i] && bucket < HISTOGRAM_SUBS; bucket++) {
			if (before < s->octaves[i][bucket])
				return i * HISTOGRAM_SUBS + bucket;
			before -= s->octaves[i][bucket];
		}
	}
	return 0;
}

/* Return: the value with index @before in sorted order, as far as the histogram knows it. */
static uint64_t stats__nth(const struct stats *s, uint64_t before)
{
	uint64_t value;

	if (!s->spread)
		return s->min;
	value = max_t(uint64_t, bucket__value(spread__nth_bucket(s->spread, before)), s->min);
	return min_t(uint64_t, value, s->spread->max);
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
