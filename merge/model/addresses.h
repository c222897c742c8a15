/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * addresses.h - indices by address
 *
 * Addresses come in any order and in large numbers: an allocator that asks for memory downwards puts each
 * before all others. So they are in pieces of a few hundred: to add one moves no more than a piece, and the
 * list of the pieces when one is full.
 */
#ifndef MERGE_ADDRESSES_H
#define MERGE_ADDRESSES_H

#include <stdbool.h>
#include <stdint.h>

#include "util.h"

struct address {
	uint64_t address;
	uint32_t idx;
};

struct addresses_piece {
	ARRAY(struct address) list;		/* never empty */
};

/* Zero it to start. */
struct addresses {
	ARRAY(struct addresses_piece) pieces;
};

/* A place in the order, good until one is added or removed. */
struct addresses_at {
	size_t piece, i;
};

void addresses__free(struct addresses *a);

/* Adds an index, behind those of the same address. Return: 0 or -ENOMEM. */
int addresses__add(struct addresses *a, uint64_t address, uint32_t idx);

/* Removes an index, if it is there at this address. */
void addresses__remove(struct addresses *a, uint64_t address, uint32_t idx);

/* Return: the place of the last one that is at @address or before it; of the first one if there is none. */
struct addresses_at addresses__before(const struct addresses *a, uint64_t address);

/* Return: what is at the place, which moves on; or NULL behind the last one. */
const struct address *addresses__next(const struct addresses *a, struct addresses_at *at);

#endif /* MERGE_ADDRESSES_H */
