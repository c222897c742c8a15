// SPDX-License-Identifier: GPL-3.0-or-later
#include "record/threads.h"

#include <errno.h>
#include <stdlib.h>

#include "record/processes.h"
#include "record/writer.h"

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
