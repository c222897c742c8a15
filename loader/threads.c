// SPDX-License-Identifier: GPL-3.0-or-later
#include "threads.h"

#include <stdlib.h>

#include "table.h"
#include "writer.h"

struct key {
	uint32_t proc_id, tid;
};

struct thread {
	UT_hash_handle hh;
	struct key key;
	uint32_t id;
};

struct ns_thread {
	UT_hash_handle hh;
	struct key key;			/* by its own number */
	uint32_t tid;
};

struct threads {
	struct writer *writer;
	struct thread *all;
	struct ns_thread *renamed;	/* that have another number in their own namespace */
	const struct thread *last;	/* most come several times in a row */
	uint32_t last_id;
};

struct threads *threads__new(struct writer *w)
{
	struct threads *t = calloc(1, sizeof(*t));

	if (t)
		t->writer = w;
	return t;
}

void threads__free(struct threads *t)
{
	if (!t)
		return;
	table_free(t->all, table_free_nothing);
	table_free(t->renamed, table_free_nothing);
	free(t);
}

static void threads__define(struct threads *t, uint32_t id, struct key key, uint32_t ns_tid)
{
	struct xpu_record_thread *r = writer__reserve(t->writer, sizeof(*r));

	if (r)
		*r = (struct xpu_record_thread){
			.hdr = { XPU_RECORD_THREAD, 0, sizeof(*r) },
			.thread_id = id,
			.proc_id = key.proc_id,
			.tid = key.tid,
			.ns_tid = ns_tid,
		};
}

uint32_t threads__id(struct threads *t, uint32_t proc_id, uint32_t tid)
{
	struct key key = { proc_id, tid };
	struct thread *thread;

	if (t->last && t->last->key.proc_id == proc_id && t->last->key.tid == tid)
		return t->last->id;
	table_get(t->all, key, key, thread);
	if (!thread)
		return 0;
	if (!thread->id) {
		thread->id = ++t->last_id;
		threads__define(t, thread->id, key, 0);
	}
	t->last = thread;
	return thread->id;
}

void threads__learn(struct threads *t, uint32_t proc_id, uint32_t tid, uint32_t ns_tid)
{
	struct key key = { proc_id, ns_tid };
	struct ns_thread *n;
	uint32_t id;

	if (ns_tid == tid)
		return;
	table_get(t->renamed, key, key, n);
	if (!n || n->tid == tid)
		return;
	n->tid = tid;
	id = threads__id(t, proc_id, tid);
	if (id)
		threads__define(t, id, (struct key){ proc_id, tid }, ns_tid);
}

uint32_t threads__tid(const struct threads *t, uint32_t proc_id, uint32_t ns_tid)
{
	struct key key = { proc_id, ns_tid };
	struct ns_thread *n;

	table_find(t->renamed, key, key, n);
	return n ? n->tid : ns_tid;
}
