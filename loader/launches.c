// SPDX-License-Identifier: GPL-3.0-or-later
#include "launches.h"

#include <stdlib.h>
#include <string.h>

#include "chains.h"
#include "events.h"
#include "parts.h"
#include "processes.h"
#include "recorder.h"
#include "table.h"
#include "threads.h"
#include "writer.h"
#include "xpu_slot.h"

/* A thread's log of launches: how much of it is here. */
struct log {
	UT_hash_handle hh;
	struct log_key {
		uint32_t proc_id, log_id;
	} key;
	uint64_t next;
};

/* A call path that a log has and that the shim has not told of yet, or that was lost. */
struct untold {
	UT_hash_handle hh;
	uint32_t path_id;
	uint64_t nr_launches;
};

struct launches {
	struct parts parts;
	bool want_ranges;
	struct log *logs;
	struct untold *untold;
	uint64_t nr_no_memory;
};

struct launches *launches__new(const struct parts *parts, bool ranges)
{
	struct launches *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->parts = *parts;
	l->want_ranges = ranges;
	return l;
}

void launches__free(struct launches *l)
{
	if (!l)
		return;
	table_free(l->logs, table_free_nothing);
	table_free(l->untold, table_free_nothing);
	free(l);
}

void launches__stats(const struct launches *l, struct recorder_stats *stats)
{
	const struct untold *u;

	for (u = l->untold; u; u = u->hh.next)
		stats->nr_untold += u->nr_launches;
	stats->nr_no_memory = l->nr_no_memory;
}

/* ---- paths that shims have numbers for ------------------------------------------------------- */

/* Where the recording's id of the shim's path @number is; NULL: no such number, or no memory. */
static uint32_t *process__path(struct process *p, uint32_t number)
{
	if (!number || number > XPU_MAX_PATHS || array_reserve(&p->paths, number + 1))
		return NULL;
	if (number >= p->paths.nr) {
		memset(p->paths.v + p->paths.nr, 0,
		       (number + 1 - p->paths.nr) * sizeof(*p->paths.v));
		p->paths.nr = number + 1;
	}
	return &p->paths.v[number];
}

/* The shim says what a number stands for. It may have been used before, and said before. */
static void launches__name_path(struct launches *l, struct process *p,
				const struct xpu_ring_launch *launch, const struct chain *chain)
{
	uint32_t *path_id = process__path(p, launch->path_id);
	struct untold *u;

	if (!path_id)
		return;
	if (!*path_id) {
		*path_id = chains__id(l->parts.chains, chain, launch->frames, launch->time_ns,
				      true);
		return;
	}
	table_find(l->untold, path_id, *path_id, u);
	if (!u)
		return;
	chains__tell(l->parts.chains, chain, launch->frames, launch->time_ns, u->path_id);
	table_remove(l->untold, u);
}

/* The recording's id of path @number, which may be told of later. 0: no memory, or no path. */
static uint32_t launches__numbered_path(struct launches *l, struct process *p, uint32_t number)
{
	uint32_t *path_id = process__path(p, number), id;
	struct untold *u;

	if (!path_id)
		return 0;
	if (*path_id) {
		table_find(l->untold, path_id, *path_id, u);
	} else {
		id = chains__promise(l->parts.chains);
		table_get(l->untold, path_id, id, u);
		if (!u)
			return 0;
		*path_id = id;
	}
	if (u)
		u->nr_launches++;
	return *path_id;
}

/* ---- one by one ------------------------------------------------------------------------------ */

static void launches__graph_node(struct launches *l, const struct xpu_ring_launch *launch,
				 uint32_t path_id, uint32_t thread_id)
{
	struct xpu_record_graph_node *r = writer__reserve(l->parts.writer, sizeof(*r));

	if (r)
		*r = (struct xpu_record_graph_node){
			.hdr = { XPU_RECORD_GRAPH_NODE, 0, sizeof(*r) },
			.time_ns = launch->time_ns,
			.node_id = launch->graph_node_id,
			.proc_id = launch->proc_id,
			.correlation_id = launch->correlation_id,
			.path_id = path_id,
			.thread_id = thread_id,
		};
}

static void launches__wait(struct launches *l, const struct xpu_ring_launch *wait,
			   uint32_t path_id, uint32_t thread_id)
{
	struct xpu_record_wait *r = writer__reserve(l->parts.writer, sizeof(*r));

	if (r)
		*r = (struct xpu_record_wait){
			.hdr = { XPU_RECORD_WAIT, wait->hdr.misc, sizeof(*r) },
			.start_ns = wait->time_ns,
			.duration_ns = wait->wait_ns,
			.path_id = path_id,
			.thread_id = thread_id,
			.context = wait->wait_context,
			.stream = wait->wait_stream,
			.correlation_id = wait->correlation_id,
			.range_id = l->want_ranges ? wait->range_id : 0,
		};
}

static void launches__add(struct launches *l, struct process *p, uint64_t time_ns,
			  struct xpu_launch launch, uint32_t range_id)
{
	/*
	 * Logged before, or told of after: of others we have not heard. While a probe comes or
	 * goes, its semaphore is up already, or up still, and nobody is there.
	 */
	if (!processes__is_after_attach(l->parts.processes, p, time_ns) ||
	    !processes__is_before_detach(l->parts.processes, time_ns))
		return;
	p->nr_launches++;
	/* Where ranges are not wanted, somebody else on this machine may want them. */
	events__add_launch(l->parts.events, time_ns, launch, l->want_ranges ? range_id : 0);
}

