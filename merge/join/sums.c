// SPDX-License-Identifier: GPL-3.0-or-later
#include "join/sums.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"

struct aggregate_entry {
	struct aggregate_key {
		uint32_t chain;
		uint32_t leaf;
		const char *comm;
		uint32_t thread;
		uint32_t stream;
	} key;
	uint32_t aggregate;
	UT_hash_handle hh;
};

#define NR_RECENT	65536
#define RECENT(chain, leaf, comm) \
	(((chain) * 31 + (leaf) * 7 + ((uintptr_t)(comm) >> 3)) % NR_RECENT)

int sums__init(struct sums *s)
{
	memset(s, 0, sizeof(*s));
	idles__init(&s->idles);
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
	HASH_CLEAR(hh, s->aggregates.by_key);
	arena__free(&s->aggregates.arena);
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

int sums__add(struct sums *s, const struct session_opts *opts, uint32_t chain, const char *comm,
	      uint32_t thread, uint32_t leaf, const struct work *w)
{
	struct aggregate_key key = {
		.chain = chain,
		.leaf = leaf,
		.comm = comm,
		.thread = opts->by_thread ? thread : NO_INDEX,
		.stream = opts->by_stream && w ? w->stream : NO_INDEX,
	};
	uint32_t *recent = &s->aggregates.recent[RECENT(chain, leaf, comm)];
	struct aggregate_entry *e;
	struct aggregate *a;
	bool oom = false;
	int err;

	if (*recent < s->aggregates.nr) {
		a = &s->aggregates.v[*recent];
		if (a->chain == chain && a->leaf == leaf && a->comm == comm &&
		    a->thread == key.thread && a->stream == key.stream)
			goto found;
	}
	HASH_FIND(hh, s->aggregates.by_key, &key, sizeof(key), e);
	if (!e) {
		e = arena__alloc(&s->aggregates.arena, sizeof(*e));
		if (!e)
			return -ENOMEM;
		e->key = key;
		e->aggregate = s->aggregates.nr;
		err = array_push(&s->aggregates, ((struct aggregate){
			.chain = chain,
			.leaf = leaf,
			.comm = comm,
			.thread = key.thread,
			.stream = key.stream,
			.min_ns = UINT64_MAX,
		}));
		if (err)
			return err;
		HASH_ADD(hh, s->aggregates.by_key, key, sizeof(key), e);
		if (oom)
			return -ENOMEM;
	}
	*recent = e->aggregate;
	a = &s->aggregates.v[e->aggregate];
found:
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
