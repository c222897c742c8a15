/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * map.h - numbers by numbers, in little memory: open addressing
 *
 * Keys come from targets. So a secret number goes into where they are put, and the size follows how
 * many there are, never what they are.
 */
#ifndef XPU_LOADER_MAP_H
#define XPU_LOADER_MAP_H

#include <stddef.h>
#include <stdint.h>

#include <linux/types.h>

struct map_key {
	uint64_t a, b;
};

struct map_slot {
	struct map_key key;
	uint64_t value;			/* 0: nothing is here */
};

/* Zero it to start. 32 to 64 bytes an entry. */
struct map {
	struct map_slot *slots;
	uint32_t nr_slots;		/* 0 or a power of two */
	uint32_t nr;
};

/* Return: where the value is, until the next map__add(); NULL if there is none. Never make it 0. */
uint64_t *map__find(const struct map *m, struct map_key key);

/* Adds @key, which must not be there. @value: not 0. Return: 0 or -ENOMEM. */
int map__add(struct map *m, struct map_key key, uint64_t value);

/* Leaves an empty map. */
void map__free(struct map *m);

/**
 * map__hash - a key for what is longer than one
 * @words: @nr of them
 *
 * SipHash-1-3 with 128 bits and a random secret. Two of a million different keys are equal with
 * odds of 1 in 10^27, and nobody who does not know the secret finds two that are.
 */
struct map_key map__hash(const __u64 *words, size_t nr);

/* The same by another secret, for tests. */
struct map_key map__siphash(const uint64_t by[2], const __u64 *words, size_t nr);

#endif /* XPU_LOADER_MAP_H */
