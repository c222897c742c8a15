/* SPDX-License-Identifier: MIT */
/*
 * arena.h - memory of one thread that is freed as a whole
 *
 * It grows by pieces that never move, each as large as all pieces before it: threads that do little
 * take little of an address space that may be limited. Pieces are used again after arena__clear().
 * Safe in signal handlers that do not interrupt these functions.
 */
#ifndef XPU_PRELOAD_ARENA_H
#define XPU_PRELOAD_ARENA_H

#include <stddef.h>

struct arena {
	size_t max;			/* limit on bytes taken; all other members are 0 at first */
	size_t taken;
	struct arena_piece *first, *current;
};

/* Return: @bytes at a multiple of 64, uninitialized, or NULL if there is no room. */
void *arena__alloc(struct arena *a, size_t bytes);

/* Frees all allocations, but keeps the pieces. */
void arena__clear(struct arena *a);

/* Gives all memory back to the kernel. */
void arena__free(struct arena *a);

#endif /* XPU_PRELOAD_ARENA_H */
