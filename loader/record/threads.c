// SPDX-License-Identifier: GPL-3.0-or-later
#include "record/threads.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "record/processes.h"
#include "record/writer.h"

/*
 * Within SETTLE_NS after a thread's end, the shim sends the records that the thread could not send.
 * At most MAX_UNSETTLED ended threads are remembered; further threads count as settled at once.
 */
#define SETTLE_NS	5000000000ull
#define MAX_UNSETTLED	(1 << 16)
#define MIN_SWEEP	64

struct threads {
	struct writer *writer;
	struct processes *processes;
	uint32_t last_id;
};

struct threads *threads__new(struct writer *w, struct processes *ps)
{
	struct threads *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->writer = w;
	t->processes = ps;
	return t;
}

void threads__free(struct threads *t)
{
	free(t);
}

static void threads__define(struct threads *t, uint32_t id, const struct process *p, uint32_t tid,
			    uint32_t ns_tid)
{
	struct xpu_record_thread *r = writer__reserve(t->writer, sizeof(*r));

	if (r)
		*r = (struct xpu_record_thread){
			.hdr = { XPU_RECORD_THREAD, 0, sizeof(*r) },
			.thread_id = id,
			.proc_id = p->proc_id,
			.tid = tid,
			.ns_tid = ns_tid,
		};
}

static uint32_t threads__beyond(struct threads *t, struct process *p)
{
	p->nr_beyond++;
	if (!p->other_threads) {
		p->other_threads = ++t->last_id;
		threads__define(t, p->other_threads, p, 0, 0);
	}
	return p->other_threads;
}

uint32_t threads__known(const struct process *p, uint32_t tid)
{
	const uint64_t *id = process__find(p, MAP_THREADS, (struct numbers_key){ .a = tid });

	return id ? *id : 0;
}

uint32_t threads__id(struct threads *t, struct process *p, uint32_t tid)
{
	const struct numbers_key key = { .a = tid };
	const uint64_t *id = process__find(p, MAP_THREADS, key);
	int err;

	if (id)
		return *id;
	err = processes__add(t->processes, p, MAP_THREADS, key, t->last_id + 1);
	if (err)
		return err == -ENOSPC ? threads__beyond(t, p) : 0;
	threads__define(t, ++t->last_id, p, tid, 0);
	return t->last_id;
}

void threads__learn(struct threads *t, struct process *p, uint32_t tid, uint32_t ns_tid)
{
	const struct numbers_key key = { .a = ns_tid };
	uint64_t *known;
	uint32_t id;

	if (ns_tid == tid || !tid)
		return;
	known = process__find(p, MAP_NS_THREADS, key);
	if (known && *known == tid)
		return;
	if (known)
		*known = tid;
	else if (processes__add(t->processes, p, MAP_NS_THREADS, key, tid))
		return;
	id = threads__id(t, p, tid);
	if (id && id != p->other_threads)
		threads__define(t, id, p, tid, ns_tid);
}

uint32_t threads__tid(const struct process *p, uint32_t ns_tid)
{
	const uint64_t *tid = process__find(p, MAP_NS_THREADS, (struct numbers_key){ .a = ns_tid });

	return tid ? *tid : ns_tid;
}

/* ---- ends ------------------------------------------------------------------------------------ */

static void process__settle_threads(struct process *p, uint64_t now_ns)
{
	struct threads_ended *e = &p->threads_ended;
	size_t nr = 0;

	while (nr < e->latest.nr && now_ns > e->latest.v[nr].time_ns &&
	       now_ns - e->latest.v[nr].time_ns > SETTLE_NS)
		nr++;
	/* Remove entries only if more than half can go, so that moving the rest is cheap. */
	if (nr <= e->latest.nr / 2)
		return;
	e->nr_settled += nr;
	e->latest.nr -= nr;
	memmove(e->latest.v, e->latest.v + nr, e->latest.nr * sizeof(*e->latest.v));
}

uint32_t threads__end(struct threads *t, struct process *p, uint32_t tid, uint64_t time_ns)
{
	const struct numbers_key key = { .a = tid };
	const uint64_t *found = process__find(p, MAP_THREADS, key);
	struct threads_ended *e = &p->threads_ended;
	uint32_t id;

	if (!found || time_ns < p->start_ns)
		return 0;
	id = *found;
	processes__remove(t->processes, p, MAP_THREADS, key);
	process__settle_threads(p, time_ns);
	if (e->latest.nr == MAX_UNSETTLED || array_reserve(&e->latest, e->latest.nr + 1)) {
		e->nr_settled++;
		return id;
	}
	e->latest.v[e->latest.nr].time_ns = time_ns;
	e->latest.v[e->latest.nr++].id = id;
	return id;
}

bool threads__sweep_is_due(const struct process *p)
{
	return p->threads_ended.nr_settled >= MIN_SWEEP + p->maps[MAP_THREADS].nr;
}

int threads__living(const struct process *p, struct numbers *ids)
{
	const struct threads_ended *e = &p->threads_ended;
	const struct numbers *m = &p->maps[MAP_THREADS];
	int err = 0;
	size_t i;

	for (i = 0; i < m->nr_slots && !err; i++)
		if (m->slots[i].value)
			err = numbers__add(ids, (struct numbers_key){ .a = m->slots[i].value }, 1);
	for (i = 0; i < e->latest.nr && !err; i++)
		err = numbers__add(ids, (struct numbers_key){ .a = e->latest.v[i].id }, 1);
	if (p->other_threads && !err)
		err = numbers__add(ids, (struct numbers_key){ .a = p->other_threads }, 1);
	return err;
}
