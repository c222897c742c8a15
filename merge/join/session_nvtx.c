// SPDX-License-Identifier: GPL-3.0-or-later
#include "join/session_nvtx.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "join/session_origin.h"
#include "join/session_settle.h"
#include "join/session_sum.h"
#include "join/session_tables.h"
#include "model/slice.h"

#define UNKNOWN_RANGE	"[unknown NVTX range]"
#define MAX_PATH	(XPU_RANGE_DEPTH + 1)	/* a mark in as many ranges as can be open */

struct open_range {
	uint32_t range;
	uint64_t start_ns;
};

struct change {
	uint64_t time_ns;
	uint32_t range;			/* from then on */
};

struct nvtx_thread {
	ARRAY(struct open_range) open;
	ARRAY(struct change) changes;	/* by time */
};

void nvtx__exit(struct nvtx *n)
{
	size_t i;

	for (i = 0; i < n->threads.nr; i++) {
		array_free(&n->threads.v[i].open);
		array_free(&n->threads.v[i].changes);
	}
	for (i = 0; i < n->names.nr; i++)
		stats__free(&n->names.v[i].ns);
	array_free(&n->threads);
	array_free(&n->names);
	array_free(&n->ranges);
	array_free(&n->recs);
	idmap__free(&n->by_id);
	idmap__free(&n->by_name);
	idmap__free(&n->chains);
}

uint32_t nvtx__path(const struct nvtx *n, uint32_t range, uint32_t path[MAX_PATH])
{
	uint32_t nr = 0, i;

	for (; range != NVTX_NO_RANGE && nr < MAX_PATH; range = n->ranges.v[range].parent)
		path[nr++] = range;
	for (i = 0; i < nr / 2; i++) {
		uint32_t tmp = path[i];

		path[i] = path[nr - 1 - i];
		path[nr - 1 - i] = tmp;
	}
	return nr;
}

uint32_t nvtx__at(const struct nvtx *n, uint32_t thread, uint64_t time_ns)
{
	const struct nvtx_thread *t;
	size_t low = 0, high, mid;

	if (thread >= n->threads.nr)
		return NVTX_NO_RANGE;
	t = &n->threads.v[thread];
	high = t->changes.nr;
	while (low < high) {
		mid = low + (high - low) / 2;
		if (t->changes.v[mid].time_ns <= time_ns)
			low = mid + 1;
		else
			high = mid;
	}
	return low ? t->changes.v[low - 1].range : NVTX_NO_RANGE;
}

/* ---- what ids mean -------------------------------------------------------------------------- */

/* The index of what is called that, "domain:name". Return: 0 or -ENOMEM. */
static int session__nvtx_name(struct session *s, const char *domain, const char *name,
			      uint32_t *idx)
{
	struct nvtx_name new = { .wanted = -1 };
	struct nvtx *n = &s->nvtx;
	int err;

	new.name = *domain ? strpool__internf(&s->strings, "%s:%s", domain, name) :
		   strpool__intern(&s->strings, name, strlen(name));
	if (!new.name)
		return -ENOMEM;
	if (idmap__get(&n->by_name, (uintptr_t)new.name, idx))
		return 0;
	*idx = n->names.nr;
	err = idmap__put(&n->by_name, (uintptr_t)new.name, *idx);
	return err ?: array_push(&n->names, new);
}

static int session__new_range(struct session *s, const struct nvtx_range *range, uint32_t id)
{
	static const struct nvtx_range none;
	struct nvtx *n = &s->nvtx;
	int err = 0;

	if (!n->ranges.nr) {
		err = array_push(&n->ranges, none);
		n->first_range = 1;
	}
	if (!err)
		err = idmap__put(&n->by_id, ID_KEY(range->proc, id), n->ranges.nr);
	return err ?: array_push(&n->ranges, *range);
}

int session__collect_range(struct session *s, uint32_t proc, const struct xpu_record_range *rec)
{
	struct nvtx_range range = { .rec = rec, .proc = proc };
	uint32_t idx;
	int err;

	if (!rec->id || idmap__get(&s->nvtx.by_id, ID_KEY(proc, rec->id), &idx))
		return 0;
	err = session__nvtx_name(s, rec->data + rec->name_bytes, rec->data, &range.name);
	return err ?: session__new_range(s, &range, rec->id);
}

/* Return: the number of ids that nothing defines, or -ENOMEM. */
static int session__range(struct session *s, uint32_t proc, uint32_t id, uint32_t *idx)
{
	struct nvtx_range unknown = { .proc = proc };
	int err;

	*idx = NVTX_NO_RANGE;
	if (!id || idmap__get(&s->nvtx.by_id, ID_KEY(proc, id), idx))
		return 0;
	err = session__nvtx_name(s, "", UNKNOWN_RANGE, &unknown.name);
	if (!err)
		err = session__new_range(s, &unknown, id);
	*idx = s->nvtx.ranges.nr - 1;
	return err ?: 1;
}

