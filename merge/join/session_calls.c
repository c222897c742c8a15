// SPDX-License-Identifier: GPL-3.0-or-later
#include "join/session_calls.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "join/session_collect.h"
#include "join/session_origin.h"
#include "join/session_settle.h"
#include "join/session_sum.h"
#include "model/slice.h"

#define DOMAIN_DRIVER	1		/* CUPTI_CB_DOMAIN_DRIVER_API */
#define DOMAIN_RUNTIME	2		/* CUPTI_CB_DOMAIN_RUNTIME_API */

int session__collect_tid(struct session *s, const struct xpu_record_thread *rec, uint32_t proc,
			 uint32_t thread)
{
	struct session_tables *t = s->tables;
	int err;

	err = idmap__add(&t->tids, ID_KEY(proc, rec->tid), thread);
	if (err >= 0 && rec->ns_tid)
		err = idmap__add(&t->ns_tids, ID_KEY(proc, rec->ns_tid), thread);
	return min_t(int, err, 0);
}

/*
 * The thread that its process calls @tid. In a pid namespace of its own that means nothing here,
 * and threads that have launched nothing are known by it alone.
 */
static int session__call_thread(struct session *s, uint32_t proc,
				const struct xpu_record_batch *batch, uint32_t tid,
				uint32_t *thread)
{
	bool own_ns = batch->ns_tid && batch->ns_tid != batch->tid;
	struct idmap *map = own_ns ? &s->tables->ns_tids : &s->tables->tids;
	int err;

	if (idmap__get(map, ID_KEY(proc, tid), thread))
		return 0;
	*thread = s->threads.nr;
	err = idmap__put(map, ID_KEY(proc, tid), *thread);
	return err ?: array_push(&s->threads, ((struct thread){ .proc = proc, .tid = tid }));
}

/*
 * Return: how much of a name is the function's: the runtime's end in "_v" and CUDA's version then.
 */
static size_t api_name__len(const char *name)
{
	size_t len = strlen(name), end = len;

	while (end && name[end - 1] >= '0' && name[end - 1] <= '9')
		end--;
	return end < len && end > 2 && !strncmp(name + end - 2, "_v", 2) ? end - 2 : len;
}

/*
 * The index in s->calls of what @cbid, with XPU_CALL_RUNTIME or without, is the call of. Processes
 * that have one name for it share one.
 */
static int session__call_stats(struct session *s, uint32_t proc, uint16_t cbid, uint32_t *idx)
{
	uint32_t domain = cbid & XPU_CALL_RUNTIME ? DOMAIN_RUNTIME : DOMAIN_DRIVER;
	struct session_tables *t = s->tables;
	const char *name;
	int err = 0;

	if (idmap__get(&t->calls, ID_KEY(proc, cbid), idx))
		return 0;
	name = session__api_name(s, proc, domain, cbid & ~XPU_CALL_RUNTIME);
	if (!name || !*name)
		name = strpool__internf(&s->strings, "[api %u:%u]", domain,
				       cbid & ~XPU_CALL_RUNTIME);
	else
		name = strpool__intern(&s->strings, name, domain == DOMAIN_RUNTIME ?
				       api_name__len(name) : strlen(name));
	if (!name)
		return -ENOMEM;
	if (!idmap__get(&t->call_names, (uintptr_t)name, idx)) {
		*idx = s->calls.nr;
		err = array_push(&s->calls, ((struct call_stats){ .name = name }));
		if (!err)
			err = idmap__put(&t->call_names, (uintptr_t)name, *idx);
	}
	return err ?: idmap__put(&t->calls, ID_KEY(proc, cbid), *idx);
}

static int session__call(struct session *s, struct slice *call, uint16_t cbid, uint64_t duration_ns)
{
	const struct session_sink *sink = s->opts.sink;
	struct thread *thread = &s->threads.v[call->thread];
	const char *comm = session__thread_comm(s, thread, call->start_ns - s->shift_ns);
	struct call_stats *stats;
	int keep, err;
	uint32_t idx;

	err = session__call_stats(s, thread->proc, cbid, &idx);
	if (err)
		return err;
	stats = &s->calls.v[idx];
	call->name = stats->name;
	keep = session__keeps_call(s, call->thread, comm, call->start_ns);
	if (keep < 0)
		return keep;
	if (keep) {
		s->nr_calls++;
		err = s->opts.stats ? stats__add(&stats->ns, duration_ns) : 0;
	}
	/* One that the filter does not want may be a launch whose work it wants. */
	call->launch_only = !keep;
	if (!err && sink && sink->slice)
		err = sink->slice(sink->ctx, s, call);
	return err;
}

int session__calls(struct session *s, uint32_t proc, const struct xpu_record_batch *batch,
		   const struct xpu_record_calls *rec)
{
	struct account *account;
	uint32_t thread, i;
	int err;

	err = session__account(s, proc, &account);
	if (err)
		return err;
	account->nr_calls += rec->nr;
	if (s->opts.without & 1u << LEAF_PENDING)
		return 0;
	err = session__call_thread(s, proc, batch, rec->tid, &thread);
	for (i = 0; i < rec->nr && !err; i++) {
		const struct xpu_call *c = &rec->calls[i];
		uint64_t duration_ns = (uint64_t)c->duration_high << 32 | c->duration_ns;
		struct slice call = {
			.start_ns = rec->time_ns + (int64_t)c->delta_ns + s->shift_ns,
			.key = JOIN_KEY(proc, c->correlation_id),
			.thread = thread,
			.chain = NO_INDEX,
			.kind = SLICE_API,
		};

		if (__builtin_add_overflow(call.start_ns, duration_ns, &call.end_ns))
			s->loss.bad_calls++;
		else
			err = session__call(s, &call, c->cbid, duration_ns);
	}
	return err;
}

void session__free_calls(struct session *s)
{
	idmap__free(&s->tables->calls);
	idmap__free(&s->tables->ns_tids);
	idmap__free(&s->tables->tids);
}
