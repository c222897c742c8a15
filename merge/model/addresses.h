/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * addresses.h - indices by address
 *
 * Addresses come in any order and in large numbers; an allocator that takes memory downwards adds
 * each address before all others. The addresses are kept in pieces of a few hundred. Adding an
 * address moves the addresses of at most one piece, and moves the list of pieces only when a piece
 * is full.
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

/* Zero the struct before use. */
struct addresses {
	ARRAY(struct addresses_piece) pieces;
};

/* A position in the order of addresses, valid until an address is added or removed. */
struct addresses_at {
	size_t piece, i;
};

void addresses__free(struct addresses *a);

/* Adds an index, after other indices of the same address. Return: 0 or -ENOMEM. */
int addresses__add(struct addresses *a, uint64_t address, uint32_t idx);

/* Removes an index, if it is stored for this address. */
void addresses__remove(struct addresses *a, uint64_t address, uint32_t idx);

/*
 * Return: the position of the last address at or below @address; if all are above it, the position
 * of the first address.
 */
struct addresses_at addresses__before(const struct addresses *a, uint64_t address);

/* Return: the address at @at; NULL after the last address. Moves @at to the next address. */
const struct address *addresses__next(const struct addresses *a, struct addresses_at *at);

#endif /* MERGE_ADDRESSES_H */
