// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/addresses.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PIECE_MAX	512

void addresses__free(struct addresses *a)
{
	size_t i;

	for (i = 0; i < a->pieces.nr; i++)
		array_free(&a->pieces.v[i].list);
	array_free(&a->pieces);
}

/* Return: how many pieces begin at or below @address. */
static size_t pieces__until(const struct addresses *a, uint64_t address)
{
	return sorted_count(a->pieces.nr, i, a->pieces.v[i].list.v[0].address <= address);
}

/* Return: how many addresses of the piece are at or below @address. */
static size_t piece__until(const struct addresses_piece *p, uint64_t address)
{
	return sorted_count(p->list.nr, i, p->list.v[i].address <= address);
}

/* Makes an empty piece. Return: 0 or -ENOMEM. */
static int pieces__insert(struct addresses *a, size_t at)
{
	static const struct addresses_piece none;
	int err = array_push(&a->pieces, none);

	if (err)
		return err;
	memmove(&a->pieces.v[at + 1], &a->pieces.v[at],
		(a->pieces.nr - 1 - at) * sizeof(a->pieces.v[0]));
	a->pieces.v[at] = none;
	return 0;
}

static void pieces__remove(struct addresses *a, size_t at)
{
	array_free(&a->pieces.v[at].list);
	a->pieces.nr--;
	memmove(&a->pieces.v[at], &a->pieces.v[at + 1],
		(a->pieces.nr - at) * sizeof(a->pieces.v[0]));
}

/* Splits a full piece in two. Return: 0 or -ENOMEM. */
static int pieces__split(struct addresses *a, size_t at)
{
	struct addresses_piece *p, *second;
	size_t half = PIECE_MAX / 2;
	int err = pieces__insert(a, at + 1);

	if (err)
		return err;
	p = &a->pieces.v[at];
	second = &a->pieces.v[at + 1];
	err = array_reserve(&second->list, PIECE_MAX);
	if (err) {
		pieces__remove(a, at + 1);
		return err;
	}
	second->list.nr = p->list.nr - half;
	memcpy(second->list.v, p->list.v + half, second->list.nr * sizeof(p->list.v[0]));
	p->list.nr = half;
	return 0;
}

int addresses__add(struct addresses *a, uint64_t address, uint32_t idx)
{
	size_t at = pieces__until(a, address), i;
	struct addresses_piece *p;
	int err = 0;

	at -= at > 0;
	if (!a->pieces.nr)
		err = pieces__insert(a, 0);
	else if (a->pieces.v[at].list.nr == PIECE_MAX)
		err = pieces__split(a, at);
	if (err)
		return err;
	at += at + 1 < a->pieces.nr && a->pieces.v[at + 1].list.v[0].address <= address;
	p = &a->pieces.v[at];
	i = piece__until(p, address);
	err = array_push(&p->list, ((struct address){ 0 }));
	if (err) {
		if (!p->list.nr)
			pieces__remove(a, at);
		return err;
	}
	memmove(&p->list.v[i + 1], &p->list.v[i], (p->list.nr - 1 - i) * sizeof(p->list.v[0]));
	p->list.v[i] = (struct address){ address, idx };
	return 0;
}

struct addresses_at addresses__before(const struct addresses *a, uint64_t address)
{
	struct addresses_at at = { pieces__until(a, address), 0 };

	at.piece -= at.piece > 0;
	if (at.piece < a->pieces.nr) {
		at.i = piece__until(&a->pieces.v[at.piece], address);
		at.i -= at.i > 0;
	}
	return at;
}

const struct address *addresses__next(const struct addresses *a, struct addresses_at *at)
{
	const struct address *found;

	if (at->piece >= a->pieces.nr)
		return NULL;
	found = &a->pieces.v[at->piece].list.v[at->i++];
	if (at->i == a->pieces.v[at->piece].list.nr) {
		at->piece++;
		at->i = 0;
	}
	return found;
}

void addresses__remove(struct addresses *a, uint64_t address, uint32_t idx)
{
	struct addresses_at at = addresses__before(a, address);
	struct addresses_piece *p;

	while (at.piece < a->pieces.nr) {
		p = &a->pieces.v[at.piece];
		if (p->list.v[at.i].address != address)
			return;
		if (p->list.v[at.i].idx == idx)
			break;
		if (!at.i && !at.piece)
			return;
		at.i = at.i ? at.i - 1 : a->pieces.v[--at.piece].list.nr - 1;
	}
	if (at.piece == a->pieces.nr)
		return;
	p = &a->pieces.v[at.piece];
	p->list.nr--;
	memmove(&p->list.v[at.i], &p->list.v[at.i + 1], (p->list.nr - at.i) * sizeof(p->list.v[0]));
	if (!p->list.nr)
		pieces__remove(a, at.piece);
}
