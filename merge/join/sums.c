// SPDX-License-Identifier: GPL-3.0-or-later
#include "join/sums.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "xpu_time.h"

/* ---- aggregates that share times ------------------------------------------------------------- */

static uint32_t sums__group(void *ctx, uint32_t key)
{
	const struct sums *s = ctx;
	const struct leaf *leaf = &s->model->leaves.v[s->aggregates.v[key].leaf];

	return TIMES_GROUP(leaf->kind, leaf->gpu);
}

/* Return: the chain of an aggregate, without the NVTX ranges that were open. */
static uint32_t sums__path(const struct sums *s, const struct aggregate *a)
{
	const struct chain *chain = &s->model->chains.v[a->chain];

	return chain->range != NO_RANGE ? chain->in_range : a->chain;
}

/*
 * Finds the first aggregate that differs from @key only in its thread and its NVTX ranges. Return:
 * 0 or -ENOMEM.
 */
static int sums__coarser(void *ctx, uint32_t key, uint32_t *to)
{
	struct sums *s = ctx;
	const struct aggregates *all = &s->aggregates;
	const struct aggregate *a = &all->v[key];
	const struct owner *owner = aggregate__owner(all, a);
	uint32_t path = sums__path(s, a);
	uint32_t hash = hash__mix(ID_KEY(path, a->leaf), (uintptr_t)owner->comm ^ owner->stream,
				  all->secret);
	size_t at = HASHES_START;

	while (hashes__next(&s->by_path, hash, &at, to)) {
		const struct aggregate *first = &all->v[*to];
		const struct owner *its = aggregate__owner(all, first);

		if (sums__path(s, first) == path && first->leaf == a->leaf &&
		    its->comm == owner->comm && its->stream == owner->stream)
			return 0;
	}
	*to = key;
	return hashes__add(&s->by_path, hash, key);
}

/* ---- sums ------------------------------------------------------------------------------------ */

void sums__init(struct sums *s, const struct model *model, const struct session_opts *opts)
{
	memset(s, 0, sizeof(*s));
	s->model = model;
	times__init(&s->times, &(struct bins_keys){
		.group = sums__group, .coarser = opts->times_by_path ? sums__coarser : NULL,
		.ctx = s,
	}, opts->max_times);
	s->times.wanted = opts->by_time;
	s->aggregates.secret = secret();
	s->first_ns = UINT64_MAX;
}

void sums__exit(struct sums *s)
{
	size_t i;

	for (i = 0; i < s->busy.nr; i++)
		busy__free(&s->busy.v[i]);
	array_free(&s->busy);
	busy__free(&s->windows);
	times__exit(&s->times);
	hashes__free(&s->by_path);
	array_free(&s->works.list);
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
	hashes__free(&s->aggregates.by_owner);
	array_free(&s->aggregates.owners);
	array_free(&s->aggregates.spreads);
	array_free(&s->aggregates);
}

void sums__see_time(struct sums *s, uint64_t from_ns, uint64_t to_ns)
{
	if (from_ns < s->first_ns)
		s->first_ns = from_ns;
	if (to_ns > s->last_ns)
		s->last_ns = to_ns;
}

static bool owner__is(const struct owner *a, const struct owner *b)
{
	return a->comm == b->comm && a->thread == b->thread && a->stream == b->stream;
}

int aggregates__owner(struct aggregates *all, const struct owner *owner, uint32_t *idx)
{
	uint32_t hash;

	*idx = all->last_owner;
	if (*idx < all->owners.nr && owner__is(&all->owners.v[*idx], owner))
		return 0;
	hash = hash__mix((uintptr_t)owner->comm, ID_KEY(owner->thread, owner->stream), all->secret);
	return hashes_get(&all->by_owner, hash, &all->owners, *idx,
			  owner__is(&all->owners.v[*idx], owner), *owner);
}

static bool aggregate__is(const struct aggregate *a, const struct aggregate *key)
{
	return a->chain == key->chain && a->leaf == key->leaf && a->owner == key->owner;
}

/* Finds or adds the aggregate with that key. Return: 0 or -ENOMEM. */
static int aggregates__get(struct aggregates *all, const struct aggregate *key, uint32_t *idx)
{
	uint32_t hash = hash__mix(ID_KEY(key->chain, key->leaf), key->owner, all->secret);

	return hashes_get(&all->by_key, hash, all, *idx, aggregate__is(&all->v[*idx], key), *key);
}

/*
 * Gives @a its own entry in @all->spreads, unless @a has an entry. Return: the entry; NULL if
 * memory is short.
 */
static struct aggregate_spread *aggregates__spread(struct aggregates *all, struct aggregate *a)
{
	if (a->spread == NO_INDEX) {
		if (array_push(&all->spreads, aggregate__spread(all, a)))
			return NULL;
		a->spread = all->spreads.nr - 1;
	}
	return &all->spreads.v[a->spread];
}

/* Return: whether all events of @a have the duration @ns. */
static bool aggregate__is_even(const struct aggregate *a, uint64_t ns)
{
	return a->spread == NO_INDEX && (a->nr ? ns == a->sum_ns / a->nr : !a->sum_ns);
}

