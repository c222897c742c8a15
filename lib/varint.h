/* SPDX-License-Identifier: MIT */
/* varint.h - numbers with 7 bits in a byte, as in NAMES records */
#ifndef LIB_VARINT_H
#define LIB_VARINT_H

#include <stdbool.h>
#include <stdint.h>

#define VARINT_MAX	10		/* maximum bytes of a number */

/* Return: where the next number goes; @at has room for VARINT_MAX bytes. */
static inline uint8_t *varint__put(uint8_t *at, uint64_t n)
{
	for (; n >= 0x80; n >>= 7)
		*at++ = n | 0x80;
	*at++ = n;
	return at;
}

static inline uint8_t *varint__put_signed(uint8_t *at, uint64_t n)
{
	return varint__put(at, n << 1 ^ -(n >> 63));
}

/* Reads the number at *@at, and moves *@at past it. Return: whether it ends before @end. */
static inline bool varint__get(const uint8_t **at, const uint8_t *end, uint64_t *n)
{
	unsigned int shift;

	*n = 0;
	for (shift = 0; *at < end && shift < 64; shift += 7) {
		*n |= (uint64_t)(**at & 0x7f) << shift;
		if (!(*(*at)++ & 0x80))
			return true;
	}
	return false;
}

static inline bool varint__get_signed(const uint8_t **at, const uint8_t *end, uint64_t *n)
{
	bool ok = varint__get(at, end, n);

	*n = *n >> 1 ^ -(*n & 1);
	return ok;
}

#endif /* LIB_VARINT_H */
