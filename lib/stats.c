// SPDX-License-Identifier: MIT
#include "stats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util.h"

/*
 * Return: the octave of @value. Octave 0 has the values below HISTOGRAM_SUBS, each later one those
 * of one power of two.
 */
static unsigned int value__octave(uint64_t value)
{
	return value < HISTOGRAM_SUBS ? 0 : 64 - HISTOGRAM_SUB_BITS - __builtin_clzll(value);
}

static unsigned int value__sub(uint64_t value, unsigned int octave)
{
	return (octave ? value >> (octave - 1) : value) % HISTOGRAM_SUBS;
}

/* Return: the middle of the values that a bucket stands for. */
static uint64_t bucket__value(unsigned int octave, unsigned int sub)
{
	uint64_t width;

	if (!octave)
		return sub;
	width = 1ull << (octave - 1);
	return (HISTOGRAM_SUBS + sub) * width + (width - 1) / 2;
}

void stats__free(struct stats *s)
{
	unsigned int i;

	for (i = 0; i < HISTOGRAM_OCTAVES; i++)
		free(s->octaves[i]);
	memset(s, 0, sizeof(*s));
}

static int stats__octave(struct stats *s, unsigned int octave)
{
	if (!s->octaves[octave])
		s->octaves[octave] = calloc(HISTOGRAM_SUBS, sizeof(**s->octaves));
	return s->octaves[octave] ? 0 : -ENOMEM;
}

int stats__add(struct stats *s, uint64_t value)
{
	unsigned int octave = value__octave(value);
	int err = stats__octave(s, octave);

	if (err)
		return err;
	s->octaves[octave][value__sub(value, octave)]++;
	s->min = s->nr ? min_t(uint64_t, s->min, value) : value;
	s->max = max_t(uint64_t, s->max, value);
	s->nr++;
	s->sum += value;
	s->sum_of_squares += (unsigned __int128)value * value;
	return 0;
}

int stats__merge(struct stats *s, const struct stats *from)
{
	unsigned int octave, sub;
	int err;

	for (octave = 0; octave < HISTOGRAM_OCTAVES; octave++) {
		if (!from->octaves[octave])
			continue;
		err = stats__octave(s, octave);
		if (err)
			return err;
		for (sub = 0; sub < HISTOGRAM_SUBS; sub++)
			s->octaves[octave][sub] += from->octaves[octave][sub];
	}
	if (from->nr) {
		s->min = s->nr ? min_t(uint64_t, s->min, from->min) : from->min;
		s->max = max_t(uint64_t, s->max, from->max);
	}
	s->nr += from->nr;
	s->sum += from->sum;
	s->sum_of_squares += from->sum_of_squares;
	return 0;
}

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
	squares = s->sum_of_squares - mean * s->sum - mean * (s->sum % s->nr) -
		  (unsigned __int128)(s->sum % s->nr) * (s->sum % s->nr) / s->nr;
	return square_root(squares / (s->nr - 1));
}

/* Return: the value that @before smaller values precede. */
static uint64_t stats__nth(const struct stats *s, uint64_t before)
{
	unsigned int octave, sub;

	for (octave = 0; octave < HISTOGRAM_OCTAVES; octave++) {
		for (sub = 0; s->octaves[octave] && sub < HISTOGRAM_SUBS; sub++) {
			uint64_t value;

			if (before >= s->octaves[octave][sub]) {
				before -= s->octaves[octave][sub];
				continue;
			}
			value = max_t(uint64_t, bucket__value(octave, sub), s->min);
			return min_t(uint64_t, value, s->max);
		}
	}
	return 0;
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
