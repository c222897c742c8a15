/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * numbers.h - maps numbers to numbers in little memory, by open addressing
 *
 * Targets choose the keys. So a secret number decides where a key is put, and the size depends on
 * the number of keys, never on their values.
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

/* Zero it to start. 32 to 64 bytes an entry. */
struct numbers {
	struct numbers_slot *slots;
	uint32_t nr_slots;		/* 0 or a power of two */
	uint32_t nr;
};

/*
 * Return: the address of the value, valid until the next numbers__add(), or NULL. Never set the value
 * to 0.
 */
uint64_t *numbers__find(const struct numbers *m, struct numbers_key key);

/* Adds @key, which must not be there. @value: not 0. Return: 0 or -ENOMEM. */
int numbers__add(struct numbers *m, struct numbers_key key, uint64_t value);

/**
 * numbers__sift - keep some of the entries, in a table that fits them
 * @keep: called for each entry, with @ctx
 *
 * Return: 0, or -ENOMEM: then all entries stay.
 */
int numbers__sift(struct numbers *m, bool (*keep)(void *ctx, const struct numbers_slot *slot), void *ctx);

/* Removes @key, if it is there. */
void numbers__remove(struct numbers *m, struct numbers_key key);

/* Leaves an empty map. */
void numbers__free(struct numbers *m);

/**
 * numbers__hash - make a key of data that are longer than a key
 * @words: @nr of them
 *
 * SipHash-1-3 with 128 bits and a random secret. Two of a million different keys are equal with
 * odds of 1 in 10^27, and nobody can find two such keys without the secret.
 */
struct numbers_key numbers__hash(const __u64 *words, size_t nr);

/* Hashes with the secret @by; for tests. */
struct numbers_key numbers__siphash(const uint64_t by[2], const __u64 *words, size_t nr);

#endif /* XPU_LOADER_NUMBERS_H */
