// SPDX-License-Identifier: GPL-3.0-or-later
#include "record/launches.h"

#include <errno.h>
#include <stdlib.h>

#include "record/chains.h"
#include "record/event_packer.h"
#include "record/processes.h"
#include "record/recorder_parts.h"
#include "record/recorder_stats.h"
#include "record/threads.h"
#include "record/writer.h"
#include "xpu_slot.h"

/*
 * The value in MAP_PATHS for a call path that a shim has numbered. It consists of the recording's
 * id of the path, one of the flags below, and 30 bits. Until the shim defines the path, the 30 bits
 * count the launches that wait for the definition. Afterwards they are the id of the thread that
 * launches from the path, or 0 if it is not known yet. Each path number belongs to one thread.
 */
#define PATH_ID(path)	((uint32_t)(path))
#define PATH_UNTOLD	(1ull << 63)	/* not defined yet, or the definition was lost */
#define PATH_BEYOND	(1ull << 62)	/* defined, but the frames are unknown because of a limit */
#define PATH_WAITS	(1ull << 32)	/* added for each waiting launch */
#define PATH_MAX_WAITS	((1u << 30) - 1)
#define PATH_NR_WAITS(path)	((uint32_t)((path) >> 32 & PATH_MAX_WAITS))
#define PATH_OF(thread_id)	((uint64_t)((thread_id) & PATH_MAX_WAITS) << 32)
#define PATH_THREAD(path)	PATH_NR_WAITS(path)

struct launches {
	struct recorder_parts parts;
	bool want_ranges, want_memory;
	uint64_t nr_no_memory;		/* number of launches of processes that have no struct
					 * process, because memory ran out */
};

struct launches *launches__new(const struct recorder_parts *parts, bool ranges, bool memory)
{
	struct launches *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->parts = *parts;
	l->want_ranges = ranges;
	l->want_memory = memory;
	return l;
}

void launches__free(struct launches *l)
{
	free(l);
}

void launches__stats(const struct launches *l, struct recorder_stats *stats)
{
	stats->nr_no_memory += l->nr_no_memory;
}

void launches__malformed(struct launches *l, uint32_t proc_id)
{
	struct process *p = processes__get(l->parts.processes, proc_id);

	if (p)
		processes__add_malformed(l->parts.processes, p, 1);
	else
		l->nr_no_memory++;
}

/* ---- paths that shims have numbers for ------------------------------------------------------- */

static bool is_path(uint32_t number)
{
	return number && number <= XPU_MAX_PATHS;
}

/*
 * Handles the definition of a path's number. Launches may have used the number before its
 * definition, and the shim may repeat a definition.
 */
static void launches__name_path(struct launches *l, struct process *p,
				const struct xpu_ring_launch *launch, const struct chain *chain)
{
	const struct numbers_key key = { .a = launch->path_id };
	struct chains *chains = l->parts.chains;
	uint64_t nr_beyond = p->nr_beyond, *path, of = 0;
	uint32_t id;

	if (!is_path(launch->path_id)) {
		processes__add_malformed(l->parts.processes, p, 1);
		return;
	}
	if (!(launch->flags & XPU_CHAIN_NO_LAUNCH))	/* a definition without a launch may come
							 * from another thread */
		of = PATH_OF(threads__id(l->parts.threads, p, launch->tid));
	path = process__find(p, MAP_PATHS, key);
	if (path && *path & PATH_UNTOLD) {
		chains__tell(chains, p, chain, launch->frames, launch->time_ns, PATH_ID(*path));
		p->nr_untold -= PATH_NR_WAITS(*path);
		*path = PATH_ID(*path) | of;
	}
	if (path)
		return;
	id = chains__id(chains, p, chain, launch->frames, launch->time_ns, true);
	if (id)
		processes__add(l->parts.processes, p, MAP_PATHS, key,
			       id | of | (p->nr_beyond > nr_beyond ? PATH_BEYOND : 0));
	p->nr_beyond = nr_beyond;	/* do not count the definition, which may have no launch */
}

/*
 * Return: the recording's id of path @number, which may not be defined yet; beyond the limit, the
 * id of a chain without frames; 0 if memory runs out.
 */
