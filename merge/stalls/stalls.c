// SPDX-License-Identifier: GPL-3.0-or-later
#include "stalls/stalls.h"

#include <stdlib.h>
#include <string.h>

void stalls__init(struct stalls *s)
{
	memset(s, 0, sizeof(*s));
	s->secret = secret();
}

void stalls__exit(struct stalls *s)
{
	array_free(&s->places);
	array_free(&s->counts);
	array_free(&s->readings);
	array_free(&s->spans);
	array_free(&s->functions);
	hashes__free(&s->by_place);
	hashes__free(&s->by_function);
}

int stalls__function(struct stalls *s, uint32_t proc, uint32_t context, const char *name,
		     uint32_t *idx)
{
	uint32_t hash = hash__mix((uintptr_t)name, ID_KEY(proc, context), s->secret);
	size_t at = HASHES_START;
	int err;

	while (hashes__next(&s->by_function, hash, &at, idx)) {
		const struct stall_function *f = &s->functions.v[*idx];

		if (f->proc == proc && f->context == context && f->name == name)
			return 0;
	}
	*idx = s->functions.nr;
	err = array_reserve(&s->functions, *idx + 1) ?: hashes__add(&s->by_function, hash, *idx);
	return err ?: array_push(&s->functions, ((struct stall_function){ proc, context, name }));
}

int stalls__place(struct stalls *s, const char *place, const char *reason, uint32_t *idx)
{
	uint32_t hash = hash__mix((uintptr_t)place, (uintptr_t)reason, s->secret);
	size_t at = HASHES_START;
	int err;

	while (hashes__next(&s->by_place, hash, &at, idx))
		if (s->places.v[*idx].place == place && s->places.v[*idx].reason == reason)
			return 0;
	*idx = s->places.nr;
	err = array_reserve(&s->places, *idx + 1) ?: hashes__add(&s->by_place, hash, *idx);
	return err ?:
	       array_push(&s->places, ((struct leaf_place){ STALL_LABEL, place, reason, *idx }));
}