/* A path has a higher number than what it was opened in, so there is no going round in circles. */
static int session__resolve_parents(struct session *s)
{
	struct nvtx *n = &s->nvtx;
	uint32_t parent;
	size_t i, nr = n->ranges.nr;
	int err;

	for (i = n->first_range; i < nr; i++) {
		const struct xpu_record_range *rec = n->ranges.v[i].rec;

		if (!rec)
			continue;
		if (rec->parent >= rec->id) {
			s->loss.bad_refs++;
			continue;
		}
		err = session__range(s, n->ranges.v[i].proc, rec->parent, &parent);
		if (err < 0)
			return err;
		s->loss.bad_refs += err;
		n->ranges.v[i].parent = parent;
	}
	return 0;
}

/* ---- the filter ------------------------------------------------------------------------------ */

int session__keeps_range(struct session *s, uint32_t range)
{
	struct nvtx *n = &s->nvtx;
	uint32_t path[MAX_PATH], nr, i;

	if (!filter__given(s->opts.filter, FILTER_NVTX))
		return 1;
	nr = range == NVTX_NO_RANGE ? 0 : nvtx__path(n, range, path);
	for (i = 0; i < nr; i++) {
		struct nvtx_name *name = &n->names.v[n->ranges.v[path[i]].name];
		int matches = name->wanted;

		if (matches < 0) {
			matches = filter__matches(s->opts.filter, FILTER_NVTX, name->name);
			if (matches < 0)
				return matches;
			name->wanted = matches;
		}
		if (matches)
			return 1;
	}
	return 0;
}

static int session__keeps_open(struct session *s, uint32_t thread_idx, uint32_t range,
			       uint64_t time_ns)
{
	struct thread *thread = &s->threads.v[thread_idx];
	const char *comm;
	int keeps;

	if (!filter__active(s->opts.filter))
		return 1;
	comm = session__thread_comm(s, thread, time_ns - s->shift_ns);
	keeps = session__keeps_range(s, range);
	return keeps <= 0 ? keeps : session__keeps_call(s, thread_idx, comm, time_ns);
}

/* ---- events become ranges -------------------------------------------------------------------- */

static int session__tell_range(struct session *s, uint32_t thread, uint32_t range,
			       uint64_t start_ns, uint64_t end_ns)
{
	const struct session_sink *sink = s->opts.sink;
	struct slice slice = {
		.start_ns = start_ns,
		.end_ns = end_ns,
		.key = JOIN_KEY(s->threads.v[thread].proc, 0),
		.name = nvtx__name(&s->nvtx, range),
		.thread = thread,
		.chain = NO_INDEX,
		.kind = SLICE_NVTX,
	};

	return sink && sink->slice ? sink->slice(sink->ctx, s, &slice) : 0;
}

static int session__close_range(struct session *s, uint32_t thread, struct nvtx_thread *t,
				size_t place, uint64_t time_ns)
{
	struct open_range open = t->open.v[place];
	struct nvtx_name *name = &s->nvtx.names.v[s->nvtx.ranges.v[open.range].name];
	int keeps;

	/* It may have been ended by another thread, which looked at the clock earlier. */
	time_ns = max_t(uint64_t, time_ns, open.start_ns);
	t->open.nr--;
	memmove(&t->open.v[place], &t->open.v[place + 1], (t->open.nr - place) * sizeof(open));
	keeps = session__keeps_open(s, thread, open.range, open.start_ns);
	if (keeps <= 0)
		return keeps;
	return stats__add(&name->ns, time_ns - open.start_ns) ?:
	       session__tell_range(s, thread, open.range, open.start_ns, time_ns);
}

/*
 * From now on what is open is the path of @range. One event opens or closes one; where some are
 * missing, all that differs is closed and opened.
 */
static int session__set_range(struct session *s, uint32_t thread, struct nvtx_thread *t,
			      uint32_t range, uint64_t time_ns)
{
	uint32_t path[MAX_PATH], nr = nvtx__path(&s->nvtx, range, path), same = 0;
	int err = 0;

	while (same < nr && same < t->open.nr && t->open.v[same].range == path[same])
		same++;
	while (t->open.nr > same && !err)
		err = session__close_range(s, thread, t, t->open.nr - 1, time_ns);
	for (; same < nr && !err; same++)
		err = array_push(&t->open, ((struct open_range){ path[same], time_ns }));
	return err;
}

/* The one at @place is closed; those behind it stay open, on other paths. */
static int session__end_range(struct session *s, uint32_t thread, struct nvtx_thread *t,
			      uint32_t place, uint32_t range, uint64_t time_ns)
{
	const struct nvtx_range *ranges = s->nvtx.ranges.v;
	uint32_t path[MAX_PATH], nr = nvtx__path(&s->nvtx, range, path), i;
	int err;

	if (place < t->open.nr && t->open.nr == nr + 1) {
		err = session__close_range(s, thread, t, place, time_ns);
		if (err)
			return err;
		for (i = place; i < nr; i++)
			if (ranges[t->open.v[i].range].name == ranges[path[i]].name)
				t->open.v[i].range = path[i];
	}
	return session__set_range(s, thread, t, range, time_ns);
}

