// SPDX-License-Identifier: GPL-3.0-or-later
#include "join/absorb.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- aggregates ------------------------------------------------------------------------------ */

/* Finds or adds the owners. Return: 0 or -ENOMEM. */
static int absorb_owners(struct aggregates *to, const struct aggregates *from, struct remap *r,
			 uint32_t *owners)
{
	size_t i;
	int err = 0;

	for (i = 0; i < from->owners.nr && !err; i++) {
		const struct owner owner = {
			.comm = remap__text(r, from->owners.v[i].comm),
			.thread = remap__move(from->owners.v[i].thread, r->thread),
			.stream = remap__move(from->owners.v[i].stream, r->stream),
		};

		err = owner.comm ? aggregates__owner(to, &owner, &owners[i]) : -ENOMEM;
	}
	return err;
}

static int absorb_aggregates(struct aggregates *to, const struct aggregates *from, struct remap *r)
{
	uint32_t *owners = calloc(from->owners.nr + 1, sizeof(*owners)), spread = to->spreads.nr;
	int err = owners ? absorb_owners(to, from, r, owners) : -ENOMEM;
	size_t i;

	err = err ?: array_reserve(to, to->nr + from->nr);
	for (i = 0; i < from->spreads.nr && !err; i++)
		err = array_push(&to->spreads, from->spreads.v[i]);
	for (i = 0; i < from->nr && !err; i++) {
		struct aggregate a = from->v[i];

		a.chain += r->chain;
		a.leaf = r->leaves[a.leaf];
		a.owner = owners[a.owner];
		a.spread = remap__move(a.spread, spread);
		err = array_push(to, a);
	}
	free(owners);
	return err;
}

/* ---- statistics ------------------------------------------------------------------------------ */

static int absorb_leaf_stats(struct sums *s, const struct sums *from, const struct remap *r)
{
	static const struct leaf_stats none;
	size_t i;
	int err = 0;

	for (i = 0; i < from->leaf_stats.nr && !err; i++) {
		const struct leaf_stats *stats = &from->leaf_stats.v[i];
		struct leaf_stats *to;

		if (!leaf_stats__has(stats))
			continue;
		while (!err && s->leaf_stats.nr <= r->leaves[i])
			err = array_push(&s->leaf_stats, none);
		if (err)
			break;
		to = &s->leaf_stats.v[r->leaves[i]];
		if (stats->bytes && !to->bytes)
			to->bytes = calloc(1, sizeof(*to->bytes));
		if (stats->bytes && !to->bytes)
			return -ENOMEM;
		err = stats__merge(&to->ns, &stats->ns) ?:
		      stats->bytes ? stats__merge(to->bytes, stats->bytes) : 0;
	}
	return err;
}

static int absorb_calls(struct sums *s, const struct sums *from, struct remap *r)
{
	uint32_t idx;
	size_t i;
	int err = 0;

	for (i = 0; i < from->calls.nr && !err; i++) {
		err = sums__call(s, remap__text(r, from->calls.v[i].name), &idx) ?:
		      stats__merge(&s->calls.v[idx].ns, &from->calls.v[i].ns);
	}
	return err;
}

/* ---- times ----------------------------------------------------------------------------------- */

static int absorb_busy(struct sums *s, struct sums *from, const struct remap *r)
{
	size_t i;
	int err = 0;

	for (i = 0; i < from->busy.nr && !err; i++) {
		while (!err && s->busy.nr <= r->gpus[i])
			err = array_push(&s->busy, (struct busy){ 0 });
		err = err ?: busy__absorb(&s->busy.v[r->gpus[i]], &from->busy.v[i]);
	}
	return err;
}

static int absorb_works(struct works *to, const struct works *from, const struct remap *r)
{
	size_t i;
	int err = 0;

	to->wanted |= from->wanted;
	for (i = 0; i < from->list.nr && !err; i++) {
		struct kept_work w = from->list.v[i];

		w.gpu = r->gpus[w.gpu];
		w.leaf = remap__find(r->leaves, w.leaf);
		w.chain = remap__move(w.chain, r->chain);
		w.stream = remap__move(w.stream, r->stream);
		w.kernel = remap__find(r->leaves, w.kernel);
		if (w.shape != WORK_NO_SHAPE)
			w.shape = r->shapes[w.shape];
		err = array_push(&to->list, w);
	}
	return err;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void absorb_counts(struct sums *s, const struct sums *from)
{
	size_t i;

	s->first_ns = min_t(uint64_t, s->first_ns, from->first_ns);
	s->last_ns = max_t(uint64_t, s->last_ns, from->last_ns);
	for (i = 0; i < ARRAY_SIZE(s->nr_works); i++)
		s->nr_works[i] += from->nr_works[i];
	s->nr_left_out += from->nr_left_out;
	s->nr_parts += from->nr_parts;
	s->nr_pending_left_out += from->nr_pending_left_out;
	s->nr_samples += from->nr_samples;
	s->own_ns += from->own_ns;
	s->nr_calls += from->nr_calls;
	s->nr_accounts += from->nr_accounts;
}

int sums__absorb(struct sums *s, struct sums *from, struct remap *r)
{
	size_t first = s->aggregates.nr;
	int err;

	r->aggregate = first;
	absorb_counts(s, from);
	err = absorb_aggregates(&s->aggregates, &from->aggregates, r) ?:
	      absorb_leaf_stats(s, from, r) ?: absorb_calls(s, from, r) ?:
	      absorb_busy(s, from, r) ?: absorb_works(&s->works, &from->works, r) ?:
	      times__absorb(&s->times, &from->times, r, first);
	return err ?: r->no_memory ? -ENOMEM : 0;
}
