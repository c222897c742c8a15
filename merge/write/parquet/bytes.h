/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * bytes.h - a growing buffer of bytes, and the integers that Parquet puts into it
 *
 * If memory is short, a buffer sets "oom" and takes nothing more, so that callers check once, at
 * the end.
 */
#ifndef MERGE_PARQUET_BYTES_H
#define MERGE_PARQUET_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "util.h"

struct bytes {
	uint8_t *v;
	size_t nr, cap;
	bool oom;
};

/* Extends the buffer. Return: @nr bytes at the end, for the caller to fill in; or NULL. */
static inline uint8_t *bytes__extend(struct bytes *b, size_t nr)
{
	if (b->oom || array_reserve(b, b->nr + nr)) {
		b->oom = true;
		return NULL;
	}
	b->nr += nr;
	return b->v + b->nr - nr;
}

static inline void bytes__put(struct bytes *b, const void *v, size_t nr)
{
	uint8_t *to = bytes__extend(b, nr);

	if (to && nr)
		memcpy(to, v, nr);
}

static inline void bytes__put_byte(struct bytes *b, uint8_t byte)
{
	bytes__put(b, &byte, 1);
}

/* Puts the low @nr bytes of @n, the lowest first. */
static inline void bytes__put_le(struct bytes *b, uint64_t n, size_t nr)
{
	uint8_t *to = bytes__extend(b, nr);
	size_t i;

	for (i = 0; to && i < nr; i++)
		to[i] = n >> 8 * i;
}

/* LEB128 */
static inline void bytes__put_varint(struct bytes *b, uint64_t n)
{
	while (n >= 0x80) {
		bytes__put_byte(b, n | 0x80);
		n >>= 7;
	}
	bytes__put_byte(b, n);
}

static inline uint64_t zigzag(int64_t n)
{
	return (uint64_t)n << 1 ^ (uint64_t)(n >> 63);
}

void bytes__free(struct bytes *b);

#endif /* MERGE_PARQUET_BYTES_H */