static int aggregates__add_work(struct aggregates *all, struct aggregate *a, const struct work *w,
				const struct filter_span *part)
{
	struct aggregate_spread *spread;
	bool whole = !part || (part->nr == 1 && part->ns == w->duration_ns);

	if (whole && !w->bytes && aggregate__is_even(a, w->duration_ns))
		return 0;
	spread = aggregates__spread(all, a);
	if (!spread)
		return -ENOMEM;
	if (part && !part->nr)
		return 0;
	spread->bytes += w->bytes;
	spread->min_ns = a->nr ? min_t(uint64_t, spread->min_ns, w->duration_ns) : w->duration_ns;
	spread->max_ns = max_t(uint64_t, spread->max_ns, w->duration_ns);
	spread->whole_ns += w->duration_ns;
	return 0;
}

int sums__place(struct sums *s, const struct session_opts *opts, uint32_t chain, const char *comm,
		uint32_t thread, uint32_t leaf, uint32_t stream)
{
	const struct owner owner = {
		.comm = comm,
		.thread = opts->by_thread ? thread : NO_INDEX,
		.stream = opts->by_stream ? stream : NO_INDEX,
	};
	struct aggregate key = { .chain = chain, .leaf = leaf, .spread = NO_INDEX };
	struct aggregates *all = &s->aggregates;
	int err = aggregates__owner(all, &owner, &key.owner);

	if (err)
		return err;
	all->last_owner = key.owner;
	return aggregates__get(all, &key, &all->last);
}

int sums__add(struct sums *s, const struct session_opts *opts, uint32_t chain, const char *comm,
	      uint32_t thread, uint32_t leaf, const struct work *w, const struct filter_span *part)
{
	struct aggregates *all = &s->aggregates;
	struct aggregate *a;
	int err = sums__place(s, opts, chain, comm, thread, leaf, w ? w->stream : NO_INDEX);

	if (err)
		return err;
	a = &all->v[all->last];
	err = w ? aggregates__add_work(all, a, w, part) : 0;
	if (err)
		return err;
	a->nr += part ? part->nr : 1;
	a->sum_ns += part ? part->ns : w ? w->duration_ns : 0;
	return 0;
}

int sums__add_sum(struct sums *s, uint64_t nr, uint64_t ns, uint64_t max_ns)
{
	struct aggregate *a = &s->aggregates.v[s->aggregates.last];
	struct aggregate_spread *spread;
	uint64_t min_ns;

	if (nr != 1 || ns != max_ns || !aggregate__is_even(a, ns)) {
		spread = aggregates__spread(&s->aggregates, a);
		if (!spread)
			return -ENOMEM;
		min_ns = nr > 1 ? xpu_ns_between(max_ns, ns) / (nr - 1) : ns;
		if (nr)
			spread->min_ns = a->nr ? min_t(uint64_t, spread->min_ns, min_ns) : min_ns;
		spread->max_ns = max_t(uint64_t, spread->max_ns, max_ns);
		spread->whole_ns += ns;
	}
	a->nr += nr;
	a->sum_ns += ns;
	return 0;
}

int sums__call(struct sums *s, const char *name, uint32_t *idx)
{
	int err;

	if (!name)
		return -ENOMEM;
	if (idmap__get(&s->call_names, (uintptr_t)name, idx))
		return 0;
	*idx = s->calls.nr;
	err = array_push(&s->calls, ((struct call_stats){ .name = name }));
	return err ?: idmap__put(&s->call_names, (uintptr_t)name, *idx);
}

int sums__split_spread(struct sums *s, const struct aggregate *whole, struct aggregate *part)
{
	struct aggregate_spread spread = aggregate__spread(&s->aggregates, whole);

	if (whole->sum_ns)
		spread.whole_ns = (unsigned __int128)spread.whole_ns * part->sum_ns / whole->sum_ns;
	part->spread = s->aggregates.spreads.nr;
	return array_push(&s->aggregates.spreads, spread);
}

int sums__split(struct sums *s, struct model *m, size_t at, const struct sums_part *parts,
		size_t nr)
{
	struct aggregate whole = s->aggregates.v[at], part;
	uint64_t done_ns = 0, until_ns;
	double all = 0, done = 0;
	size_t i;
	int err;

	for (i = 0; i < nr; i++)
		all += parts[i].weight;
	if (!(all > 0))
		return 0;
	for (i = 0, err = 0; i < nr && !err; i++) {
		done += parts[i].weight;
		until_ns = i + 1 < nr ? min_t(uint64_t, whole.sum_ns * (done / all), whole.sum_ns) :
					whole.sum_ns;
		part = whole;
		part.nr = i ? 0 : whole.nr;	/* the parts together count each event once */
		part.sum_ns = until_ns - done_ns;
		done_ns = until_ns;
		err = leaves__part(&m->leaves, whole.leaf, parts[i].place, &part.leaf);
		if (err || (!part.nr && !part.sum_ns))
			continue;
		err = sums__split_spread(s, &whole, &part);
		if (err)
			break;
		if (i)
			err = array_push(&s->aggregates, part) ?: array_push(&s->times.parts,
				((struct times_part){ at, s->aggregates.nr - 1 }));
		else
			s->aggregates.v[at] = part;
	}
	return err;
}
