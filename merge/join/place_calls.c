// SPDX-License-Identifier: GPL-3.0-or-later
#include "join/place_calls.h"

#include <errno.h>
#include <string.h>

#include "join/tell.h"
#include "join/wanted.h"

/*
 * Finds the thread whose tid in its process is @tid. In a process with its own pid namespace, this
 * is the tid inside the namespace. For a thread that launched nothing, only this tid is recorded.
 */
static int call__thread(struct second_pass *p, uint32_t proc, const struct xpu_record_batch *batch,
			uint32_t tid, uint32_t *thread)
{
	struct model *m = p->model;
	bool own_ns = batch->ns_tid && batch->ns_tid != batch->tid;
	const struct idmap *found = own_ns ? &p->found->ns_tids : &p->found->tids;
	struct idmap *others = &p->calls.tids[own_ns];
	int err;

	if (idmap__get(found, ID_KEY(proc, tid), thread) ||
	    idmap__get(others, ID_KEY(proc, tid), thread))
		return 0;
	*thread = m->threads.nr;
	err = idmap__put(others, ID_KEY(proc, tid), *thread);
	return err ?: array_push(&m->threads, ((struct thread){ .proc = proc, .tid = tid }));
}

/*
 * Return: the length of the function's name in a callback's name. Names of runtime callbacks end in
 * "_v" and a CUDA version.
 */
static size_t api_name__len(const char *name)
{
	size_t len = strlen(name), end = len;

	while (end && name[end - 1] >= '0' && name[end - 1] <= '9')
		end--;
	return end < len && end > 2 && !strncmp(name + end - 2, "_v", 2) ? end - 2 : len;
}

/*
 * Finds the index in sums.calls of the function with callback id @cbid, which may include
 * XPU_CALL_RUNTIME. Processes whose function has the same name share an
 * entry.
 */
static int call__stats(struct second_pass *p, uint32_t proc, uint16_t cbid, uint32_t *idx)
{
	struct model *m = p->model;
	uint32_t domain = XPU_CALL_DOMAIN(cbid), number = XPU_CALL_NUMBER(cbid);
	const char *name;

	if (idmap__get(&p->calls.stats, ID_KEY(proc, cbid), idx))
		return 0;
	name = found__api_name(p->found, proc, domain, number);
	if (!name || !*name)
		name = strpool__internf(&m->strings, "[api %u:%u]", domain, number);
	else
		name = strpool__intern(&m->strings, name, cbid & XPU_CALL_RUNTIME ?
				       api_name__len(name) : strlen(name));
	return sums__call(p->sums, name, idx) ?:
	       idmap__put(&p->calls.stats, ID_KEY(proc, cbid), *idx);
}

static int call__add(struct second_pass *p, struct slice *call, uint16_t cbid, uint64_t duration_ns)
{
	struct model *m = p->model;
	struct thread *thread = &m->threads.v[call->thread];
	const char *comm = model__thread_comm(m, thread, call->start_ns - p->found->shift_ns);
	struct filter_span part = {
		.from_ns = call->start_ns, .to_ns = call->end_ns, .ns = duration_ns, .nr = 1,
	};
	struct call_stats *stats;
	int keep, err;
	uint32_t idx;

	err = call__stats(p, thread->proc, cbid, &idx);
	if (err)
		return err;
	stats = &p->sums->calls.v[idx];
	call->name = stats->name;
	/* The NVTX range of a call is unknown. */
	keep = !filter__given(p->opts->filter, FILTER_RANGE) &&
	       wanted__cut(p->opts->filter, m, &part) ?
	       wanted__call(p->opts->filter, m, call->thread, comm, part.from_ns) : 0;
	if (keep < 0)
		return keep;
	if (keep) {
		call->start_ns = part.from_ns;
		call->end_ns = part.to_ns;
		call->is_part = part.ns != duration_ns;
		p->sums->nr_calls += part.nr;
		err = p->opts->stats ?
		      stats__add_part(&stats->ns, duration_ns, part.ns, part.nr) : 0;
	}
	/* A call that the filter rejects may be a launch whose work the filter keeps. */
	call->launch_only = !keep;
	return err ?: tell__slice(p, call);
}

int calls__read(struct second_pass *p, uint32_t proc, const struct xpu_record_batch *batch,
		const struct xpu_record_calls *rec)
{
	struct arrived *arrived;
	uint32_t thread, i;
	int err = second_pass__arrived(p, proc, &arrived);

	if (err)
		return err;
	arrived->nr_calls += rec->nr;
	if (p->opts->without & 1u << LEAF_PENDING)
		return 0;
	err = call__thread(p, proc, batch, rec->tid, &thread);
	for (i = 0; i < rec->nr && !err; i++) {
		const struct xpu_call *c = &rec->calls[i];
		uint64_t duration_ns = (uint64_t)c->duration_high << 32 | c->duration_ns;
		struct slice call = {
			.start_ns = rec->time_ns + (int64_t)c->delta_ns + p->found->shift_ns,
			.key = JOIN_KEY(SCOPE(proc, XPU_CALL_API(c->cbid)), c->correlation_id),
			.thread = thread,
			.chain = NO_INDEX,
			.kind = SLICE_API,
		};

		if (__builtin_add_overflow(call.start_ns, duration_ns, &call.end_ns))
			p->sums->loss.bad_calls++;
		else if (!found__has_time(p->found, call.start_ns - p->found->shift_ns,
					  call.end_ns - p->found->shift_ns))
			p->sums->loss.outside_calls++;
		else
			err = call__add(p, &call, c->cbid, duration_ns);
	}
	return err;
}
