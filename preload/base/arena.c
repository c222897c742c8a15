// SPDX-License-Identifier: MIT
#include "base/arena.h"

#include <stdint.h>
#include <sys/mman.h>

#include "base/memory.h"

#define LINE		64u
#define FIRST_BYTES	(64u << 10)

struct arena_piece {
	struct arena_piece *next;
	size_t bytes, used;		/* bytes of the piece, this header included */
	_Alignas(LINE) uint8_t data[];
};

static size_t round_up(size_t bytes, size_t to)
{
	return (bytes + to - 1) & ~(to - 1);
}

/* Return: a new piece with room for @bytes, or NULL. */
static __attribute__((noinline, cold)) struct arena_piece *piece__new(struct arena *a, size_t bytes)
{
	size_t room = a->max & ~(PAGE - 1), size = a->taken ? a->taken : FIRST_BYTES;
	struct arena_piece *piece;

	room -= a->taken;		/* both are multiples of the page size */
	if (size > room)
		size = room;
	if (room < sizeof(*piece) || bytes > room - sizeof(*piece))
		return NULL;
	if (bytes > size - sizeof(*piece))
		size = round_up(bytes + sizeof(*piece), PAGE);
	piece = memory__map(size);
	if (!piece)
		return NULL;
	a->taken += size;
	piece->bytes = size;
	piece->used = sizeof(*piece);
	return piece;
}

void *arena__alloc(struct arena *a, size_t bytes)
{
	struct arena_piece *piece = a->current, *next;
	void *memory;

	bytes = round_up(bytes, LINE);
	while (!piece || bytes > piece->bytes - piece->used) {
		next = piece ? piece->next : a->first;
		if (next) {
			next->used = sizeof(*next);
		} else {
			next = piece__new(a, bytes);
			if (!next)
				return NULL;
			*(piece ? &piece->next : &a->first) = next;
		}
		a->current = piece = next;
	}
	memory = (uint8_t *)piece + piece->used;
	piece->used += bytes;
	return memory;
}

void arena__clear(struct arena *a)
{
	a->current = NULL;
}

void arena__free(struct arena *a)
{
	struct arena_piece *piece, *next;

	for (piece = a->first; piece; piece = next) {
		next = piece->next;
		munmap(piece, piece->bytes);
	}
	a->first = a->current = NULL;
	a->taken = 0;
}
