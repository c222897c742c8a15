/* SPDX-License-Identifier: MIT */
/*
 * memory.h - maps memory for the shim, and finds out which memory of the process can be read
 *
 * Linux is asked once for each page; the readable spans of a thread's stacks are then remembered.
 * Safe in signal handlers; errno is kept.
 */
#ifndef XPU_PRELOAD_MEMORY_H
#define XPU_PRELOAD_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/this_arch.h"

#define PAGE		4096ull
#define STACK_MAX	(256ull << 20)	/* the largest stack that is probed */

/* Return: zeroed pages, for the caller to unmap; NULL if memory is short. */
void *memory__map(size_t bytes);

/* Whether the page of @addr can be read now. */
bool memory__readable(uint64_t addr);

/* Whether all pages in [@from, @to) can be read now. */
bool memory__readable_span(uint64_t from, uint64_t to);

/*
 * Return: an upper bound of the thread's own stack, if @sp is on that stack and all memory from @sp
 * to the bound can be read; otherwise 0.
 */
uint64_t memory__own_stack_end(uint64_t sp);

/*
 * Reads memory that is known to be readable. Any code may own it, so sanitizers do not check the
 * access.
 */
static inline uint64_t load(uint64_t addr)
{
	return arch__load(addr);
}

/* Reads the word @nr words after @addr. */
static inline uint64_t load_word(uint64_t addr, uint64_t nr)
{
	return arch__load_word(addr, nr);
}

/* A span of memory that holds a stack and could be read when it was tried. */
struct readable {
	uint64_t lo, hi;
	bool own;		/* the thread's own stack, valid until the thread ends */
	bool closed;		/* the memory above the span cannot be read */
};

#define NR_SPANS	8

/* The readable spans of one thread; starts as all 0. */
struct readables {
	struct readable v[NR_SPANS];
	unsigned int next;	/* index of the span to replace next */
};

/* Return: the span that holds 8 bytes at @addr, or NULL if no known span does. */
static inline struct readable *readables__find(struct readables *s, uint64_t addr)
{
	size_t i;

	for (i = 0; i < NR_SPANS; i++)
		if (addr >= s->v[i].lo && addr + 8 <= s->v[i].hi)
			return &s->v[i];
	return NULL;
}

/*
 * Return: a span that holds 8 bytes at @addr, new or extended downwards; NULL if these bytes cannot
 * be read.
 */
struct readable *readables__add(struct readables *s, uint64_t addr);

/* Extends the span upwards to include 8 bytes at @addr. Return: whether these can be read. */
bool readable__extend(struct readable *s, uint64_t addr);

#endif /* XPU_PRELOAD_MEMORY_H */
