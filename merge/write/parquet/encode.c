// SPDX-License-Identifier: GPL-3.0-or-later
#include "write/parquet/encode.h"

#define GROUP		8		/* number of values that are packed together */
#define MINIBLOCK	32		/* number of values in a miniblock of DELTA_BINARY_PACKED */
#define MINIBLOCKS	4
#define BLOCK		(MINIBLOCK * MINIBLOCKS)

/* ---- RLE / bit-packing hybrid --------------------------------------------------------------- */

/*
 * Packs @nr numbers of @bits bits each; @nr is a multiple of 8; numbers beyond @nr_given are 0. The
 * lowest bits come first.
 */
static void put_packed32(struct bytes *b, const uint32_t *v, size_t nr_given, size_t nr,
			 unsigned int bits)
{
	uint8_t *to = bytes__extend(b, nr * bits / 8);
	unsigned int nr_bits = 0;
	uint64_t buf = 0;
	size_t i;

	for (i = 0; to && i < nr; i++) {
		buf |= (uint64_t)(i < nr_given ? v[i] : 0) << nr_bits;
		for (nr_bits += bits; nr_bits >= 8; nr_bits -= 8) {
			*to++ = buf;
			buf >>= 8;
		}
	}
}

static void put_run(struct bytes *b, uint32_t value, size_t nr, unsigned int bits)
{
	bytes__put_varint(b, (uint64_t)nr << 1);
	bytes__put_le(b, value, (bits + 7) / 8);
}

static void put_groups(struct bytes *b, const uint32_t *v, size_t nr, unsigned int bits)
{
	size_t groups = (nr + GROUP - 1) / GROUP;

	if (!nr)
		return;
	bytes__put_varint(b, (uint64_t)groups << 1 | 1);
	put_packed32(b, v, nr, groups * GROUP, bits);
}

void encode__hybrid(struct bytes *b, const uint32_t *v, size_t nr, unsigned int bits)
{
	size_t from = 0, i = 0, run;	/* v[from..i) will be packed, in whole groups */

	while (i < nr) {
		for (run = 1; i + run < nr && v[i + run] == v[i]; run++)
			;
		/*
		 * Pack short runs, too: a run costs a header, and packed groups after the run cost
		 * another header.
		 */
		if (run >= 2 * GROUP || i + run == nr) {
			/*
			 * Packed groups must be whole, so the run's first values fill the last
			 * group.
			 */
			size_t lent = (from - i) % GROUP;

			if (run > lent && (run - lent >= GROUP || i + run == nr)) {
				put_groups(b, v + from, i + lent - from, bits);
				put_run(b, v[i], run - lent, bits);
				i += run;
				from = i;
				continue;
			}
		}
		i += run;
	}
	put_groups(b, v + from, nr - from, bits);
}

/* ---- DELTA_BINARY_PACKED -------------------------------------------------------------------- */

/* Packs MINIBLOCK numbers of up to 64 bits. */
static void put_packed64(struct bytes *b, const uint64_t *v, unsigned int bits)
{
	uint8_t *to = bytes__extend(b, MINIBLOCK * bits / 8);
	unsigned __int128 buf = 0;
	unsigned int nr_bits = 0;
	size_t i;

	for (i = 0; to && i < MINIBLOCK; i++) {
		buf |= (unsigned __int128)v[i] << nr_bits;
		for (nr_bits += bits; nr_bits >= 8; nr_bits -= 8) {
			*to++ = buf;
			buf >>= 8;
		}
	}
}

/* Puts a block of up to BLOCK differences. */
static void put_block(struct bytes *b, const int64_t *v, size_t nr)
{
	uint64_t rest[BLOCK] = { 0 }, all;
	uint8_t bits[MINIBLOCKS];
	int64_t min = v[0];
	size_t i, k;

	for (i = 1; i < nr; i++)
		min = v[i] < min ? v[i] : min;
	for (i = 0; i < nr; i++)
		rest[i] = (uint64_t)v[i] - (uint64_t)min;
	bytes__put_varint(b, zigzag(min));
	for (k = 0; k < MINIBLOCKS; k++) {
		for (all = 0, i = 0; i < MINIBLOCK; i++)
			all |= rest[k * MINIBLOCK + i];
		bits[k] = encode__bits(all);
		bytes__put_byte(b, bits[k]);
	}
	/* Miniblocks after the last value are left out. */
	for (k = 0; k * MINIBLOCK < nr; k++)
		put_packed64(b, &rest[k * MINIBLOCK], bits[k]);
}

void encode__delta(struct bytes *b, const int64_t *v, size_t nr)
{
	int64_t deltas[BLOCK];
	size_t i, k;

	bytes__put_varint(b, BLOCK);
	bytes__put_varint(b, MINIBLOCKS);
	bytes__put_varint(b, nr);
	bytes__put_varint(b, zigzag(nr ? v[0] : 0));
	for (i = 1; i < nr; i += k) {
		for (k = 0; k < BLOCK && i + k < nr; k++)
			deltas[k] = (uint64_t)v[i + k] - (uint64_t)v[i + k - 1];
		put_block(b, deltas, k);
	}
}