void launches__take(struct launches *l, const struct xpu_ring_launch *launch, size_t size)
{
	const struct chain chain = {
		.proc_id = launch->proc_id,
		.cbid = launch->cbid,
		.domain = launch->domain,
		/* They come from the target's slot, which might say that this is no launch's. */
		.flags = launch->flags & (XPU_CHAIN_TRUNCATED | XPU_CHAIN_SHIM | XPU_CHAIN_FAILED),
		.nr_frames = launch->nr_frames,
	};
	const struct parts *parts = &l->parts;
	uint32_t thread_id, path_id;
	struct process *p;

	if (launch->nr_frames > XPU_MAX_FRAMES ||
	    size < sizeof(*launch) + launch->nr_frames * sizeof(launch->frames[0]))
		return;
	p = processes__get(parts->processes, launch->proc_id);
	if (p && launch->path_id)
		launches__name_path(l, p, launch, &chain);
	if (launch->flags & XPU_CHAIN_NO_LAUNCH)
		return;
	threads__learn(parts->threads, launch->proc_id, launch->tid, launch->ns_tid);
	thread_id = threads__id(parts->threads, launch->proc_id, launch->tid);
	path_id = chains__id(parts->chains, &chain, launch->frames, launch->time_ns,
			     launch->hdr.type == XPU_RECORD_LAUNCH);
	if (!p || !thread_id || !path_id) {
		l->nr_no_memory++;
		return;
	}
	if (launch->hdr.type == XPU_RECORD_LAUNCH_WAIT)
		launches__wait(l, launch, path_id, thread_id);
	else if (launch->graph_node_id)
		launches__graph_node(l, launch, path_id, thread_id);
	else
		launches__add(l, p, launch->time_ns, (struct xpu_launch){
			.correlation_id = launch->correlation_id, .path_id = path_id,
			.thread_id = thread_id,
		}, launch->range_id);
}

/* ---- logs ------------------------------------------------------------------------------------ */

/*
 * How many of a log's entries are here already: its sender was killed before it could say so, and
 * the thread's end sent them again. -1: no memory.
 */
static int64_t launches__nr_known(struct launches *l, const struct xpu_ring_log *log)
{
	const struct log_key key = { log->proc_id, log->log_id };
	uint64_t end = log->first + log->nr, known;
	struct log *seen;

	table_get(l->logs, key, key, seen);
	if (!seen)
		return -1;
	known = seen->next > log->first ? seen->next - log->first : 0;
	if (end > seen->next)
		seen->next = end;
	return known < log->nr ? known : log->nr;
}

static void launches__add_range(struct launches *l, struct process *p, uint64_t time_ns,
				struct xpu_range_event range)
{
	if (!l->want_ranges || (p->attached &&
				(!processes__is_after_attach(l->parts.processes, p, time_ns) ||
				 !processes__is_before_detach(l->parts.processes, time_ns))))
		return;
	p->nr_ranges++;
	events__add_range(l->parts.events, time_ns, range);
}

void launches__take_log(struct launches *l, const struct xpu_ring_log *log, size_t size)
{
	const struct xpu_clock clock = { log->clock_ticks, log->clock_ns, log->clock_rate };
	const struct xpu_log_entry *e = (const struct xpu_log_entry *)log->entries, *end;
	uint32_t tid, thread_id, path_id, range_id = log->range_id;
	struct process *p;
	int64_t nr_known;
	uint64_t time_ns;

	if (log->nr > XPU_LOG_ENTRIES || size < sizeof(*log) + log->nr * sizeof(*e))
		return;
	/* In a pid namespace of its own a thread has told of itself with its first path. */
	tid = log->tid ?: threads__tid(l->parts.threads, log->proc_id, log->ns_tid);
	p = processes__get(l->parts.processes, log->proc_id);
	thread_id = threads__id(l->parts.threads, log->proc_id, tid);
	nr_known = launches__nr_known(l, log);
	if (!p || !thread_id || nr_known < 0) {
		l->nr_no_memory += log->nr;
		return;
	}
	for (end = e + log->nr; e < end; e++, nr_known--) {
		time_ns = xpu_log__ns(&clock, e->time);
		if (e->path_id & XPU_LOG_RANGE) {
			if (XPU_LOG_RANGE_WHAT(e->path_id) != XPU_RANGE_MARK)
				range_id = e->correlation_id;
			if (nr_known <= 0)
				launches__add_range(l, p, time_ns, (struct xpu_range_event){
					.range_id = e->correlation_id, .thread_id = thread_id,
					.what = XPU_LOG_RANGE_WHAT(e->path_id),
					.place = XPU_LOG_RANGE_PLACE(e->path_id),
				});
			continue;
		}
		if (nr_known > 0)
			continue;
		path_id = launches__numbered_path(l, p, e->path_id);
		if (path_id)
			launches__add(l, p, time_ns, (struct xpu_launch){
				.correlation_id = e->correlation_id, .path_id = path_id,
				.thread_id = thread_id,
			}, range_id);
		else
			l->nr_no_memory++;
	}
}
