// SPDX-License-Identifier: GPL-3.0-or-later
#include "recorder.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "ksyms.h"
#include "msg.h"
#include "pycode.h"
#include "writer.h"
#include "xpu_slot.h"

#define MAX_LAUNCHES	4096		/* in one record: 64 KiB */
#define MAX_SAMPLES	1024		/* the same: 16 KiB */
#define MAX_RANGES	1024		/* the same */
#define NR_STACKS	256		/* whose last stack is remembered */
#define EXEC_NS		100000000	/* how long an exec may take, at most */

/* What makes a call chain the same one; the frames follow, and all of it is compared. */
struct chain_key {
	uint32_t proc_id;
	uint32_t cbid;
	uint16_t domain;
	uint16_t flags;
	uint32_t nr_frames;
	uint64_t frames[];
};

struct chain {
	UT_hash_handle hh;
	uint32_t path_id;
	struct chain_key key;
};

struct thread {
	UT_hash_handle hh;
	struct {
		uint32_t proc_id, tid;
	} key;
	uint32_t thread_id;
};

/* By the number that its own pid namespace gives a thread. */
struct ns_thread {
	UT_hash_handle hh;
	struct {
		uint32_t proc_id, ns_tid;
	} key;
	uint32_t tid;
};

/* A thread's log of launches: how much of it is here. */
struct log {
	UT_hash_handle hh;
	struct {
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

/* The interpreter that a process has mapped last, as somebody found who knows nothing of images. */
struct found_python {
	UT_hash_handle hh;
	uint32_t pid;
	uint64_t time_ns;
	struct xpu_python python;
};

struct process {
	UT_hash_handle hh;
	uint32_t proc_id, pid;
	uint32_t python_from;		/* the image that it is a fork of, or that one of; 0: none */
	uint32_t *paths;		/* by the shim's number, the recording's; 0: not met */
	uint32_t nr_paths;
	bool forked;			/* not an exec of one that is counted already */
	bool attached;			/* ran before: its counters began before the recording */
	bool failed;			/* said that it cannot be recorded */
	bool gone;			/* exited, or another image is in its place */
	bool ended;			/* the same, before the detach */
	uint64_t nr_launches;		/* received */
	uint64_t nr_ranges;		/* events of them */
	uint64_t nr_batches;
	struct xpu_record_counters first, counters;
};

/* What a thread's stack was last, in whole blocks: what has not changed is not written again. */
struct stack {
	uint32_t thread_id;
	uint64_t start, end;		/* multiples of XPU_STACK_BLOCK */
	uint8_t blocks[];		/* room for BLOCKS_BYTES */
};

#define BLOCKS_BYTES	(XPU_STACK_MAX + 2 * XPU_STACK_BLOCK)

/* A stack as the kernel names it. */
struct off_stack {
	UT_hash_handle hh;
	struct off_stack_key {
		uint64_t hash[2];
		uint64_t proc_id;
	} key;
	uint32_t path_id;
};

struct recorder {
	struct writer *writer;
	recorder_process_fn process_fn;
	recorder_python_fn python_fn;
	void *ctx;
	struct chain *chains;
	struct thread *threads;
	struct ns_thread *ns_threads;
	struct log *logs;
	struct untold *untold;		/* by path_id */
	struct process *processes;
	struct found_python *found;
	struct off_stack *off_stacks;
	struct ksyms *ksyms;
	struct pycodes *pycodes;
	uint32_t last_path_id, last_thread_id;
	uint32_t nr_other_paths;	/* of what is no launch */
	uint64_t nr_no_memory;
	uint64_t nr_samples_total;	/* received */
	uint64_t nr_samples_no_memory;
	uint64_t lost[XPU_LOST_NR];

	const struct thread *last_thread;
	struct process *last_process;

	uint64_t from_ns, until_ns;	/* launches between these are all heard of */
	uint64_t base_ns;		/* of launches[] */
	uint32_t nr_launches;
	bool in_ranges;			/* some of them are */
	struct xpu_launch launches[MAX_LAUNCHES];
	uint32_t launch_ranges[MAX_LAUNCHES];

	bool want_ranges;
	uint64_t ranges_ns;		/* of ranges[] */
	uint32_t nr_ranges;
	struct xpu_range_event ranges[MAX_RANGES];

	uint64_t samples_ns;		/* of samples[] */
	uint32_t sample_period_ns;
	uint32_t nr_samples;
	struct xpu_sample samples[MAX_SAMPLES];

	struct stack *stacks[NR_STACKS];	/* by thread_id, modulo; as they are needed */
	uint8_t blocks[BLOCKS_BYTES];		/* of the one that is to be written */

	struct chain_key key;		/* to look one up; its frames: */
	uint64_t key_frames[XPU_MAX_FRAMES];
};

struct recorder *recorder__new(struct writer *w, uint32_t sample_period_ns, bool ranges,
			       recorder_process_fn fn, recorder_python_fn python_fn, void *ctx)
{
	struct recorder *rec = calloc(1, sizeof(*rec));

	if (!rec)
		return NULL;
	rec->ksyms = ksyms__new();
	rec->pycodes = pycodes__new();
	if (!rec->ksyms || !rec->pycodes) {
		recorder__free(rec);
		return NULL;
	}
	rec->python_fn = python_fn;
	rec->writer = w;
	rec->sample_period_ns = sample_period_ns;
	rec->want_ranges = ranges;
	rec->process_fn = fn;
	rec->ctx = ctx;
	rec->until_ns = UINT64_MAX;
	return rec;
}

void recorder__free(struct recorder *rec)
{
	struct chain *c, *next_chain;
	struct thread *t, *next_thread;
	struct ns_thread *n, *next_ns_thread;
	struct untold *u, *next_untold;
	struct log *l, *next_log;
	struct process *p, *next_process;
	struct found_python *f, *next_found;
	size_t i;
	struct off_stack *o, *next_off;

	if (!rec)
		return;
	HASH_ITER(hh, rec->off_stacks, o, next_off) {
		HASH_DEL(rec->off_stacks, o);
		free(o);
	}
	HASH_ITER(hh, rec->chains, c, next_chain) {
		HASH_DEL(rec->chains, c);
		free(c);
	}
	HASH_ITER(hh, rec->threads, t, next_thread) {
		HASH_DEL(rec->threads, t);
		free(t);
	}
	HASH_ITER(hh, rec->ns_threads, n, next_ns_thread) {
		HASH_DEL(rec->ns_threads, n);
		free(n);
	}
	HASH_ITER(hh, rec->logs, l, next_log) {
		HASH_DEL(rec->logs, l);
		free(l);
	}
	HASH_ITER(hh, rec->untold, u, next_untold) {
		HASH_DEL(rec->untold, u);
		free(u);
	}
	HASH_ITER(hh, rec->processes, p, next_process) {
		HASH_DEL(rec->processes, p);
		free(p->paths);
		free(p);
	}
	HASH_ITER(hh, rec->found, f, next_found) {
		HASH_DEL(rec->found, f);
		free(f);
	}
	for (i = 0; i < NR_STACKS; i++)
		free(rec->stacks[i]);
	pycodes__free(rec->pycodes);
	ksyms__free(rec->ksyms);
	free(rec);
}

void recorder__attached(struct recorder *rec, uint64_t time_ns)
{
	rec->from_ns = time_ns;
}

void recorder__detaching(struct recorder *rec, uint64_t time_ns)
{
	rec->until_ns = time_ns;
}

static struct process *recorder__process(struct recorder *rec, uint32_t proc_id)
{
	struct process *p = rec->last_process;