static struct nvtx_thread *session__nvtx_thread(struct session *s, uint32_t thread)
{
	static const struct nvtx_thread none;

	while (s->nvtx.threads.nr <= thread)
		if (array_push(&s->nvtx.threads, none))
			return NULL;
	return &s->nvtx.threads.v[thread];
}

static int session__range_event(struct session *s, const struct xpu_range_event *e,
				uint64_t time_ns)
{
	struct nvtx *n = &s->nvtx;
	uint32_t thread, range;
	struct account *account;
	struct nvtx_thread *t;
	int err;

	if (!idmap__get(&s->tables->threads, e->thread_id, &thread)) {
		s->loss.bad_refs++;
		return 0;
	}
	t = session__nvtx_thread(s, thread);
	err = t ? session__range(s, s->threads.v[thread].proc, e->range_id, &range) : -ENOMEM;
	if (err < 0)
		return err;
	s->loss.bad_refs += err;
	err = session__account(s, s->threads.v[thread].proc, &account);
	if (err)
		return err;
	account->nr_ranges++;
	n->last_ns = max_t(uint64_t, n->last_ns, time_ns);
	switch (e->what) {
	case XPU_RANGE_MARK:
		if (range == NVTX_NO_RANGE)
			return 0;
		err = session__keeps_open(s, thread, range, time_ns);
		return err <= 0 ? err : session__tell_range(s, thread, range, time_ns, time_ns);
	case XPU_RANGE_POP:
	case XPU_RANGE_END:
		err = session__end_range(s, thread, t, e->place, range, time_ns);
		break;
	default:
		err = session__set_range(s, thread, t, range, time_ns);
		break;
	}
	if (err || !s->opts.by_range)
		return err;
	if (t->changes.nr)	/* as above */
		time_ns = max_t(uint64_t, time_ns, t->changes.v[t->changes.nr - 1].time_ns);
	return array_push(&t->changes, ((struct change){ time_ns, range }));
}

int session__nvtx_resolve(struct session *s)
{
	struct nvtx *n = &s->nvtx;
	uint64_t time_ns;
	size_t i;
	int err;

	err = session__resolve_parents(s);
	for (i = 0; i < n->recs.nr && !err; i++) {
		const struct xpu_record_ranges *rec = n->recs.v[i];
		uint32_t k;

		for (k = 0; k < rec->nr && !err; k++) {
			time_ns = rec->time_ns + (int64_t)rec->events[k].delta_ns + s->shift_ns;
			err = session__range_event(s, &rec->events[k], time_ns);
		}
	}
	n->recs.nr = 0;
	return err;
}

int session__nvtx_finish(struct session *s)
{
	struct nvtx *n = &s->nvtx;
	size_t i = s->tables->first_thread;
	int err = 0;

	for (; i < n->threads.nr && !err; i++) {
		const struct proc *p = &s->machine.procs.v[s->threads.v[i].proc];
		struct nvtx_thread *t = &n->threads.v[i];
		uint64_t end_ns = max_t(uint64_t, n->last_ns, s->last_ns);

		if (p->exited && p->exit_ns)
			end_ns = p->exit_ns + s->shift_ns;
		while (t->open.nr && !err) {
			n->names.v[n->ranges.v[t->open.v[t->open.nr - 1].range].name].nr_unclosed++;
			err = session__close_range(s, i, t, t->open.nr - 1, end_ns);
		}
		array_free(&t->changes);
	}
	return err;
}

/* ---- chains ---------------------------------------------------------------------------------- */

int session__ranged_chain(struct session *s, uint32_t range, uint32_t *idx)
{
	uint64_t key = ID_KEY(*idx, range);
	struct chain chain;
	uint32_t known;
	int err;

	if (range == NVTX_NO_RANGE)
		return 0;
	if (idmap__get(&s->nvtx.chains, key, &known)) {
		*idx = known;
		return 0;
	}
	chain = s->chains.v[*idx];
	chain.range = range;
	chain.in_range = *idx;
	chain.nr_launches = chain.nr_nodes = chain.nr_pending = chain.nr_samples = 0;
	*idx = s->chains.nr;
	err = idmap__put(&s->nvtx.chains, key, *idx);
	return err ?: array_push(&s->chains, chain);
}

int session__nvtx_chain(struct session *s, uint32_t proc, uint32_t range_id, uint32_t *chain)
{
	uint32_t range;
	int nr_bad, err;

	if (!range_id || !s->opts.by_range)
		return 0;
	nr_bad = session__range(s, proc, range_id, &range);
	if (nr_bad < 0)
		return nr_bad;
	err = session__ranged_chain(s, range, chain);
	return err ?: nr_bad;
}
