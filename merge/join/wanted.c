// SPDX-License-Identifier: GPL-3.0-or-later
#include "join/wanted.h"

#include "xpu_time.h"

int wanted__range(struct filter *f, struct model *m, uint32_t range)
{
	struct ranges *r = &m->ranges;
	uint32_t path[MAX_RANGES], nr, i;

	if (!filter__given(f, FILTER_RANGE))
		return 1;
	nr = range == NO_RANGE ? 0 : ranges__path(r, range, path);
	for (i = 0; i < nr; i++) {
		struct range_name *name = &r->names.v[r->list.v[path[i]].name];
		int matches = name->wanted;

		if (matches < 0) {
			matches = filter__matches(f, FILTER_RANGE, name->name);
			if (matches < 0)
				return matches;
			name->wanted = matches;
		}
		if (matches)
			return 1;
	}
	return 0;
}

int wanted__at(const struct filter *f, const struct model *m, uint32_t proc, uint64_t time_ns)
{
	const struct captured_window *w;

	if (!filter__given(f, FILTER_WINDOW))
		return 1;
	w = captured__at(&m->captured, proc, time_ns);
	return w && filter__has_number(f, FILTER_WINDOW, w->number);
}

int wanted__ask_work(struct filter *f, struct model *m, uint32_t chain, uint32_t thread,
		     const char *comm, uint64_t time_ns, const struct work *w)
{
	struct filter_event e = {
		.pid = m->machine.procs.v[m->chains.v[chain].proc].pid,
		.rank = model__rank(m, m->chains.v[chain].proc),
		.tid = thread != NO_INDEX ? m->threads.v[thread].tid : NO_INDEX,
		.comm = comm,
		.timed = time_ns,
		.time_ns = xpu_ns_between(m->start_ns, time_ns),
		.device = NO_INDEX,
		.stream = NO_INDEX,
	};
	int keeps = wanted__range(f, m, m->chains.v[chain].range);

	if (keeps <= 0)
		return keeps;
	/* Device work belongs to the window of its launch: place.c checks that window. */
	if (!w && !wanted__at(f, m, m->chains.v[chain].proc, time_ns))
		return 0;
	if (w) {
		const struct stream *stream = &m->streams.v[w->stream];
		const struct leaf *leaf = &m->leaves.v[w->leaf];

		e.device = m->gpus.list.v[stream->gpu].number;
		e.stream = stream->known ? stream->stream : NO_INDEX;
		e.kernel = leaf->kind == LEAF_KERNEL ? leaf->name : NULL;
	}
	return filter__keeps(f, &e);
}

int wanted__call(struct filter *f, const struct model *m, uint32_t thread, const char *comm,
		 uint64_t time_ns)
{
	struct filter_event e = {
		.pid = m->machine.procs.v[m->threads.v[thread].proc].pid,
		.rank = model__rank(m, m->threads.v[thread].proc),
		.tid = m->threads.v[thread].tid,
		.comm = comm,
		.timed = true,
		.time_ns = xpu_ns_between(m->start_ns, time_ns),
		.device = NO_INDEX,
		.stream = NO_INDEX,
	};

	if (!wanted__at(f, m, m->threads.v[thread].proc, time_ns))
		return 0;
	return filter__active(f) ? filter__keeps(f, &e) : 1;
}

int wanted__memory(struct filter *f, struct model *m, uint32_t chain, uint32_t thread,
		   const char *comm, uint64_t time_ns, uint32_t gpu)
{
	struct filter_event e = {
		.pid = m->machine.procs.v[m->chains.v[chain].proc].pid,
		.rank = model__rank(m, m->chains.v[chain].proc),
		.tid = thread != NO_INDEX ? m->threads.v[thread].tid : NO_INDEX,
		.comm = comm,
		.timed = true,
		.time_ns = f ? f->from_ns : 0,
		.device = gpu != NO_INDEX ? m->gpus.list.v[gpu].number : NO_INDEX,
		.stream = NO_INDEX,
	};
	int keeps;

	if (!filter__active(f))
		return 1;
	keeps = wanted__range(f, m, m->chains.v[chain].range);
	if (keeps > 0)
		keeps = wanted__at(f, m, m->chains.v[chain].proc, time_ns);
	return keeps <= 0 ? keeps : filter__keeps(f, &e);
}

int wanted__thread(struct filter *f, const struct model *m, uint32_t thread_idx, const char *comm)
{
	const struct thread *thread = &m->threads.v[thread_idx];
	struct filter_event e = {
		.pid = m->machine.procs.v[thread->proc].pid,
		.rank = model__rank(m, thread->proc),
		.tid = thread->tid,
		.comm = comm,
		.device = NO_INDEX,
		.stream = NO_INDEX,
	};

	if (filter__given(f, FILTER_RANGE) || filter__given(f, FILTER_WINDOW))
		return 0;
	return filter__active(f) ? filter__keeps(f, &e) : 1;
}
