/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * encode.h - Parquet's encodings for the values of a page
 *
 * Source: Encodings.md of the Parquet format: RLE / bit-packing hybrid (RLE = 3) for levels and for
 * the indices of a dictionary, DELTA_BINARY_PACKED (5) for numbers that grow steadily.
 */
#ifndef MERGE_PARQUET_ENCODE_H
#define MERGE_PARQUET_ENCODE_H

#include "write/parquet/bytes.h"

/* Return: how many bits the numbers up to @max take. */
static inline unsigned int encode__bits(uint64_t max)
{
	return max ? 64 - __builtin_clzll(max) : 0;
}

/*
 * Puts @nr numbers as runs of equal numbers and as packed groups of 8. @bits: bits of each number,
 * at most 32
 */
void encode__hybrid(struct bytes *b, const uint32_t *v, size_t nr, unsigned int bits);

/* Appends @nr numbers to @b as differences, in blocks of 128. */
void encode__delta(struct bytes *b, const int64_t *v, size_t nr);

#endif /* MERGE_PARQUET_ENCODE_H */