static uint32_t launches__numbered_path(struct launches *l, struct process *p, uint32_t number,
					uint64_t time_ns, uint32_t thread_id)
{
	const struct numbers_key key = { .a = number };
	const struct chain unknown = { .proc_id = p->proc_id };
	uint64_t *path = process__find(p, MAP_PATHS, key);
	uint32_t id;
	int err;

	if (path) {
		if (*path & PATH_UNTOLD && PATH_NR_WAITS(*path) < PATH_MAX_WAITS) {
			*path += PATH_WAITS;
			p->nr_untold++;
		}
		if (!PATH_THREAD(*path))
			*path |= PATH_OF(thread_id);
		p->nr_beyond += !!(*path & PATH_BEYOND);
		return PATH_ID(*path);
	}
	id = chains__promise(l->parts.chains);
	err = processes__add(l->parts.processes, p, MAP_PATHS, key, id | PATH_UNTOLD | PATH_WAITS);
	p->nr_untold += !err;
	if (err != -ENOSPC)
		return err ? 0 : id;
	p->nr_beyond++;
	return chains__unknown(l->parts.chains, p, &unknown, time_ns, true);
}

/* ---- one by one ------------------------------------------------------------------------------ */

static void launches__graph_node(struct launches *l, const struct xpu_ring_launch *launch,
				 uint32_t path_id, uint32_t thread_id)
{
	struct xpu_record_graph_node *r = writer__reserve(l->parts.writer, sizeof(*r));

	if (r)
		*r = (struct xpu_record_graph_node){
			.hdr = {
				XPU_RECORD_GRAPH_NODE, XPU_WITH_API(XPU_API(launch->domain), 0),
				sizeof(*r),
			},
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
			.hdr = {
				XPU_RECORD_WAIT,
				XPU_WITH_API(XPU_API(wait->domain),
					     XPU_WITHOUT_API(wait->hdr.misc)),
				sizeof(*r),
			},
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
	 * Drop entries that were logged before the attach or after the detach, because the
	 * recording is complete only in between. While a probe is being attached or detached, its
	 * semaphore is raised although nobody listens.
	 */
	if (!processes__is_after_attach(l->parts.processes, p, time_ns) ||
	    !processes__is_before_detach(l->parts.processes, time_ns))
		return;
	p->nr_launches++;
	/*
	 * Drop the range if it is not wanted: the shim may record ranges for another loader on this
	 * machine.
	 */
	event_packer__add_launch(l->parts.events, time_ns, launch, l->want_ranges ? range_id : 0);
}

/* Flags that a target may set in a slot. */
#define SLOT_FLAGS	(XPU_CHAIN_TRUNCATED | XPU_CHAIN_SHIM | XPU_CHAIN_FAILED)

void launches__take(struct launches *l, const struct xpu_ring_launch *launch, size_t size)
{
	const struct chain chain = {
		.proc_id = launch->proc_id,
		.cbid = launch->cbid,
		.domain = launch->domain,
		.flags = launch->flags & SLOT_FLAGS,
		.nr_frames = launch->nr_frames,
	};
	const struct recorder_parts *parts = &l->parts;
	uint32_t thread_id, path_id;
	struct process *p;

	if (launch->nr_frames > XPU_MAX_FRAMES ||
	    size < sizeof(*launch) + launch->nr_frames * sizeof(launch->frames[0])) {
		launches__malformed(l, launch->proc_id);
		return;
	}
	p = processes__get(parts->processes, launch->proc_id);
	if (p && launch->path_id)
		launches__name_path(l, p, launch, &chain);
	if (p)
		threads__learn(parts->threads, p, launch->tid, launch->ns_tid);
	if (launch->flags & XPU_CHAIN_NO_LAUNCH)
		return;
	if (!p) {
		l->nr_no_memory++;
		return;
	}
	thread_id = threads__id(parts->threads, p, launch->tid);
	path_id = chains__id(parts->chains, p, &chain, launch->frames, launch->time_ns,
			     launch->hdr.type == XPU_RECORD_LAUNCH);
	if (!thread_id || !path_id) {
		p->nr_no_memory++;
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
 * Return: how many of the log's entries are already recorded; 0 for logs beyond the limit. If a
 * sender was killed before it could note that the entries were sent, they are sent again at the
 * thread's end.
 */
static uint32_t launches__nr_known(struct launches *l, struct process *p,
				   const struct xpu_ring_log *log)
{
	const struct numbers_key key = { .a = log->log_id, .b = log->ns_tid };
	uint64_t end = log->first + log->nr, *next = process__find(p, MAP_LOGS, key), known;

	if (!next) {
		processes__add(l->parts.processes, p, MAP_LOGS, key, end);
		return 0;
	}
	known = *next > log->first ? *next - log->first : 0;
	if (end > *next)
		*next = end;
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
	event_packer__add_range(l->parts.events, time_ns, range);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void launches__add_alloc(struct launches *l, struct process *p, uint64_t time_ns,
				uint64_t order, struct xpu_alloc alloc)
{
	bool shims_own = alloc.what == XPU_ALLOC_START || alloc.what == XPU_ALLOC_LEVEL, lacks;

	if (!l->want_memory)
		return;
	if (alloc.what == XPU_ALLOC_NONE || alloc.what >= XPU_ALLOC_NR ||
	    alloc.space >= XPU_SPACE_NR || alloc.device > XPU_ALLOC_NO_DEVICE ||
	    alloc.api >= XPU_APIS ||
	    (alloc.path_id && !is_path(alloc.path_id))) {
		processes__add_malformed(l->parts.processes, p, 1);
		return;
	}
	lacks = !shims_own && !alloc.thread_id;
	if (alloc.path_id) {
		alloc.path_id =
			launches__numbered_path(l, p, alloc.path_id, time_ns, alloc.thread_id);
		lacks |= !alloc.path_id;
	}
	p->nr_beyond += lacks;		/* memory ran out */
	if (!l->want_ranges)
		alloc.range_id = 0;
	p->nr_allocs += !shims_own;
	event_packer__add_alloc(l->parts.events, p->proc_id, time_ns, order, alloc);
}

/*
 * Takes the event that begins at entry @e, when @nr entries are left. Return: how many entries the
 * event has; 0 if it is incomplete.
 */
static uint32_t launches__log_alloc(struct launches *l, struct process *p,
				    const struct xpu_log_entry *e, uint32_t nr, uint64_t time_ns,
				    uint32_t thread_id, uint32_t range_id)
{
	uint32_t what = e->path_id, nr_own;
	struct xpu_log_alloc a;

	nr_own = xpu_log_alloc__read(&a, e, nr);
	if (!nr_own)
		return 0;
	launches__add_alloc(l, p, time_ns, a.order, (struct xpu_alloc){
		.path_id = e->correlation_id,
		.thread_id = thread_id,
		.range_id = range_id,
		.what = what & 0xf,
		.space = what >> 4 & 0xf,
		.device = what >> 8 & 0x3ff,
		.api = what >> 18 & (XPU_APIS - 1),
		.extra = a.extra,
		.address = a.address,
		.bytes = a.bytes,
	});
	return nr_own;
}

void launches__take_alloc(struct launches *l, uint32_t proc_id, uint32_t tid, uint32_t ns_tid,
			  const struct xpu_record_alloc *alloc)
{
	struct process *p = processes__get(l->parts.processes, proc_id);
	struct xpu_alloc event = alloc->event;

	if (!p) {
		l->nr_no_memory++;
		return;
	}
	threads__learn(l->parts.threads, p, tid, ns_tid);
	event.thread_id = event.what == XPU_ALLOC_START || event.what == XPU_ALLOC_LEVEL ? 0 :
			  threads__id(l->parts.threads, p, tid);
	launches__add_alloc(l, p, alloc->time_ns, alloc->order, event);
}

/* ---- whole logs ------------------------------------------------------------------------------ */

static bool is_range_event(uint32_t path_id)
{
	uint16_t what = XPU_LOG_RANGE_WHAT(path_id);

	return what >= XPU_RANGE_PUSH && what <= XPU_RANGE_SET;
}

void launches__take_log(struct launches *l, const struct xpu_ring_log *log, size_t size)
{
	const struct xpu_clock clock = { log->clock_ticks, log->clock_ns, log->clock_rate };
	const struct xpu_log_entry *e = (const struct xpu_log_entry *)log->entries, *end;
	uint32_t tid, thread_id, path_id, range_id = log->range_id, nr_known;
	struct process *p;
	uint64_t time_ns;

	if (!log->nr || log->nr > XPU_LOG_ENTRIES || size < sizeof(*log) + log->nr * sizeof(*e)) {
		launches__malformed(l, log->proc_id);
		return;
	}
	p = processes__get(l->parts.processes, log->proc_id);
	if (!p) {
		l->nr_no_memory += log->nr;
		return;
	}
	if (log->first > UINT64_MAX - log->nr) {
		processes__add_malformed(l->parts.processes, p, log->nr);
		return;
	}
	/* A thread in another pid namespace has sent both of its thread ids with its first path. */
	tid = log->tid ?: threads__tid(p, log->ns_tid);
	thread_id = threads__id(l->parts.threads, p, tid);
	if (!thread_id) {
		p->nr_no_memory += log->nr;
		return;
	}
	nr_known = launches__nr_known(l, p, log);
	for (end = e + log->nr; e < end; e++) {
		bool known = nr_known && nr_known--;

		time_ns = xpu_log__ns(&clock, e->time);
		if (e->path_id & XPU_LOG_RANGE && is_range_event(e->path_id)) {
			if (XPU_LOG_RANGE_WHAT(e->path_id) != XPU_RANGE_MARK)
				range_id = e->correlation_id;
			if (!known)
				launches__add_range(l, p, time_ns, (struct xpu_range_event){
					.range_id = e->correlation_id, .thread_id = thread_id,
					.what = XPU_LOG_RANGE_WHAT(e->path_id),
					.place = XPU_LOG_RANGE_PLACE(e->path_id),
				});
			continue;
		}
		if (known)
			continue;
		if (XPU_LOG_IS_ALLOC(e->path_id)) {
			uint32_t nr = 0;

			if (e->path_id & XPU_LOG_ALLOC_MORE)
				continue;	/* padding */
			nr = launches__log_alloc(l, p, e, end - e, time_ns, thread_id, range_id);
			if (!nr)
				processes__add_malformed(l->parts.processes, p, 1);
			else
				e += nr - 1;
			continue;
		}
		if (!is_path(e->path_id)) {
			processes__add_malformed(l->parts.processes, p, 1);
			continue;
		}
		path_id = launches__numbered_path(l, p, e->path_id, time_ns, thread_id);
		if (path_id)
			launches__add(l, p, time_ns, (struct xpu_launch){
				.correlation_id = e->correlation_id, .path_id = path_id,
				.thread_id = thread_id,
			}, range_id);
		else
			p->nr_no_memory++;
	}
}

/* ---- threads that have ended ----------------------------------------------------------------- */

static bool path_may_come(void *living, const struct numbers_slot *path)
{
	const struct numbers_key key = { .a = PATH_THREAD(path->value) };

	return path->value & PATH_UNTOLD || !key.a || numbers__find(living, key);
}

static bool log_may_come(void *process, const struct numbers_slot *log)
{
	const struct numbers_key key = { .a = threads__tid(process, log->key.b) };

	return process__find(process, MAP_THREADS, key);
}

static bool tid_may_come(void *process, const struct numbers_slot *ns_thread)
{
	return process__find(process, MAP_THREADS, (struct numbers_key){ .a = ns_thread->value });
}

void launches__sweep(struct launches *l, struct process *p)
{
	struct numbers living = { 0 };

	if (!threads__living(p, &living)) {
		processes__sift(l->parts.processes, p, MAP_PATHS, path_may_come, &living);
		processes__sift(l->parts.processes, p, MAP_LOGS, log_may_come, p);
		processes__sift(l->parts.processes, p, MAP_NS_THREADS, tid_may_come, p);
		p->threads_ended.nr_settled = 0;
	}
	numbers__free(&living);
}
