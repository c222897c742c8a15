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

	return hashes_get(&s->by_function, hash, &s->functions, *idx,
			  s->functions.v[*idx].proc == proc &&
			  s->functions.v[*idx].context == context &&
			  s->functions.v[*idx].name == name,
			  ((struct stall_function){ proc, context, name }));
}

int stalls__place(struct stalls *s, const char *place, const char *reason, uint32_t *idx)
{
	uint32_t hash = hash__mix((uintptr_t)place, (uintptr_t)reason, s->secret);

	return hashes_get(&s->by_place, hash, &s->places, *idx,
			  s->places.v[*idx].place == place && s->places.v[*idx].reason == reason,
			  ((struct leaf_place){ STALL_LABEL, place, reason, *idx }));
}
