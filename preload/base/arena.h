/* SPDX-License-Identifier: MIT */
/*
 * arena.h - memory of one thread's that is forgotten as a whole
 *
 * It grows by pieces that stay where they are, each as large as all before it: threads that do
 * little take little of an address space that may be limited. What was taken once is used again.
 * Safe in signal handlers that do not interrupt this.
 */
#ifndef XPU_PRELOAD_ARENA_H
#define XPU_PRELOAD_ARENA_H

#include <stddef.h>

struct arena {
	size_t max;			/* bytes to take at most; all else is 0 at first */
	size_t taken;
	struct arena_piece *first, *current;
};

/* Return: so many bytes at a multiple of 64; they may hold anything. NULL: there is no room. */
void *arena__alloc(struct arena *a, size_t bytes);

/* Nothing in there is needed any more. */
void arena__clear(struct arena *a);

/* Gives all memory back. */
void arena__free(struct arena *a);

#endif /* XPU_PRELOAD_ARENA_H */
