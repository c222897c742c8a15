/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * numbers.h - maps numbers to numbers in little memory, by open addressing
 *
 * Targets choose the keys. Therefore a secret determines where a key is stored, and the map's size
 * depends only on the number of keys, not on their values.
 */
#ifndef XPU_LOADER_NUMBERS_H
#define XPU_LOADER_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/types.h>

struct numbers_key {
	uint64_t a, b;
};

struct numbers_slot {
	struct numbers_key key;
	uint64_t value;			/* 0: the slot is free */
};

/* A map. Takes 32 to 64 bytes for each entry. Starts zeroed. */
struct numbers {
	struct numbers_slot *slots;
	uint32_t nr_slots;		/* number of slots: 0 or a power of two */
	uint32_t nr;
};

/*
 * Return: the address of the value, valid until the next numbers__add(), or NULL. The caller must
 * not set it to 0.
 */
uint64_t *numbers__find(const struct numbers *m, struct numbers_key key);

/* Adds @key, which must be new. @value: not 0. Return: 0 or -ENOMEM. */
int numbers__add(struct numbers *m, struct numbers_key key, uint64_t value);

/**
 * numbers__sift - keep some of the entries, in a table that fits them
 * @keep: called for each entry, with @ctx
 *
 * Return: 0, or -ENOMEM with all entries kept.
 */
int numbers__sift(struct numbers *m, bool (*keep)(void *ctx, const struct numbers_slot *slot),
		  void *ctx);

/* Removes @key, if it exists. */
void numbers__remove(struct numbers *m, struct numbers_key key);

/* Frees the memory, and leaves an empty map. */
void numbers__free(struct numbers *m);

/**
 * numbers__hash - make a key from data that are longer than a key
 * @words: @nr words
 *
 * Uses SipHash-1-3 with 128 bits and a random secret. The odds that two of a million different
 * inputs get equal keys are 1 in 10^27, and nobody can construct such inputs without the secret.
 */
struct numbers_key numbers__hash(const __u64 *words, size_t nr);

/* Hashes with the secret @by instead of the random secret. Only tests call this directly. */
struct numbers_key numbers__siphash(const uint64_t by[2], const __u64 *words, size_t nr);

#endif /* XPU_LOADER_NUMBERS_H */
