/* SPDX-License-Identifier: MIT */
/*
 * arena.h - memory of one thread that is freed as a whole
 *
 * An arena grows by pieces that never move. Each piece is as large as all earlier pieces together:
 * address space may be limited, so the arena of a thread that does little should stay small. Pieces
 * are used again after arena__clear(). Safe in signal handlers that do not interrupt these
 * functions.
 */
#ifndef XPU_PRELOAD_ARENA_H
#define XPU_PRELOAD_ARENA_H

#include <stddef.h>

struct arena {
	size_t max;			/* limit on bytes taken; all other members start as 0 */
	size_t taken;
	struct arena_piece *first, *current;
};

/* Return: @bytes, aligned to 64 and uninitialized, or NULL if there is no room. */
void *arena__alloc(struct arena *a, size_t bytes);

/* Frees all allocations, but keeps the pieces. */
void arena__clear(struct arena *a);

/* Gives all memory back to Linux. */
void arena__free(struct arena *a);

#endif /* XPU_PRELOAD_ARENA_H */
