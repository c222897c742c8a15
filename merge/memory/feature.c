// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/feature.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "memory/allocations.h"
#include "memory/live.h"
#include "memory/place_allocs.h"
#include "memory/results.h"
#include "memory/state.h"
#include "memory/views.h"
#include "model/remap.h"
#include "write/section.h"

const struct memory_state *memory_state__of(const struct model *m)
{
	static const struct memory_state none;

	return m->features[FEATURE_memory] ?: &none;
}

static void *memory__new(struct model *m)
{
	(void)m;
	return calloc(1, sizeof(struct memory_state));
}

static void memory__free(void *state)
{
	struct memory_state *s = state;
	size_t i;

	allocs__exit(s);
	for (i = 0; i < s->heaps.nr; i++)
		heap__exit(&s->heaps.v[i]);
	array_free(&s->heaps);
	array_free(&s->made);
	free(s);
}

/* ---- records --------------------------------------------------------------------------------- */

static int take_allocs(void *state, struct collect *c, uint32_t proc, const struct xpu_record *rec)
{
	struct memory_state *s = state;

	(void)proc;
	return allocs__take(&s->records, c, (const void *)rec);
}

static const struct feature_record records[] = {
	{ XPU_RECORD_ALLOCS, false, take_allocs },
	{ 0 },
};

static int memory__open(void *state, struct second_pass *p, struct passes *passes)
{
	struct memory_state *s = state;
	int err = allocs__open(p, passes);

	memset(&s->records, 0, sizeof(s->records));
	return err;
}

static int memory__record(void *state, struct second_pass *p, const struct xpu_record *rec)
{
	(void)state;
	return rec->type == XPU_RECORD_ALLOCS ? allocs__read(p, (const void *)rec) : 0;
}

static int memory__close(void *state, struct second_pass *p)
{
	(void)state;
	return allocs__finish(p);
}

/* ---- all recordings -------------------------------------------------------------------------- */

static void holder_key__move(struct holder_key *key, struct remap *r)
{
	key->chain = remap__move(key->chain, r->chain);
	key->thread = remap__move(key->thread, r->thread);
	key->comm = remap__text(r, key->comm);
}

static int memory__absorb(void *to_state, void *from_state, struct remap *r)
{
	struct memory_state *to = to_state, *from = from_state;
	size_t k;
	int err = 0;

	array_each_while(&from->heaps, h, !err) {
		for (k = 0; k < h->holders.nr; k++)
			holder_key__move(&h->holders.v[k].key, r);
		for (k = 0; k < h->failures.nr; k++)
			holder_key__move(&h->failures.v[k].key, r);
		err = heap__move_places(h, r->gpus) ?: array_push(&to->heaps, *h);
		if (!err)
			memset(h, 0, sizeof(*h));	/* @to now owns the contents */
	}
	return err ?: r->no_memory ? -ENOMEM : 0;
}

static int memory__finish(void *state, struct session *s)
{
	return allocs__settle(state, s);
}

/* ---- results --------------------------------------------------------------------------------- */

static bool memory__recorded(const struct session *s)
{
	return memory_state__of(&s->model)->heaps.nr;
}

static bool memory__account(const struct session *s, FILE *f)
{
	const struct memory_state *memory = memory_state__of(&s->model);
	uint64_t nr_events = 0;
	size_t i;

	for (i = 0; i < memory->heaps.nr; i++)
		nr_events += memory->heaps.v[i].nr_events;
	if (!nr_events && !session__was_given(s, "--memory-only", strlen("--memory-")))
		return false;
	fprintf(f, "memory events %" PRIu64 " lost %" PRIu64 "\n", nr_events,
		loss__lost(&s->sums.loss));
	return true;
}

static const char *memory__lacks(const struct session *s)
{
	return memory_view(&s->opts) && !memory__recorded(s) ?
	       "no memory in the recording: xpuload --memory records it" : NULL;
}

static void memory__made(const struct session *s, size_t aggregate, uint64_t *nr, uint64_t *bytes)
{
	const struct memory_state *memory = memory_state__of(&s->model);

	if (aggregate >= memory->made.nr)
		return;
	*nr = memory->made.v[aggregate].nr;
	*bytes = memory->made.v[aggregate].bytes;
}

/* Return: the GPU's place in a recording's heap, or NULL. */
static const struct heap_place *heap_place_of(const struct heap *h, uint32_t gpu)
{
	uint32_t place;

	return idmap__get(&h->by_gpu, gpu, &place) ? &h->places.v[place] : NULL;
}

static int memory__count(const struct session *s, uint32_t gpu, unsigned int i,
			 counter_points_t *points)
{
	const struct memory_state *memory = memory_state__of(&s->model);
	const struct heap_place *p;
	const struct heap *h;
	uint64_t value;
	size_t nr, k;
	int err = 0;

	for (nr = 0; nr < memory->heaps.nr; nr++) {
		h = &memory->heaps.v[nr];
		p = heap_place_of(h, gpu);
		for (k = p ? heap_place__first_point(h, p) : 0; p && k < p->track.nr && !err; k++) {
			if (p->track.v[k].time_ns >= h->end_ns)
				break;
			value = i == 0 ? p->track.v[k].used : p->track.v[k].reserved;
			if (!points->nr || points->v[points->nr - 1].value != value)
				err = array_push(points, ((struct counter_point){
					max_t(uint64_t, p->track.v[k].time_ns, h->begin_ns), value,
				}));
		}
	}
	return err;
}

static bool memory__has_gpu(const struct session *s, uint32_t gpu)
{
	const struct memory_state *memory = memory_state__of(&s->model);
	size_t i;

	for (i = 0; i < memory->heaps.nr; i++)
		if (heap_place_of(&memory->heaps.v[i], gpu))
			return true;
	return false;
}

static uint64_t memory__first_ns(const struct session *s)
{
	const struct memory_state *memory = memory_state__of(&s->model);
	uint64_t first_ns = UINT64_MAX;
	size_t i;

	for (i = 0; i < memory->heaps.nr; i++)
		first_ns = min_t(uint64_t, first_ns, memory->heaps.v[i].from_ns);
	return first_ns;
}

static const struct feature_counters counters = {
	.names = (const char *const[]){ "memory used", "memory reserved", NULL },
	.count = memory__count,
	.has_gpu = memory__has_gpu,
	.first_ns = memory__first_ns,
};

static const struct section *const sections[] = {
	&section_memory_devices,
	&section_memory_moments,
	&section_memory_holders,
	&section_memory_leaks,
	&section_memory_churn,
	&section_memory_failures,
	NULL
};

const struct feature memory_feature = {
	.name = "memory",
	.new = memory__new,
	.free = memory__free,
	.records = records,
	.open = memory__open,
	.record = memory__record,
	.close = memory__close,
	.absorb = memory__absorb,
	.finish = memory__finish,
	.recorded = memory__recorded,
	.account = memory__account,
	.lacks = memory__lacks,
	.made = memory__made,
	.counters = &counters,
	.summary = memory__summary,
	.sections = sections,
	.page_head = memory__page_head,
	.page = memory__page,
	.table = &allocations_table,
	.options = &memory_options,
	.split = &memory_split,
};