	if (p && p->proc_id == proc_id)
		return p;
	HASH_FIND(hh, rec->processes, &proc_id, sizeof(proc_id), p);
	if (!p) {
		p = calloc(1, sizeof(*p));
		if (!p)
			return NULL;
		p->proc_id = proc_id;
		HASH_ADD(hh, rec->processes, proc_id, sizeof(p->proc_id), p);
		if (!p->hh.tbl) {
			free(p);
			return NULL;
		}
	}
	rec->last_process = p;
	return p;
}

/* @ns_tid: 0 if it is not known or the same */
static void recorder__define_thread(struct recorder *rec, const struct thread *t, uint32_t ns_tid)
{
	struct xpu_record_thread *r = writer__reserve(rec->writer, sizeof(*r));

	if (r)
		*r = (struct xpu_record_thread){
			.hdr = { XPU_RECORD_THREAD, 0, sizeof(*r) },
			.thread_id = t->thread_id,
			.proc_id = t->key.proc_id,
			.tid = t->key.tid,
			.ns_tid = ns_tid,
		};
}

/* The interned id of a thread, defined in the file on its first record. 0 when memory is short. */
static uint32_t recorder__thread_id(struct recorder *rec, uint32_t proc_id, uint32_t tid)
{
	struct thread key = { .key = { proc_id, tid } }, *t;

	if (rec->last_thread && !memcmp(&rec->last_thread->key, &key.key, sizeof(key.key)))
		return rec->last_thread->thread_id;
	HASH_FIND(hh, rec->threads, &key.key, sizeof(key.key), t);
	if (t)
		goto out;

	t = calloc(1, sizeof(*t));
	if (!t)
		return 0;
	t->key = key.key;
	HASH_ADD(hh, rec->threads, key, sizeof(t->key), t);
	if (!t->hh.tbl) {
		free(t);
		return 0;
	}
	t->thread_id = ++rec->last_thread_id;
	recorder__define_thread(rec, t, 0);
out:
	rec->last_thread = t;
	return t->thread_id;
}

static void recorder__write_chain(struct recorder *rec, const struct chain_key *what,
				  const __u64 *frames, uint64_t time_ns, uint32_t path_id)
{
	size_t frames_bytes = what->nr_frames * sizeof(*frames);
	struct xpu_record_callchain *r = writer__reserve(rec->writer, sizeof(*r) + frames_bytes);

	if (!r)
		return;
	*r = (struct xpu_record_callchain){
		.hdr = { XPU_RECORD_CALLCHAIN, what->flags, sizeof(*r) + frames_bytes },
		.path_id = path_id,
		.proc_id = what->proc_id,
		.time_ns = time_ns,
		.cbid = what->cbid,
		.domain = what->domain,
		.nr_frames = what->nr_frames,
	};
	memcpy(r->frames, frames, frames_bytes);
}

/* Return: the id that the call chain gets, whether there are others that are equal or not. */
static uint32_t recorder__new_path(struct recorder *rec, const struct chain_key *what,
				   const __u64 *frames, uint64_t time_ns, bool launch)
{
	uint32_t i;

	rec->nr_other_paths += !launch;
	for (i = 0; i < what->nr_frames && XPU_FRAME_IS_KERNEL(frames[i]); i++)
		ksyms__write(rec->ksyms, frames[i], rec->writer);
	recorder__write_chain(rec, what, frames, time_ns, ++rec->last_path_id);
	return rec->last_path_id;
}

/*
 * The interned id of a call chain, @what with @frames, first seen at @time_ns; @launch: of a launch.
 * 0: no memory.
 */
static uint32_t recorder__path_id(struct recorder *rec, const struct chain_key *what,
				  const __u64 *frames, uint64_t time_ns, bool launch)
{
	size_t frames_bytes = what->nr_frames * sizeof(*frames);
	size_t key_bytes = sizeof(rec->key) + frames_bytes;
	struct chain *c;

	rec->key = *what;
	memcpy(rec->key.frames, frames, frames_bytes);
	HASH_FIND(hh, rec->chains, &rec->key, key_bytes, c);
	if (c)
		return c->path_id;

	c = malloc(sizeof(*c) + frames_bytes);
	if (!c)
		return 0;
	memcpy(&c->key, &rec->key, key_bytes);
	HASH_ADD_KEYPTR(hh, rec->chains, &c->key, key_bytes, c);
	if (!c->hh.tbl) {
		free(c);
		return 0;
	}
	c->path_id = recorder__new_path(rec, what, frames, time_ns, launch);
	return c->path_id;
}

/* ---- paths that shims have numbers for ------------------------------------------------------- */

/* Where the recording's id of the shim's path @number is; NULL: no such number, or no memory. */
static uint32_t *process__path(struct process *p, uint32_t number)
{
	uint32_t nr = p->nr_paths ?: 64, *paths;

	if (!number || number > XPU_MAX_PATHS)
		return NULL;
	if (number < p->nr_paths)
		return &p->paths[number];
	while (nr <= number)
		nr *= 2;
	paths = reallocarray(p->paths, nr, sizeof(*paths));
	if (!paths)
		return NULL;
	memset(paths + p->nr_paths, 0, (nr - p->nr_paths) * sizeof(*paths));
	p->paths = paths;
	p->nr_paths = nr;
	return &p->paths[number];
}

/* The shim says what a number stands for. It may have been used before, and said before. */
static void recorder__name_path(struct recorder *rec, struct process *p, uint32_t number,
				const struct chain_key *what, const struct xpu_ring_launch *launch)
{
	uint32_t *path_id = process__path(p, number);
	struct untold *u = NULL;

	if (!path_id)
		return;
	if (!*path_id) {
		*path_id = recorder__path_id(rec, what, launch->frames, launch->time_ns, true);
		return;
	}
	if (rec->untold)
		HASH_FIND(hh, rec->untold, path_id, sizeof(*path_id), u);
	if (!u)
		return;
	recorder__write_chain(rec, what, launch->frames, launch->time_ns, u->path_id);
	HASH_DEL(rec->untold, u);
	free(u);
}

/* The recording's id of path @number, which may be told of later. 0: no memory, or no path. */
static uint32_t recorder__numbered_path(struct recorder *rec, struct process *p, uint32_t number)
{
	uint32_t *path_id = process__path(p, number);
	struct untold *u = NULL;

	if (!path_id)
		return 0;
	if (*path_id && !rec->untold)
		return *path_id;
	if (!*path_id) {
		u = calloc(1, sizeof(*u));
		if (!u)
			return 0;
		u->path_id = rec->last_path_id + 1;
		HASH_ADD(hh, rec->untold, path_id, sizeof(u->path_id), u);
		if (!u->hh.tbl) {
			free(u);
			return 0;
		}
		*path_id = ++rec->last_path_id;
	} else {
		HASH_FIND(hh, rec->untold, path_id, sizeof(*path_id), u);
	}
	if (u)
		u->nr_launches++;
	return *path_id;
}

static void recorder__learn_tid(struct recorder *rec, const struct xpu_ring_launch *launch)
{
	struct ns_thread key = { .key = { launch->proc_id, launch->ns_tid } }, *n;

	if (launch->ns_tid == launch->tid)
		return;
	HASH_FIND(hh, rec->ns_threads, &key.key, sizeof(key.key), n);
	if (!n) {
		n = calloc(1, sizeof(*n));
		if (!n)
			return;
		n->key = key.key;
		HASH_ADD(hh, rec->ns_threads, key, sizeof(n->key), n);
		if (!n->hh.tbl) {
			free(n);
			return;
		}
	}
	if (n->tid == launch->tid)
		return;
	n->tid = launch->tid;
	if (recorder__thread_id(rec, launch->proc_id, launch->tid))
		recorder__define_thread(rec, rec->last_thread, launch->ns_tid);
}

/* A thread's id here; in a pid namespace of its own it has told us of it with its first path. */
static uint32_t recorder__log_tid(struct recorder *rec, const struct xpu_ring_log *log)
{
	struct ns_thread key = { .key = { log->proc_id, log->ns_tid } }, *n;

	if (log->tid)
		return log->tid;
	HASH_FIND(hh, rec->ns_threads, &key.key, sizeof(key.key), n);
	return n ? n->tid : log->ns_tid;
}

/*
 * How many of a log's entries are here already: its sender was killed before it could say so, and
 * the thread's end sent them again. -1: no memory.
 */
static int64_t recorder__nr_known(struct recorder *rec, const struct xpu_ring_log *log)
{
	struct log key = { .key = { log->proc_id, log->log_id } }, *l;
	uint64_t end = log->first + log->nr, known;

	HASH_FIND(hh, rec->logs, &key.key, sizeof(key.key), l);
	if (!l) {
		l = calloc(1, sizeof(*l));
		if (!l)
			return -1;
		l->key = key.key;
		HASH_ADD(hh, rec->logs, key, sizeof(l->key), l);
		if (!l->hh.tbl) {
			free(l);
			return -1;
		}
	}
	known = l->next > log->first ? l->next - log->first : 0;
	if (end > l->next)
		l->next = end;
	return known < log->nr ? known : log->nr;
}

static void recorder__graph_node(struct recorder *rec, const struct xpu_ring_launch *launch,
				 uint32_t path_id, uint32_t thread_id)
{
	struct xpu_record_graph_node *r = writer__reserve(rec->writer, sizeof(*r));

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

static void recorder__wait(struct recorder *rec, const struct xpu_ring_launch *wait,
			   uint32_t path_id, uint32_t thread_id)
{
	struct xpu_record_wait *r = writer__reserve(rec->writer, sizeof(*r));

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
			.range_id = rec->want_ranges ? wait->range_id : 0,
		};
}

static void recorder__flush_launches(struct recorder *rec)
{
	size_t bytes = rec->nr_launches * sizeof(rec->launches[0]);
	size_t range_bytes = rec->in_ranges ? rec->nr_launches * sizeof(rec->launch_ranges[0]) : 0;
	size_t size = (sizeof(struct xpu_record_launches) + bytes + range_bytes + 7) & ~(size_t)7;
	struct xpu_record_launches *r;

	if (!rec->nr_launches)
		return;
	r = writer__reserve(rec->writer, size);
	if (r) {
		*r = (struct xpu_record_launches){
			.hdr = { XPU_RECORD_LAUNCHES, rec->in_ranges ? XPU_MISC_LAUNCHES_RANGES : 0,
				 size },
			.time_ns = rec->base_ns,
			.nr = rec->nr_launches,
		};
		memcpy(r->launches, rec->launches, bytes);
		memset((char *)r + size - 8, 0, range_bytes ? 8 : 0);	/* it may be half used */
		memcpy(r->launches + rec->nr_launches, rec->launch_ranges, range_bytes);
	}
	rec->nr_launches = 0;
	rec->in_ranges = false;
}

static void recorder__add_launch(struct recorder *rec, struct process *p, uint64_t time_ns,
				 uint32_t correlation_id, uint32_t path_id, uint32_t thread_id,
				 uint32_t range_id)
{
	int64_t delta = time_ns - rec->base_ns;

	/*
	 * Logged before, or told of after: of others we have not heard. While a probe comes or goes,
	 * its semaphore is up already, or up still, and nobody is there.
	 */
	if ((p->attached && time_ns < rec->from_ns) || time_ns >= rec->until_ns)
		return;
	p->nr_launches++;
	if (rec->nr_launches == MAX_LAUNCHES || delta > INT32_MAX || delta < INT32_MIN)
		recorder__flush_launches(rec);
	if (!rec->nr_launches) {
		rec->base_ns = time_ns;
		delta = 0;
	}
	if (!rec->want_ranges)
		range_id = 0;		/* somebody else on this machine wants them */
	rec->launch_ranges[rec->nr_launches] = range_id;
	rec->in_ranges |= range_id != 0;
	rec->launches[rec->nr_launches++] = (struct xpu_launch){
		.correlation_id = correlation_id,
		.path_id = path_id,
		.delta_ns = delta,
		.thread_id = thread_id,
	};
}

static void recorder__flush_ranges(struct recorder *rec)
{
	size_t bytes = rec->nr_ranges * sizeof(rec->ranges[0]);
	struct xpu_record_ranges *r;

	if (!rec->nr_ranges)
		return;
	r = writer__reserve(rec->writer, sizeof(*r) + bytes);
	if (r) {
		*r = (struct xpu_record_ranges){
			.hdr = { XPU_RECORD_RANGES, 0, sizeof(*r) + bytes },
			.time_ns = rec->ranges_ns,
			.nr = rec->nr_ranges,
		};
		memcpy(r->events, rec->ranges, bytes);
	}
	rec->nr_ranges = 0;
}

static void recorder__add_range(struct recorder *rec, struct process *p,
				const struct xpu_log_entry *e, uint64_t time_ns,
				uint32_t thread_id)
{
	int64_t delta = time_ns - rec->ranges_ns;

	if (!rec->want_ranges ||
	    (p->attached && (time_ns < rec->from_ns || time_ns >= rec->until_ns)))
		return;
	p->nr_ranges++;
	if (rec->nr_ranges == MAX_RANGES || delta > INT32_MAX || delta < INT32_MIN)
		recorder__flush_ranges(rec);
	if (!rec->nr_ranges) {
		rec->ranges_ns = time_ns;
		delta = 0;
	}
	rec->ranges[rec->nr_ranges++] = (struct xpu_range_event){
		.range_id = e->correlation_id,
		.thread_id = thread_id,
		.delta_ns = delta,
		.what = XPU_LOG_RANGE_WHAT(e->path_id),
		.place = XPU_LOG_RANGE_PLACE(e->path_id),
	};
}

static void recorder__log(struct recorder *rec, const struct xpu_ring_log *log, size_t size)
{
	const struct xpu_log_entry *e;
	struct xpu_clock clock;
	uint32_t thread_id, path_id, range_id = log->range_id;
	struct process *p;
	int64_t i, nr_known;

	if (size < sizeof(*log) || log->nr > XPU_LOG_ENTRIES ||
	    size < sizeof(*log) + log->nr * sizeof(*e))
		return;
	p = recorder__process(rec, log->proc_id);
	thread_id = recorder__thread_id(rec, log->proc_id, recorder__log_tid(rec, log));
	nr_known = recorder__nr_known(rec, log);
	if (!p || !thread_id || nr_known < 0) {
		rec->nr_no_memory += log->nr;
		return;
	}
	clock = (struct xpu_clock){ log->clock_ticks, log->clock_ns, log->clock_rate };
	e = (const struct xpu_log_entry *)log->entries;
	for (i = 0; i < log->nr; i++) {
		if (e[i].path_id & XPU_LOG_RANGE &&
		    XPU_LOG_RANGE_WHAT(e[i].path_id) != XPU_RANGE_MARK)
			range_id = e[i].correlation_id;
		if (i < nr_known)
			continue;
		if (e[i].path_id & XPU_LOG_RANGE) {
			recorder__add_range(rec, p, &e[i], xpu_log__ns(&clock, e[i].time), thread_id);
			continue;
		}
		path_id = recorder__numbered_path(rec, p, e[i].path_id);
		if (path_id)
			recorder__add_launch(rec, p, xpu_log__ns(&clock, e[i].time),
					     e[i].correlation_id, path_id, thread_id, range_id);
		else
			rec->nr_no_memory++;
	}
}

static void recorder__launch(struct recorder *rec, const struct xpu_ring_launch *launch,
			     size_t size)
{
	const struct chain_key what = {
		.proc_id = launch->proc_id,
		.cbid = launch->cbid,
		.domain = launch->domain,
		.flags = launch->flags & ~XPU_CHAIN_NO_LAUNCH,
		.nr_frames = launch->nr_frames,
	};
	uint32_t thread_id, path_id;
	struct process *p;

	if (size < sizeof(*launch) || launch->nr_frames > XPU_MAX_FRAMES ||
	    size < sizeof(*launch) + launch->nr_frames * sizeof(launch->frames[0]))
		return;
	p = recorder__process(rec, launch->proc_id);
	if (p && launch->path_id)
		recorder__name_path(rec, p, launch->path_id, &what, launch);
	if (launch->flags & XPU_CHAIN_NO_LAUNCH)
		return;
	recorder__learn_tid(rec, launch);
	thread_id = recorder__thread_id(rec, launch->proc_id, launch->tid);
	path_id = recorder__path_id(rec, &what, launch->frames, launch->time_ns,
				    launch->hdr.type == XPU_RECORD_LAUNCH);
	if (!p || !thread_id || !path_id) {
		rec->nr_no_memory++;
		return;
	}
	if (launch->hdr.type == XPU_RECORD_LAUNCH_WAIT) {
		recorder__wait(rec, launch, path_id, thread_id);
		return;
	}
	if (launch->graph_node_id) {
		recorder__graph_node(rec, launch, path_id, thread_id);
		return;
	}
	recorder__add_launch(rec, p, launch->time_ns, launch->correlation_id, path_id, thread_id,
			     launch->range_id);
}

static void recorder__flush_samples(struct recorder *rec)
{
	size_t bytes = rec->nr_samples * sizeof(rec->samples[0]);
	struct xpu_record_samples *r;

	if (!rec->nr_samples)
		return;
	r = writer__reserve(rec->writer, sizeof(*r) + bytes);
	if (r) {
		*r = (struct xpu_record_samples){
			.hdr = { XPU_RECORD_SAMPLES, 0, sizeof(*r) + bytes },
			.time_ns = rec->samples_ns,
			.nr = rec->nr_samples,
			.period_ns = rec->sample_period_ns,
		};
		memcpy(r->samples, rec->samples, bytes);
	}
	rec->nr_samples = 0;
}

void recorder__flush(struct recorder *rec)
{
	recorder__flush_launches(rec);
	recorder__flush_ranges(rec);
	recorder__flush_samples(rec);
}

void recorder__finish(struct recorder *rec)
{
	recorder__flush(rec);
	ksyms__finish(rec->ksyms, rec->writer);
}

/* The bits of the blocks from @start to @end that are not in @old as they are in @blocks. */
static size_t diff_blocks(const struct stack *old, const uint8_t *blocks, uint64_t start, uint64_t end,
			  uint64_t *mask)
{
	uint64_t at;
	size_t i, nr = 0;

	for (i = 0, at = start; at < end; i++, at += XPU_STACK_BLOCK) {
		if (old && old->start <= at && at < old->end &&
		    !memcmp(old->blocks + (at - old->start), blocks + (at - start), XPU_STACK_BLOCK))
			continue;
		mask[i / 64] |= 1ull << i % 64;
		nr++;
	}
	return nr;
}

/* Python's frames as the file has them. Return: how many words. */
static uint32_t recorder__python_words(struct recorder *rec, const struct xpu_ring_sample *sample,
				       const struct xpu_python_frame *frames, uint64_t *words)
{
	struct process *p = sample->nr_python ? recorder__process(rec, sample->proc_id) : NULL;
	uint32_t i, nr = 0, id;

	for (i = 0; p && i < sample->nr_python; i++) {
		const struct xpu_python_frame *f = &frames[i];

		if (!f->code) {
			words[nr++] = f->where >> 56 ? 0 : f->where;
			continue;
		}
		id = pycodes__id(rec->pycodes, sample->proc_id, p->python_from, p->pid, f,
				 rec->writer);
		/* Without an id there is a frame all the same: of unknown code. */
		words[nr++] = XPU_WORD_PYTHON | (f->where / 2 & 0xffffff) << 32 | id;
	}
	return nr;
}

/*
 * A sample with a copy of the stack. @python: its frames, then the registers, then the copy; @path_id:
 * of the kernel's frames, or 0.
 */
static void recorder__stack(struct recorder *rec, const struct xpu_ring_sample *sample,
			    const struct xpu_python_frame *python, uint32_t thread_id,
			    uint32_t path_id, uint32_t period_ns)
{
	const __u64 *regs = (const __u64 *)(python + sample->nr_python);
	struct stack **slot = &rec->stacks[thread_id % NR_STACKS], *old = *slot;
	uint64_t sp = regs[XPU_REG_SP], start = sp & -(uint64_t)XPU_STACK_BLOCK;
	uint64_t end = (sp + sample->stack_bytes + XPU_STACK_BLOCK - 1) &
		       -(uint64_t)XPU_STACK_BLOCK;
	uint64_t mask[BLOCKS_BYTES / XPU_STACK_BLOCK / 64 + 1] = { 0 };
	uint8_t *copy = rec->blocks + (sp - start), *rest = copy + sample->stack_bytes;
	size_t nr, i, nr_words, nr_python, size;
	uint64_t words[XPU_MAX_PYTHON];
	struct xpu_record_stack *r;
	__u64 *bitmap;
	uint8_t *to;

	memset(rec->blocks, 0, copy - rec->blocks);
	memcpy(copy, regs + XPU_NR_REGS, sample->stack_bytes);
	memset(rest, 0, rec->blocks + (end - start) - rest);
	if (!sample->stack_bytes)
		end = start;
	if (!old) {
		old = *slot = malloc(sizeof(*old) + BLOCKS_BYTES);
		if (old)
			old->thread_id = 0;
	}
	nr = diff_blocks(old && old->thread_id == thread_id ? old : NULL, rec->blocks, start, end, mask);
	nr_words = ((end - start) / XPU_STACK_BLOCK + 63) / 64;
	nr_python = recorder__python_words(rec, sample, python, words);
	size = sizeof(*r) + (nr_python + nr_words) * sizeof(mask[0]) + nr * XPU_STACK_BLOCK;
	r = writer__reserve(rec->writer, size);
	if (!r) {
		if (old)
			old->thread_id = 0;	/* the next one cannot lean on this */
		return;
	}
	*r = (struct xpu_record_stack){
		.hdr = { XPU_RECORD_STACK, 0, size },
		.time_ns = sample->time_ns,
		.path_id = path_id,
		.thread_id = thread_id,
		.period_ns = period_ns,
		.cpu = sample->cpu,
		.bytes = sample->stack_bytes,
		.nr_python = nr_python,
	};
	if (old && old->thread_id == thread_id)
		r->hdr.misc = XPU_MISC_STACK_DELTA;
	memcpy(r->regs, regs, sizeof(r->regs));
	memcpy(r->data, words, nr_python * sizeof(words[0]));
	bitmap = r->data + nr_python;
	memcpy(bitmap, mask, nr_words * sizeof(mask[0]));
	to = (uint8_t *)(bitmap + nr_words);
	for (i = 0; i < (end - start) / XPU_STACK_BLOCK; i++) {
		if (!(mask[i / 64] & 1ull << i % 64))
			continue;
		memcpy(to, rec->blocks + i * XPU_STACK_BLOCK, XPU_STACK_BLOCK);
		to += XPU_STACK_BLOCK;
	}
	if (!old)
		return;
	old->thread_id = thread_id;
	old->start = start;
	old->end = end;
	memcpy(old->blocks, rec->blocks, end - start);
}

static void recorder__sample(struct recorder *rec, const struct xpu_ring_sample *sample, size_t size)
{
	const struct chain_key what = {
		.proc_id = sample->proc_id,
		.flags = sample->flags & ~XPU_CHAIN_STACK,
		.nr_frames = sample->nr_frames,
	};
	size_t bytes = sizeof(*sample) + sample->nr_frames * sizeof(sample->frames[0]);
	bool stack = sample->flags & XPU_CHAIN_STACK;
	uint32_t thread_id, path_id = 0;
	int64_t delta;

	if (stack)
		bytes += sample->nr_python * sizeof(struct xpu_python_frame) +
			 XPU_NR_REGS * sizeof(__u64) + sample->stack_bytes;
	if (size < sizeof(*sample) || sample->nr_frames > XPU_MAX_FRAMES ||
	    sample->stack_bytes > XPU_STACK_MAX || sample->nr_python > XPU_MAX_PYTHON ||
	    size < bytes)
		return;
	rec->nr_samples_total++;
	thread_id = recorder__thread_id(rec, sample->proc_id, sample->tid);
	if (sample->nr_frames || !stack)
		path_id = recorder__path_id(rec, &what, sample->frames, sample->time_ns, false);
	if (!thread_id || (!path_id && (sample->nr_frames || !stack))) {
		rec->nr_samples_no_memory++;
		return;
	}
	if (stack) {
		recorder__stack(rec, sample, (const void *)(sample->frames + sample->nr_frames),
				thread_id, path_id, rec->sample_period_ns);
		return;
	}
	delta = sample->time_ns - rec->samples_ns;
	if (rec->nr_samples == MAX_SAMPLES || delta > INT32_MAX || delta < INT32_MIN)
		recorder__flush_samples(rec);
	if (!rec->nr_samples) {
		rec->samples_ns = sample->time_ns;
		delta = 0;
	}
	rec->samples[rec->nr_samples++] = (struct xpu_sample){
		.path_id = path_id,
		.thread_id = thread_id,
		.delta_ns = delta,
		.cpu = sample->cpu,
	};
}

/*
 * The shim's counters are the first record of a batch, a message for the user the second. The
 * rest is the merger's.
 */
static void recorder__peek(struct recorder *rec, const struct xpu_record_batch *batch)
{
	struct process *p = recorder__process(rec, batch->proc_id);
	const struct xpu_record_message *m;
	const struct xpu_record *r;

	if (!p || batch->bytes < sizeof(p->counters))
		return;
	r = (const struct xpu_record *)batch->records;
	if (r->type != XPU_RECORD_COUNTERS || r->size < sizeof(p->counters))
		return;
	memcpy(&p->counters, r, sizeof(p->counters));
	if (!p->nr_batches++ && p->attached)
		p->first = p->counters;

	if (batch->bytes < r->size + sizeof(*m))
		return;
	m = (const struct xpu_record_message *)(batch->records + r->size);
	if (m->hdr.type != XPU_RECORD_MESSAGE || !m->bytes ||
	    batch->bytes - r->size - sizeof(*m) < m->bytes)
		return;
	/* It comes from the target: one line, whatever it says. */
	msg__from_target(p->pid, m->hdr.misc != XPU_MESSAGE_INFO, m->data, m->bytes - 1);
	p->failed = m->hdr.misc == XPU_MESSAGE_ERROR;
}

static void recorder__python(struct recorder *rec, uint32_t proc_id, const struct xpu_python *python)
{
	if (!pycodes__add_python(rec->pycodes, proc_id, python) && rec->python_fn)
		rec->python_fn(rec->ctx, proc_id, python);
}

void recorder__found_python(struct recorder *rec, uint32_t pid, uint64_t time_ns,
			    const struct xpu_python *python)
{
	struct process *p, *image = NULL;
	struct found_python *f;

	HASH_FIND(hh, rec->found, &pid, sizeof(pid), f);
	if (!f) {
		f = calloc(1, sizeof(*f));
		if (!f)
			return;
		f->pid = pid;
		HASH_ADD(hh, rec->found, pid, sizeof(f->pid), f);
		if (!f->hh.tbl) {
			free(f);
			return;
		}
	}
	f->time_ns = time_ns;
	f->python = *python;
	for (p = rec->processes; p; p = p->hh.next)
		if (p->pid == pid && !p->gone && (!image || p->proc_id > image->proc_id))
			image = p;
	if (image)
		recorder__python(rec, image->proc_id, python);
}

/* An exec maps the new file a moment before the new image is told of. */
static void recorder__find_python(struct recorder *rec, const struct xpu_record_process *r)
{
	struct found_python *f;
	uint32_t pid = r->pid;

	HASH_FIND(hh, rec->found, &pid, sizeof(pid), f);
	if (f && (r->hdr.misc == XPU_MISC_PROCESS_ATTACH ||
		  (r->hdr.misc == XPU_MISC_PROCESS_EXEC && r->time_ns - f->time_ns < EXEC_NS)))
		recorder__python(rec, r->proc_id, &f->python);
}

static void recorder__batch(struct recorder *rec, const struct xpu_record_batch *batch,
			    size_t size)
{
	const struct xpu_record_python *python = (const void *)batch->records;
	struct xpu_record_batch *r;
	size_t bytes;

	if (size < sizeof(*batch) || batch->bytes > size - sizeof(*batch) || batch->bytes % 8)
		return;
	if (batch->bytes >= sizeof(*python) && python->hdr.type == XPU_RECORD_PYTHON) {
		recorder__python(rec, batch->proc_id, &python->python);
		return;
	}
	bytes = sizeof(*batch) + batch->bytes;
	r = writer__reserve(rec->writer, bytes);
	if (r) {
		memcpy(r, batch, bytes);
		r->hdr.size = bytes;	/* the ring's record may be longer */
	}
	recorder__peek(rec, batch);
}

static void recorder__process_gone(const struct recorder *rec, struct process *p, uint64_t time_ns)
{
	p->gone = true;
	p->ended = time_ns < rec->until_ns;
}

static void recorder__new_process(struct recorder *rec, const struct xpu_record_process *r)
{
	struct process *parent = r->parent_proc_id ? recorder__process(rec, r->parent_proc_id) :
						     NULL;
	struct process *p = recorder__process(rec, r->proc_id);
	struct xpu_record_process new = *r;

	if (parent && r->hdr.misc == XPU_MISC_PROCESS_EXEC)
		recorder__process_gone(rec, parent, r->time_ns);
	if (p) {
		p->pid = r->pid;
		p->forked = r->hdr.misc != XPU_MISC_PROCESS_EXEC;
		p->attached = r->hdr.misc == XPU_MISC_PROCESS_ATTACH;
		if (parent && r->hdr.misc == XPU_MISC_PROCESS_FORK)
			p->python_from = parent->python_from ?: parent->proc_id;
	}
	/* Who was there at the detach launched more than there is here: that has no end, either. */
	if (r->hdr.misc == XPU_MISC_PROCESS_EXEC && r->time_ns >= rec->until_ns)
		new.parent_proc_id = 0;
	writer__append(rec->writer, &new.hdr);
	recorder__find_python(rec, r);
	if (rec->process_fn)
		rec->process_fn(rec->ctx, r);
}

static void recorder__process_exit(struct recorder *rec, const struct xpu_record_process_exit *r)
{
	struct process *p = recorder__process(rec, r->proc_id);

	if (p)
		recorder__process_gone(rec, p, r->time_ns);
	if (r->time_ns < rec->until_ns)
		writer__append(rec->writer, &r->hdr);
}

/* ---- off the CPU ----------------------------------------------------------------------------- */

static struct off_stack *recorder__find_stack(struct recorder *rec, uint32_t proc_id,
					      const __u64 *hash)
{
	struct off_stack_key key = { .hash = { hash[0], hash[1] }, .proc_id = proc_id };
	struct off_stack *o;

	HASH_FIND(hh, rec->off_stacks, &key, sizeof(key), o);
	return o;
}

static void recorder__off_stack(struct recorder *rec, const struct xpu_ring_off_stack *stack,
				size_t size)
{
	const struct chain_key what = {
		.proc_id = stack->proc_id, .flags = stack->flags & ~XPU_CHAIN_STACK,
		.nr_frames = stack->nr_frames,
	};
	size_t bytes = sizeof(*stack) + stack->nr_frames * sizeof(stack->frames[0]);
	bool copied = stack->flags & XPU_CHAIN_STACK, own;
	uint32_t thread_id;
	struct off_stack *o;

	if (copied)
		bytes += stack->nr_python * sizeof(struct xpu_python_frame) +
			 XPU_NR_REGS * sizeof(__u64) + stack->stack_bytes;
	if (size < sizeof(*stack) || stack->nr_frames > XPU_MAX_FRAMES ||
	    stack->stack_bytes > XPU_STACK_MAX || stack->nr_python > XPU_MAX_PYTHON ||
	    size < bytes ||
	    recorder__find_stack(rec, stack->proc_id, stack->hash))
		return;
	o = calloc(1, sizeof(*o));
	if (!o)
		return;			/* its time is without a stack */
	o->key = (struct off_stack_key){
		.hash = { stack->hash[0], stack->hash[1] }, .proc_id = stack->proc_id,
	};
	/* What tells stacks that are copied apart is not among the frames that are here. */
	own = copied && (!stack->nr_frames ||
			 XPU_FRAME_IS_KERNEL(stack->frames[stack->nr_frames - 1]));
	o->path_id = own ?
		     recorder__new_path(rec, &what, stack->frames, stack->time_ns, false) :
		     recorder__path_id(rec, &what, stack->frames, stack->time_ns, false);
	thread_id = recorder__thread_id(rec, stack->proc_id, stack->tid);
	if (copied && o->path_id && thread_id)
		recorder__stack(rec, &(struct xpu_ring_sample){
			.time_ns = stack->time_ns, .proc_id = stack->proc_id,
			.stack_bytes = stack->stack_bytes, .nr_python = stack->nr_python,
		}, (const void *)(stack->frames + stack->nr_frames), thread_id, o->path_id, 0);
	HASH_ADD(hh, rec->off_stacks, key, sizeof(o->key), o);
	if (!o->hh.tbl)
		free(o);
}

static void recorder__off(struct recorder *rec, const struct xpu_ring_off *off, size_t size)
{
	const struct off_stack *stack;
	struct xpu_record_off *r;
	uint32_t thread_id;

	if (size < sizeof(*off))
		return;
	stack = recorder__find_stack(rec, off->proc_id, off->hash);
	thread_id = recorder__thread_id(rec, off->proc_id, off->tid);
	r = writer__reserve(rec->writer, sizeof(*r));
	if (r)
		*r = (struct xpu_record_off){
			.hdr = { XPU_RECORD_OFF, off->hdr.misc, sizeof(*r) },
			.start_ns = off->start_ns,
			.duration_ns = off->duration_ns,
			.path_id = stack ? stack->path_id : 0,
			.thread_id = thread_id,
		};
}

void recorder__off_sum(struct recorder *rec, const struct xpu_off_key *key,
		       const struct xpu_off_sum *sum)
{
	const struct off_stack *stack = recorder__find_stack(rec, key->proc_id, key->hash);
	uint32_t thread_id = recorder__thread_id(rec, key->proc_id, key->tid);
	struct xpu_record_off_cpu *r = writer__reserve(rec->writer, sizeof(*r));

	if (r)
		*r = (struct xpu_record_off_cpu){
			.hdr = { XPU_RECORD_OFF_CPU, key->kind, sizeof(*r) },
			.last_ns = sum->last_ns,
			.nr = sum->nr,
			.sum_ns = sum->sum_ns,
			.max_ns = sum->max_ns,
			.path_id = stack ? stack->path_id : 0,
			.thread_id = thread_id,
		};
}

static void recorder__account(struct recorder *rec, const struct xpu_ring_account *account,
			      size_t size)
{
	struct xpu_record_account *r;
	uint32_t thread_id;

	if (size < sizeof(*account))
		return;
	thread_id = recorder__thread_id(rec, account->proc_id, account->tid);
	r = writer__reserve(rec->writer, sizeof(*r));
	if (r)
		*r = (struct xpu_record_account){
			.hdr = { XPU_RECORD_ACCOUNT, 0, sizeof(*r) },
			.start_ns = account->start_ns,
			.end_ns = account->end_ns,
			.thread_id = thread_id,
			.time = account->time,
		};
}

/* As the kernel does it when the thread runs again. */
void recorder__living_thread(struct recorder *rec, const struct xpu_thread_state *t, uint64_t end_ns)
{
	struct xpu_ring_account account = {
		.start_ns = t->start_ns,
		.end_ns = end_ns,
		.proc_id = t->proc_id,
		.tid = t->tid,
		.time = t->time,
	};
	struct xpu_off_key key = {
		.proc_id = t->proc_id,
		.tid = t->tid,
		.hash = { t->hash[0], t->hash[1] },
	};
	uint64_t woken_ns = t->state == XPU_THREAD_RUNNABLE ? t->since_ns : t->wake_ns ?: end_ns;
	struct {
		uint32_t kind;
		uint64_t start_ns, end_ns;
	} parts[] = {
		{ t->kind, t->since_ns, woken_ns }, { XPU_OFF_RUNNABLE, woken_ns, end_ns },
	};
	struct xpu_off_sum sum;
	size_t i;

	for (i = 0; i < 2 && t->state != XPU_THREAD_RUNNING && t->kind < XPU_OFF_NR; i++) {
		sum = (struct xpu_off_sum){
			.nr = 1,
			.sum_ns = parts[i].end_ns - parts[i].start_ns,
			.max_ns = parts[i].end_ns - parts[i].start_ns,
			.last_ns = parts[i].start_ns,
		};
		key.kind = t->kind == XPU_OFF_CALL ? XPU_OFF_CALL : parts[i].kind;
		if (parts[i].end_ns <= parts[i].start_ns)
			continue;
		account.time.off_ns[key.kind] += sum.sum_ns;
		if (key.kind != XPU_OFF_CALL)
			recorder__off_sum(rec, &key, &sum);
	}
	if (t->state == XPU_THREAD_RUNNING && end_ns > t->since_ns)
		account.time.run_ns += end_ns - t->since_ns;
	recorder__account(rec, &account, sizeof(account));
}

void recorder__record(struct recorder *rec, const void *data, size_t size)
{
	const struct xpu_record *r = data;

	if (size < sizeof(*r))
		return;
	switch (r->type) {
	case XPU_RECORD_LAUNCH:
	case XPU_RECORD_LAUNCH_WAIT:
		recorder__launch(rec, data, size);
		break;
	case XPU_RECORD_SAMPLE:
		recorder__sample(rec, data, size);
		break;
	case XPU_RECORD_LOG:
		recorder__log(rec, data, size);
		break;
	case XPU_RECORD_OFF_STACK:
		recorder__off_stack(rec, data, size);
		break;
	case XPU_RECORD_RING_OFF:
		recorder__off(rec, data, size);
		break;
	case XPU_RECORD_RING_ACCOUNT:
		recorder__account(rec, data, size);
		break;
	case XPU_RECORD_BATCH:
		recorder__batch(rec, data, size);
		break;
	case XPU_RECORD_PROCESS:
		if (size >= sizeof(struct xpu_record_process))
			recorder__new_process(rec, data);
		break;
	case XPU_RECORD_PROCESS_EXIT:
		if (size >= sizeof(struct xpu_record_process_exit))
			recorder__process_exit(rec, data);
		break;
	default:
		break;
	}
}

void recorder__lost(struct recorder *rec, enum xpu_lost_kind kind, uint64_t total)
{
	struct xpu_record_lost *r;
	struct timespec ts;

	if (total <= rec->lost[kind])
		return;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	r = writer__reserve(rec->writer, sizeof(*r));
	if (r)
		*r = (struct xpu_record_lost){
			.hdr = { XPU_RECORD_LOST, 0, sizeof(*r) },
			.time_ns = ts.tv_sec * 1000000000ull + ts.tv_nsec,
			.kind = kind,
			.count = total - rec->lost[kind],
		};
	rec->lost[kind] = total;
}

unsigned int recorder__nr_awake(const struct recorder *rec)
{
	const struct process *p;
	unsigned int nr = 0;

	for (p = rec->processes; p; p = p->hh.next)
		nr += p->nr_batches && !p->gone &&
			!(p->counters.hdr.misc & XPU_MISC_COUNTERS_LAST);
	return nr;
}

void recorder__stats(const struct recorder *rec, struct recorder_stats *stats)
{
	const struct process *p;
	const struct untold *u;
	uint64_t tagged;

	memset(stats, 0, sizeof(*stats));
	for (p = rec->processes; p; p = p->hh.next) {
		const struct xpu_record_counters *c = &p->counters, *f = &p->first;

		stats->nr_processes += p->forked;
		stats->nr_cuda_processes += p->nr_batches != 0;
		stats->nr_launches += p->nr_launches;
		tagged = c->nr_launches - f->nr_launches;
		if ((p->attached || !p->ended) && tagged > p->nr_launches) {
			stats->nr_at_edges += tagged - p->nr_launches;
			tagged = p->nr_launches;
		}
		stats->nr_tagged += tagged;
		stats->nr_ranges += p->nr_ranges;
		if (!p->attached)	/* else some were not for us */
			stats->nr_ranges_logged += c->nr_ranges;
		stats->nr_ranges_dropped += c->nr_dropped_ranges - f->nr_dropped_ranges;
		stats->nr_device_records += c->nr_kernels - f->nr_kernels +
			c->nr_memcpys - f->nr_memcpys + c->nr_memsets - f->nr_memsets;
		stats->nr_calls += c->nr_calls - f->nr_calls;
		stats->nr_bad_calls += c->nr_bad_calls - f->nr_bad_calls;
		stats->nr_dropped_cupti += c->nr_dropped_cupti - f->nr_dropped_cupti;
		stats->nr_dropped_shim += c->nr_dropped_shim - f->nr_dropped_shim;
		stats->nr_bad_times += c->nr_bad_times - f->nr_bad_times;
		stats->nr_unfinished += c->nr_unfinished - f->nr_unfinished;
		stats->nr_errors += p->failed;
	}
	for (u = rec->untold; u; u = u->hh.next)
		stats->nr_untold += u->nr_launches;
	stats->nr_paths = rec->last_path_id - rec->nr_other_paths;
	stats->nr_no_memory = rec->nr_no_memory;
	stats->nr_samples = rec->nr_samples_total;
	stats->nr_samples_no_memory = rec->nr_samples_no_memory;
}
