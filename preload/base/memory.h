/* SPDX-License-Identifier: MIT */
/*
 * memory.h - memory of the shim's own, and what of the process's can be read
 *
 * The kernel is asked for each page, once; what is known of a thread's stacks is remembered. Safe
 * in signal handlers; errno is kept.
 */
#ifndef XPU_PRELOAD_MEMORY_H
#define XPU_PRELOAD_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PAGE		4096ull
#define USER_MAX	(1ull << 47)
#define STACK_MAX	(256ull << 20)	/* further than this, one stack is not probed through */

/* Pages of zeros, for the caller to unmap. NULL: there is no memory. */
void *memory__map(size_t bytes);

/* Whether the page of @addr can be read now. */
bool memory__readable(uint64_t addr);

/* The same of all from @from on, before @to. */
bool memory__readable_span(uint64_t from, uint64_t to);

/* Reads what is known to be readable, whoever's it is; not for sanitizers to look at. */
static inline uint64_t load(uint64_t addr)
{
	uint64_t value;

	asm volatile("movq (%1), %0" : "=r"(value) : "r"(addr));
	return value;
}

/* The same, @nr words behind @addr. */
static inline uint64_t load_word(uint64_t addr, uint64_t nr)
{
	uint64_t value;

	asm volatile("movq (%1,%2,8), %0" : "=r"(value) : "r"(addr), "r"(nr));
	return value;
}

/* Memory that could be read when it was tried; the stack is in there. */
struct readable {
	uint64_t lo, hi;
	bool own;		/* the thread's own stack, which stays as long as the thread */
	bool closed;		/* what is above it cannot be read */
};

#define NR_SPANS	8

/* Of one thread; all 0 in the beginning. */
struct readables {
	struct readable v[NR_SPANS];
	unsigned int next;	/* to be replaced */
};

/* The one that holds 8 bytes at @addr; NULL if none is known to. */
static inline struct readable *readables__find(struct readables *s, uint64_t addr)
{
	size_t i;

	for (i = 0; i < NR_SPANS; i++)
		if (addr >= s->v[i].lo && addr + 8 <= s->v[i].hi)
			return &s->v[i];
	return NULL;
}

/* The same, new or made larger downwards; NULL if they cannot be read. */
struct readable *readables__add(struct readables *s, uint64_t addr);

/* Makes it larger upwards, to 8 bytes at @addr. Return: whether they can be read. */
bool readable__extend(struct readable *s, uint64_t addr);

#endif /* XPU_PRELOAD_MEMORY_H */
