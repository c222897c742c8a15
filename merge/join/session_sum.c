// SPDX-License-Identifier: GPL-3.0-or-later
#include "join/session_sum.h"

#include <errno.h>

#include "hash.h"
#include "join/session_nvtx.h"
#include "join/session_tables.h"
#include "xpu_time.h"

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

#define RECENT(chain, leaf, comm) \
	(((chain) * 31 + (leaf) * 7 + ((uintptr_t)(comm) >> 3)) % NR_RECENT)

void session__see_time(struct session *s, uint64_t from_ns, uint64_t to_ns)
{
	if (from_ns < s->first_ns)
		s->first_ns = from_ns;
	if (to_ns > s->last_ns)
		s->last_ns = to_ns;
}

int session__keeps(struct session *s, uint32_t chain, uint32_t thread, const char *comm,
		   uint64_t time_ns, const struct work *w)
{
	struct filter_event e = {
		.pid = s->machine.procs.v[s->chains.v[chain].proc].pid,
		.tid = thread != NO_INDEX ? s->threads.v[thread].tid : NO_INDEX,
		.comm = comm,
		.timed = time_ns,
		.time_ns = xpu_ns_between(s->start_ns, time_ns),
		.device = NO_INDEX,
		.stream = NO_INDEX,
	};
	int keeps;

	if (!filter__active(s->opts.filter))
		return 1;
	keeps = session__keeps_range(s, s->chains.v[chain].range);
	if (keeps <= 0)
		return keeps;
	if (w) {
		const struct stream *stream = &s->streams.v[w->stream];
		const struct leaf *leaf = &s->leaves.v[w->leaf];

		e.device = s->gpus.list.v[stream->gpu].number;
		e.stream = stream->known ? stream->stream : NO_INDEX;
		e.kernel = leaf->kind == LEAF_KERNEL ? leaf->name : NULL;
	}
	return filter__keeps(s->opts.filter, &e);
}

int session__keeps_call(struct session *s, uint32_t thread, const char *comm, uint64_t time_ns)
{
	struct filter_event e = {
		.pid = s->machine.procs.v[s->threads.v[thread].proc].pid,
		.tid = s->threads.v[thread].tid,
		.comm = comm,
		.timed = true,
		.time_ns = xpu_ns_between(s->start_ns, time_ns),
		.device = NO_INDEX,
		.stream = NO_INDEX,
	};

	return filter__active(s->opts.filter) ? filter__keeps(s->opts.filter, &e) : 1;
}

int session__keeps_thread(struct session *s, const struct thread_account *a)
{
	const struct thread *thread = &s->threads.v[a->thread];
	struct filter_event e = {
		.pid = s->machine.procs.v[thread->proc].pid,
		.tid = thread->tid,
		.comm = a->comm,
		.device = NO_INDEX,
		.stream = NO_INDEX,
	};

	return filter__active(s->opts.filter) ? filter__keeps(s->opts.filter, &e) : 1;
}

int session__add(struct session *s, uint32_t chain, const char *comm, uint32_t thread,
		 uint32_t leaf, const struct work *w)
{
	struct aggregate_key key = {
		.chain = chain,
		.leaf = leaf,
		.comm = comm,
		.thread = s->opts.by_thread ? thread : NO_INDEX,
		.stream = s->opts.by_stream && w ? w->stream : NO_INDEX,
	};
	uint32_t *recent = &s->tables->recent[RECENT(chain, leaf, comm)];
	struct aggregate_entry *e;
	struct aggregate *a;
	bool oom = false;
	int err;

	if (s->opts.without & 1u << s->leaves.v[leaf].kind)
		return 0;
	if (*recent < s->aggregates.nr) {
		a = &s->aggregates.v[*recent];
		if (a->chain == chain && a->leaf == leaf && a->comm == comm &&
		    a->thread == key.thread && a->stream == key.stream)
			goto found;
	}
	HASH_FIND(hh, s->tables->aggregates, &key, sizeof(key), e);
	if (!e) {
		e = arena__alloc(&s->tables->arena, sizeof(*e));
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
		HASH_ADD(hh, s->tables->aggregates, key, sizeof(key), e);
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

void session__add_more(struct session *s, uint32_t chain, const char *comm, uint32_t leaf,
		       uint64_t nr, uint64_t ns)
{
	struct aggregate *a = &s->aggregates.v[s->tables->recent[RECENT(chain, leaf, comm)]];

	a->nr += nr;
	a->sum_ns += ns;
	if (nr)
		a->min_ns = min_t(uint64_t, a->min_ns, ns / nr);
}

int session__tell_placed(struct session *s, const struct placed *placed)
{
	const struct session_sink *sink = s->opts.sink;

	if (!sink || !sink->placed || s->opts.without & 1u << s->leaves.v[placed->leaf].kind)
		return 0;
	return sink->placed(sink->ctx, s, placed);
}

void session__free_sums(struct session *s)
{
	HASH_CLEAR(hh, s->tables->aggregates);
}
