// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/numbers.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

#define MIN_SLOTS	16
#define MAX_SLOTS	(1u << 30)

static uint64_t secret[2];

static void make_secret(void)
{
	struct timespec now;

	if (getrandom(secret, sizeof(secret), 0) == sizeof(secret))
		return;
	/* Fall back to the clock: a system call filter may refuse getrandom(). */
	clock_gettime(CLOCK_MONOTONIC, &now);
	secret[0] = now.tv_nsec * 0x9e3779b97f4a7c15ull ^ (uintptr_t)&now;
	secret[1] = now.tv_sec ^ secret[0] >> 32;
}

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 33) * 0xff51afd7ed558ccdull;
	x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53ull;
	return x ^ x >> 33;
}

/* Return: the slot that has @key, or the free slot where it belongs. @m must have a free slot. */
static struct numbers_slot *numbers__slot(const struct numbers *m, struct numbers_key key)
{
	uint32_t i = mix(mix(key.a ^ secret[0]) ^ key.b ^ secret[1]);
	struct numbers_slot *slot;

	for (;; i++) {
		slot = &m->slots[i & (m->nr_slots - 1)];
		if (!slot->value || (slot->key.a == key.a && slot->key.b == key.b))
			return slot;
	}
}

uint64_t *numbers__find(const struct numbers *m, struct numbers_key key)
{
	struct numbers_slot *slot = m->nr ? numbers__slot(m, key) : NULL;

	return slot && slot->value ? &slot->value : NULL;
}

static int numbers__grow(struct numbers *m)
{
	struct numbers new = { .nr_slots = m->nr_slots ? 2 * m->nr_slots : MIN_SLOTS, .nr = m->nr };
	uint32_t i;

	if (!secret[0])
		make_secret();
	if (new.nr_slots > MAX_SLOTS)
		return -ENOMEM;
	new.slots = calloc(new.nr_slots, sizeof(*new.slots));
	if (!new.slots)
		return -ENOMEM;
	for (i = 0; i < m->nr_slots; i++)
		if (m->slots[i].value)
			*numbers__slot(&new, m->slots[i].key) = m->slots[i];
	free(m->slots);
	*m = new;
	return 0;
}

int numbers__add(struct numbers *m, struct numbers_key key, uint64_t value)
{
	/* The table is at most three quarters full. */
	int err = m->nr >= m->nr_slots - m->nr_slots / 4 ? numbers__grow(m) : 0;

	if (err)
		return err;
	*numbers__slot(m, key) = (struct numbers_slot){ key, value };
	m->nr++;
	return 0;
}

int numbers__sift(struct numbers *m, bool (*keep)(void *ctx, const struct numbers_slot *slot),
		  void *ctx)
{
	struct numbers new = { 0 };
	uint32_t i;
	int err;

	for (i = 0; i < m->nr_slots; i++) {
		if (!m->slots[i].value || !keep(ctx, &m->slots[i]))
			continue;
		err = numbers__add(&new, m->slots[i].key, m->slots[i].value);
		if (err) {
			numbers__free(&new);
			return err;
		}
	}
	numbers__free(m);
	*m = new;
	return 0;
}

/*
 * Removes a key. Inserts the entries after the freed slot again, because a search for them would
 * stop at the free slot.
 */
void numbers__remove(struct numbers *m, struct numbers_key key)
{
	struct numbers_slot *slot = m->nr ? numbers__slot(m, key) : NULL, moved;
	uint32_t i;

	if (!slot || !slot->value)
		return;
	slot->value = 0;
	m->nr--;
	for (i = slot - m->slots + 1; m->slots[i & (m->nr_slots - 1)].value; i++) {
		slot = &m->slots[i & (m->nr_slots - 1)];
		moved = *slot;
		slot->value = 0;
		*numbers__slot(m, moved.key) = moved;
	}
}

void numbers__free(struct numbers *m)
{
	free(m->slots);
	*m = (struct numbers){ 0 };
}

/* ---- SipHash, by Jean-Philippe Aumasson and Daniel J. Bernstein ------------------------------ */

#define ROTATE(x, bits)	((x) << (bits) | (x) >> (64 - (bits)))

static inline void sip_round(uint64_t v[4])
{
	v[0] += v[1];
	v[1] = ROTATE(v[1], 13) ^ v[0];
	v[0] = ROTATE(v[0], 32);
	v[2] += v[3];
	v[3] = ROTATE(v[3], 16) ^ v[2];
	v[0] += v[3];
	v[3] = ROTATE(v[3], 21) ^ v[0];
	v[2] += v[1];
	v[1] = ROTATE(v[1], 17) ^ v[2];
	v[2] = ROTATE(v[2], 32);
}

static inline uint64_t sip_finish(uint64_t v[4])
{
	int i;

	for (i = 0; i < 3; i++)
		sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static inline void sip_word(uint64_t v[4], uint64_t word)
{
	v[3] ^= word;
	sip_round(v);
	v[0] ^= word;
}

struct numbers_key numbers__siphash(const uint64_t by[2], const __u64 *words, size_t nr)
{
	uint64_t v[4] = {
		by[0] ^ 0x736f6d6570736575ull, by[1] ^ 0x646f72616e646f6dull ^ 0xee,
		by[0] ^ 0x6c7967656e657261ull, by[1] ^ 0x7465646279746573ull,
	};
	struct numbers_key key;
	size_t i;

	for (i = 0; i < nr; i++)
		sip_word(v, words[i]);
	sip_word(v, (uint64_t)(nr * sizeof(*words)) << 56);
	v[2] ^= 0xee;
	key.a = sip_finish(v);
	v[1] ^= 0xdd;
	key.b = sip_finish(v);
	return key;
}

struct numbers_key numbers__hash(const __u64 *words, size_t nr)
{
	if (!secret[0])
		make_secret();
	return numbers__siphash(secret, words, nr);
}
