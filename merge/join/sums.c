// SPDX-License-Identifier: GPL-3.0-or-later
#include "join/sums.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NR_RECENT	65536
#define RECENT(chain, leaf, comm) \
	(((chain) * 31 + (leaf) * 7 + ((uintptr_t)(comm) >> 3)) % NR_RECENT)

int sums__init(struct sums *s)
{
	memset(s, 0, sizeof(*s));
	idles__init(&s->idles);
	s->aggregates.secret = secret();
	s->first_ns = UINT64_MAX;
	s->aggregates.recent = calloc(NR_RECENT, sizeof(*s->aggregates.recent));
	return s->aggregates.recent ? 0 : -ENOMEM;
}

void sums__exit(struct sums *s)
{
	size_t i;

	idles__exit(&s->idles);
	array_free(&s->accounts);
	for (i = 0; i < s->calls.nr; i++)
		stats__free(&s->calls.v[i].ns);
	array_free(&s->calls);
	idmap__free(&s->call_names);
	for (i = 0; i < s->leaf_stats.nr; i++) {
		stats__free(&s->leaf_stats.v[i].ns);
		if (s->leaf_stats.v[i].bytes)
			stats__free(s->leaf_stats.v[i].bytes);
		free(s->leaf_stats.v[i].bytes);
	}
	array_free(&s->leaf_stats);
	hashes__free(&s->aggregates.by_key);
	free(s->aggregates.recent);
	array_free(&s->aggregates);
}

void sums__see_time(struct sums *s, uint64_t from_ns, uint64_t to_ns)
{
	if (from_ns < s->first_ns)
		s->first_ns = from_ns;
	if (to_ns > s->last_ns)
		s->last_ns = to_ns;
}

static bool aggregate__is(const struct aggregate *a, const struct aggregate *key)
{
	return a->chain == key->chain && a->leaf == key->leaf && a->comm == key->comm &&
	       a->thread == key->thread && a->stream == key->stream;
}

/* Return: the aggregate of that key, which is made if there is none; NULL for want of memory. */
static struct aggregate *aggregates__get(struct aggregates *all, const struct aggregate *key)
{
	uint64_t path = ID_KEY(key->chain, key->leaf), rest = ID_KEY(key->thread, key->stream);
	uint32_t hash = hash__mix(path, rest ^ (uintptr_t)key->comm * 31, all->secret), i;
	size_t at = hash;

	while (hashes__next(&all->by_key, hash, &at, &i))
		if (aggregate__is(&all->v[i], key))
			return &all->v[i];
	if (array_reserve(all, all->nr + 1) || hashes__add(&all->by_key, hash, all->nr))
		return NULL;
	all->v[all->nr] = *key;
	return &all->v[all->nr++];
}

int sums__add(struct sums *s, const struct session_opts *opts, uint32_t chain, const char *comm,
	      uint32_t thread, uint32_t leaf, const struct work *w)
{
	const struct aggregate key = {
		.chain = chain,
		.leaf = leaf,
		.comm = comm,
		.thread = opts->by_thread ? thread : NO_INDEX,
		.stream = opts->by_stream && w ? w->stream : NO_INDEX,
		.min_ns = UINT64_MAX,
	};
	uint32_t *recent = &s->aggregates.recent[RECENT(chain, leaf, comm)];
	struct aggregate *a = *recent < s->aggregates.nr ? &s->aggregates.v[*recent] : NULL;

	if (!a || !aggregate__is(a, &key)) {
		a = aggregates__get(&s->aggregates, &key);
		if (!a)
			return -ENOMEM;
		*recent = a - s->aggregates.v;
	}
	a->nr++;
	if (w) {
		a->sum_ns += w->duration_ns;
		a->bytes += w->bytes;
		a->min_ns = min_t(uint64_t, a->min_ns, w->duration_ns);
		a->max_ns = max_t(uint64_t, a->max_ns, w->duration_ns);
	}
	return 0;
}

void sums__add_more(struct sums *s, uint32_t chain, const char *comm, uint32_t leaf, uint64_t nr,
		    uint64_t ns)
{
	struct aggregate *a = &s->aggregates.v[s->aggregates.recent[RECENT(chain, leaf, comm)]];

	a->nr += nr;
	a->sum_ns += ns;
	if (nr)
		a->min_ns = min_t(uint64_t, a->min_ns, ns / nr);
}
