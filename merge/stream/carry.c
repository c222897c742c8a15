// SPDX-License-Identifier: GPL-3.0-or-later
#include "stream/carry.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "read/reader.h"
#include "record.h"
#include "util.h"

#define BATCH_BYTES	(60u * 1024)	/* maximum size of the records in a batch written here */
#define FINAL_AFTER	2		/* number of files in which an ended process or thread
					 * stays: see carry.h */

/* Consecutive records. */
struct records {
	uint8_t *v;
	size_t nr, cap;			/* bytes */
};

/* Each type of nested definition has its own ids. */
#define FIRST_NESTED	XPU_RECORD_STRING
#define NR_NESTED	(XPU_RECORD_TYPES - FIRST_NESTED)

struct carried_counts {
	uint64_t nr_launches, nr_works, nr_calls, nr_ranges, nr_allocs, nr_batches;
};

struct carried_process {
	UT_hash_handle hh;
	uint32_t proc_id, pid;
	uint16_t how;			/* XPU_MISC_PROCESS_* */
	uint32_t parent_proc_id;	/* 0: the parent is not in this table */
	uint32_t nr_children;		/* number of children in this table, which may inherit
					 * labels from the process */
	bool ended;
	bool threads_ended;		/* @top still contains threads that were removed */
	uint64_t ended_in;		/* the file in which the process ended */
	uint64_t final_in;		/* the last file with records of the process; 0: unknown */
	struct records top;		/* PROCESS, PROCESS_LABEL, THREAD, CALLCHAIN, GRAPH_NODE */
	struct records nested;		/* definitions from batches */
	struct idmap known[NR_NESTED];	/* ids of the definitions in @nested, by type */
	bool has_counters;
	struct xpu_record_counters first, last;
	struct carried_counts now, safe;	/* now: number of records passed on so far; safe:
						 * number of these records that are in files or are
						 * known to be lost */
	bool unsaved;			/* @safe has changed since the last save */
	bool lost;			/* some records of the process are in no file */
};

struct carried_range {
	uint32_t id;			/* id of the path that ends with this range */
	uint64_t time_ns;		/* when the range was opened */
};

struct carried_thread {
	UT_hash_handle hh;
	uint32_t thread_id;
	uint32_t proc_id;
	ARRAY(struct carried_range) open; /* the thread's open NVTX ranges */
	UT_hash_handle hh_tid;
	uint64_t tid;			/* TID_KEY() of the thread; unique among running threads */
	bool has_tid;			/* carry.tids maps @tid to this thread */
	bool has_nodes;			/* CUDA graph nodes refer to the thread */
	uint64_t ended_in;		/* 0: the thread still runs */
};

#define TID_KEY(pid, tid)	((uint64_t)(pid) << 32 | (tid))

struct carried_path {
	UT_hash_handle hh;
	uint32_t path_id;
	uint32_t proc_id;
	uint32_t api;
};

/* The mappings of one program image in a process. */
struct carried_image {
	struct records events;		/* MMAP records; after an exec, the COMM of the exec
					 * precedes the MMAP records */
	uint32_t nr_maps;
	uint64_t ended_in;		/* 0: the image still runs */
};

struct carried_name {
	struct xpu_record_comm comm;
	uint64_t ended_in;		/* 0: the thread still runs */
};

struct carried_pid {
	UT_hash_handle hh;
	uint32_t pid;
	uint64_t ended_in;		/* 0: the process still runs */
	ARRAY(struct carried_image) images;
	ARRAY(struct carried_name) names;
};

struct carry {
	uint64_t number;		/* number of the current file */
	struct carried_process *processes;
	struct carried_thread *threads;
	struct carried_thread *tids;	/* for each tid, the last thread that had it */
	struct carried_path *paths;
	struct carried_pid *pids;
	struct records infos;
	struct records others;		/* KSYM, PYSOURCE and METRIC records, which belong to no
					 * process */
	uint64_t nr_beyond;
};

struct carry *carry__new(void)
{
	struct carry *c = calloc(1, sizeof(*c));

	if (c)
		c->number = 1;
	return c;
}

static int records__add(struct records *r, const struct xpu_record *rec)
{
	int err = array_reserve(r, r->nr + rec->size);

	if (err)
		return err;
	memcpy(r->v + r->nr, rec, rec->size);
	r->nr += rec->size;
	return 0;
}

static const struct xpu_record *records__at(const struct records *r, size_t at)
{
	return at < r->nr ? (const struct xpu_record *)(r->v + at) : NULL;
}

#define records__each(r, at, rec) \
	for (at = 0; ((rec) = records__at(r, at)); at += (rec)->size)

/* ---- processes ------------------------------------------------------------------------------- */

static struct carried_process *carry__find(const struct carry *c, uint32_t proc_id)
{
	struct carried_process *p;

	HASH_FIND(hh, c->processes, &proc_id, sizeof(proc_id), p);
	return p;
}

/* Return: the process, which is added if it is new; NULL if memory is short. */
static struct carried_process *carry__get(struct carry *c, uint32_t proc_id)
{
	return HASH_GET(c->processes, proc_id, proc_id);
}

static void carry__free_thread(struct carry *c, struct carried_thread *t)
{
	if (t->has_tid)
		HASH_DELETE(hh_tid, c->tids, t);
	HASH_DEL(c->threads, t);
	array_free(&t->open);
	free(t);
}

static void carry__free_process(struct carry *c, struct carried_process *p)
{
	struct carried_process *parent;
	struct carried_thread *t, *next_thread;
	struct carried_path *path, *next_path;
	size_t i;

	HASH_ITER(hh, c->threads, t, next_thread) {
		if (t->proc_id == p->proc_id)
			carry__free_thread(c, t);
	}
	HASH_ITER(hh, c->paths, path, next_path) {
		if (path->proc_id != p->proc_id)
			continue;
		HASH_DEL(c->paths, path);
		free(path);
	}
	parent = p->parent_proc_id ? carry__find(c, p->parent_proc_id) : NULL;
	if (parent)
		parent->nr_children--;
	HASH_DEL(c->processes, p);
	for (i = 0; i < NR_NESTED; i++)
		idmap__free(&p->known[i]);
	array_free(&p->top);
	array_free(&p->nested);
	free(p);
}

static void pid__free(struct carry *c, struct carried_pid *p)
{
	size_t i;

	for (i = 0; i < p->images.nr; i++)
		array_free(&p->images.v[i].events);
	array_free(&p->images);
	array_free(&p->names);
	HASH_DEL(c->pids, p);
	free(p);
}

void carry__free(struct carry *c)
{
	struct carried_process *p, *next_process;
	struct carried_pid *pid, *next_pid;

	if (!c)
		return;
	HASH_ITER(hh, c->processes, p, next_process)
		carry__free_process(c, p);
	HASH_ITER(hh, c->pids, pid, next_pid)
		pid__free(c, pid);
	array_free(&c->infos);
	array_free(&c->others);
	free(c);
}

uint64_t carry__nr_beyond(const struct carry *c)
{
	return c->nr_beyond;
}

bool carry__is_final(const struct carry *c, uint32_t proc_id)
{
	const struct carried_process *p = carry__find(c, proc_id);

	return !p || p->final_in;
}

bool carry__has_ended(const struct carry *c, uint32_t proc_id)
{
	const struct carried_process *p = carry__find(c, proc_id);

	return !p || p->ended;
}

static void process__end(struct carry *c, struct carried_process *p)
{
	if (!p || p->ended)
		return;
	p->ended = true;
	p->ended_in = c->number;
}

/* Stores a definition of a process in @to. Return: 0 or -ENOMEM. */
static int process__keep(struct carry *c, struct carried_process *p, struct records *to,
			 const struct xpu_record *rec)
{
	if (p->top.nr + p->nested.nr + rec->size <= CARRY_MAX_BYTES)
		return records__add(to, rec);
	c->nr_beyond++;
	return 0;
}

static int carry__process(struct carry *c, const struct xpu_record_process *rec)
{
	struct carried_process *p = carry__get(c, rec->proc_id), *parent;

	if (!p)
		return -ENOMEM;
	p->how = rec->hdr.misc;
	p->pid = rec->pid;
	parent = p->parent_proc_id || rec->parent_proc_id == p->proc_id ? NULL :
		 carry__find(c, rec->parent_proc_id);
	if (parent) {
		p->parent_proc_id = parent->proc_id;
		parent->nr_children++;
	}
	if (p->how == XPU_MISC_PROCESS_EXEC)
		process__end(c, carry__find(c, rec->parent_proc_id));
	return process__keep(c, p, &p->top, &rec->hdr);
}

static struct carried_thread *carry__find_thread(const struct carry *c, uint32_t thread_id)
{
	struct carried_thread *t;

	HASH_FIND(hh, c->threads, &thread_id, sizeof(thread_id), t);
	return t;
}

/* Registers @t as the running thread with @tid. Return: 0 or -ENOMEM. */
static int carry__set_tid(struct carry *c, struct carried_thread *t, uint64_t tid)
{
	struct carried_thread *old;
	bool oom = false;

	t->tid = tid;
	HASH_FIND(hh_tid, c->tids, &tid, sizeof(tid), old);
	if (old) {
		HASH_DELETE(hh_tid, c->tids, old);
		old->has_tid = false;
	}
	HASH_ADD(hh_tid, c->tids, tid, sizeof(t->tid), t);
	t->has_tid = !oom;
	return oom ? -ENOMEM : 0;
}

static int carry__thread(struct carry *c, const struct xpu_record_thread *rec)
{
	struct carried_process *p = carry__get(c, rec->proc_id);
	struct carried_thread *t = carry__find_thread(c, rec->thread_id);
	int err;

	if (!p)
		return -ENOMEM;
	if (!t) {
		t = HASH_NEW(c->threads, thread_id, rec->thread_id);
		if (!t)
			return -ENOMEM;
		t->proc_id = rec->proc_id;
		err = rec->tid ? carry__set_tid(c, t, TID_KEY(p->pid, rec->tid)) : 0;
		if (err)
			return err;
	}
	return process__keep(c, p, &p->top, &rec->hdr);
}

static int carry__callchain(struct carry *c, const struct xpu_record_callchain *rec)
{
	struct carried_process *p = carry__get(c, rec->proc_id);
	struct carried_path *path;

	if (!p)
		return -ENOMEM;
	HASH_FIND(hh, c->paths, &rec->path_id, sizeof(rec->path_id), path);
	if (path)
		return 0;
	path = HASH_NEW(c->paths, path_id, rec->path_id);
	if (!path)
		return -ENOMEM;
	path->proc_id = rec->proc_id;
	path->api = XPU_API(rec->domain);
	return process__keep(c, p, &p->top, &rec->hdr);
}

uint32_t carry__proc_of(const struct carry *c, uint32_t thread_id, uint32_t path_id)
{
	struct carried_thread *t = carry__find_thread(c, thread_id);
	struct carried_path *path;

	if (t)
		return t->proc_id;
	HASH_FIND(hh, c->paths, &path_id, sizeof(path_id), path);
	return path ? path->proc_id : 0;
}

uint32_t carry__api_of(const struct carry *c, uint32_t path_id)
{
	struct carried_path *path;

	HASH_FIND(hh, c->paths, &path_id, sizeof(path_id), path);
	return path ? path->api : XPU_API_CUDA;
}

/*
 * Sets the thread's open ranges to the ranges on the path @id, as merge/nvtx/range_events.c does. A
 * range that is not defined yet is appended to the open ranges. @closes: the event closed a range,
 * so all ranges of the path were already open, perhaps on other paths. Return: 0 or -ENOMEM.
 */
static int thread__set_ranges(struct carried_thread *t, const struct carried_process *p,
			      uint32_t id, uint64_t time_ns, bool closes)
{
	const struct idmap *parents = &p->known[XPU_RECORD_RANGE - FIRST_NESTED];
	uint32_t path[XPU_RANGE_DEPTH + 1], nr = 0, same = 0, i, parent;
	int err = 0;

	for (i = id; i && nr < ARRAY_SIZE(path); i = parent) {
		path[nr++] = i;
		if (idmap__get(parents, i, &parent))
			continue;
		return closes || t->open.nr == ARRAY_SIZE(path) ? 0 :
		       array_push(&t->open, ((struct carried_range){ id, time_ns }));
	}
	while (same < nr && same < t->open.nr &&
	       (closes || t->open.v[same].id == path[nr - 1 - same])) {
		t->open.v[same].id = path[nr - 1 - same];
		same++;
	}
	t->open.nr = same;
	for (i = nr - same; i-- > 0 && !err;)
		err = array_push(&t->open, ((struct carried_range){ path[i], time_ns }));
	return err;
}

static int carry__range_event(struct carried_thread *t, const struct carried_process *p,
			      const struct xpu_range_event *e, uint64_t time_ns)
{
	bool closes = e->what == XPU_RANGE_POP || e->what == XPU_RANGE_END;

	if (e->what == XPU_RANGE_MARK)
		return 0;
	if (closes && e->place < t->open.nr) {
		t->open.nr--;
		memmove(&t->open.v[e->place], &t->open.v[e->place + 1],
			(t->open.nr - e->place) * sizeof(t->open.v[0]));
	}
	return thread__set_ranges(t, p, e->range_id, time_ns, closes);
}

/* Updates the open ranges of threads. Return: 0 or -ENOMEM. */
static int carry__ranges(struct carry *c, const struct xpu_record_ranges *rec)
{
	int err = 0;
	struct carried_process *p = NULL;
	struct carried_thread *t;
	uint32_t i;

	for (i = 0; i < rec->nr && !err; i++) {
		t = carry__find_thread(c, rec->events[i].thread_id);
		if (!t)
			continue;
		if (!p || p->proc_id != t->proc_id)
			p = carry__find(c, t->proc_id);
		if (!p)
			continue;
		p->now.nr_ranges += !(rec->hdr.misc & XPU_MISC_RANGES_CARRIED);
		err = carry__range_event(t, p, &rec->events[i],
					 rec->time_ns + (int64_t)rec->events[i].delta_ns);
	}
	return err;
}

/* ---- pids: mappings and names ---------------------------------------------------------------- */

static struct carried_pid *carry__pid(struct carry *c, uint32_t pid)
{
	return HASH_GET(c->pids, pid, pid);
}

static struct carried_image *pid__image(struct carried_pid *p)
{
	if (!p->images.nr && array_push(&p->images, ((struct carried_image){ .ended_in = 0 })))
		return NULL;
	return &p->images.v[p->images.nr - 1];
}

static int pid__add_map(struct carry *c, struct carried_pid *p, const struct xpu_record_mmap *rec)
{
	struct carried_image *image = pid__image(p);
	const struct xpu_record *old;
	size_t at;

	if (!image)
		return -ENOMEM;
	/*
	 * Skip a mapping that is already stored: a library may be loaded again at its old address.
	 */
	records__each(&image->events, at, old)
		if (old->type == XPU_RECORD_MMAP && old->size == rec->hdr.size &&
		    !memcmp(&((const struct xpu_record_mmap *)old)->pid, &rec->pid,
			    rec->hdr.size - offsetof(struct xpu_record_mmap, pid)))
			return 0;
	if (image->nr_maps == CARRY_MAX_MAPS) {
		c->nr_beyond++;
		return 0;
	}
	image->nr_maps++;
	return records__add(&image->events, &rec->hdr);
}

static int carry__mmap(struct carry *c, const struct xpu_record_mmap *rec)
{
	struct carried_pid *p = carry__pid(c, rec->pid);

	return p ? pid__add_map(c, p, rec) : -ENOMEM;
}

static int pid__name(struct carried_pid *p, const struct xpu_record_comm *comm)
{
	struct carried_name name = { .comm = *comm };
	size_t i;

	name.comm.hdr = (struct xpu_record){ XPU_RECORD_COMM, 0, sizeof(name.comm) };
	for (i = 0; i < p->names.nr; i++) {
		if (p->names.v[i].comm.tid != comm->tid)
			continue;
		p->names.v[i] = name;
		return 0;
	}
	return array_push(&p->names, name);
}

static int carry__comm(struct carry *c, const struct xpu_record_comm *rec)
{
	struct carried_pid *p = carry__pid(c, rec->pid);
	struct carried_image *image;
	int err;

	if (!p)
		return -ENOMEM;
	p->ended_in = 0;
	err = pid__name(p, rec);
	if (err || !(rec->hdr.misc & XPU_MISC_COMM_EXEC))
		return err;
	if (p->images.nr)
		p->images.v[p->images.nr - 1].ended_in = c->number;
	err = array_push(&p->images, ((struct carried_image){ .ended_in = 0 }));
	if (err)
		return err;
	image = &p->images.v[p->images.nr - 1];
	return records__add(&image->events, &rec->hdr);
}

/* Copies the parent's current mappings to a new process. */
static int carry__inherit(struct carry *c, struct carried_pid *child, uint32_t ppid)
{
	const struct carried_pid *parent;
	const struct xpu_record *rec;
	const struct carried_image *image;
	struct xpu_record_mmap *copy;
	size_t at;
	int err = 0;

	HASH_FIND(hh, c->pids, &ppid, sizeof(ppid), parent);
	if (!parent || !parent->images.nr)
		return 0;
	image = &parent->images.v[parent->images.nr - 1];
	records__each(&image->events, at, rec) {
		if (rec->type != XPU_RECORD_MMAP)
			continue;
		copy = malloc(rec->size);
		if (!copy)
			return -ENOMEM;
		memcpy(copy, rec, rec->size);
		copy->pid = copy->tid = child->pid;
		err = pid__add_map(c, child, copy);
		free(copy);
		if (err)
			return err;
	}
	return 0;
}

static int carry__fork(struct carry *c, const struct xpu_record_task *rec)
{
	struct carried_pid *p, *parent;
	size_t i;
	int err = 0;

	HASH_FIND(hh, c->pids, &rec->pid, sizeof(rec->pid), p);
	if (rec->pid != rec->ppid) {
		if (p)		/* the pid belongs to a new process */
			pid__free(c, p);
		p = carry__pid(c, rec->pid);
		if (!p)
			return -ENOMEM;
		err = carry__inherit(c, p, rec->ppid);
	}
	HASH_FIND(hh, c->pids, &rec->ppid, sizeof(rec->ppid), parent);
	for (i = 0; p && parent && !err && i < parent->names.nr; i++) {
		struct xpu_record_comm comm = parent->names.v[i].comm;

		if (comm.tid != rec->ptid)
			continue;
		comm.pid = rec->pid;
		comm.tid = rec->tid;
		comm.time_ns = rec->time_ns;
		err = pid__name(p, &comm);
		break;
	}
	return err;
}

static void carry__exit(struct carry *c, const struct xpu_record_task *rec)
{
	uint64_t tid = TID_KEY(rec->pid, rec->tid);
	struct carried_thread *t;
	struct carried_pid *p;
	bool alive = false;
	size_t i;

	HASH_FIND(hh_tid, c->tids, &tid, sizeof(tid), t);
	if (t)
		t->ended_in = c->number;
	HASH_FIND(hh, c->pids, &rec->pid, sizeof(rec->pid), p);
	for (i = 0; p && i < p->names.nr; i++) {
		if (p->names.v[i].comm.tid == rec->tid)
			p->names.v[i].ended_in = c->number;
		alive |= !p->names.v[i].ended_in;
	}
	if (p && !alive)
		p->ended_in = c->number;
}

/*
 * Restores the counts that an earlier program saved. They include the counts from before xpuload
 * attached.
 */
static void process__restore(const struct carry *c, struct carried_process *p,
			     const struct xpu_record_carried *rec)
{
	p->now = (struct carried_counts){
		.nr_launches = rec->first.nr_launches, .nr_works = rec->first.nr_kernels,
		.nr_calls = rec->first.nr_calls, .nr_ranges = rec->first.nr_ranges,
		.nr_allocs = rec->first.nr_allocs,
		.nr_batches = rec->first.nr_batches + (p->how == XPU_MISC_PROCESS_ATTACH),
	};
	p->safe = p->now;
	p->lost |= rec->hdr.misc & XPU_MISC_CARRIED_LOST;
	p->final_in = rec->hdr.misc & XPU_MISC_CARRIED_FINAL ? c->number : 0;
	p->last = rec->last;
	memset(&p->first, 0, sizeof(p->first));
	p->has_counters = rec->last.hdr.size;
}

/* ---- records --------------------------------------------------------------------------------- */

static int carry__of_process(struct carry *c, uint32_t proc_id, const struct xpu_record *rec)
{
	struct carried_process *p = carry__get(c, proc_id);

	return p ? process__keep(c, p, &p->top, rec) : -ENOMEM;
}

/* Stores a definition with its process, or for the whole recording. Return: 0 or -ENOMEM. */
static int carry__definition(struct carry *c, const struct xpu_record *rec)
{
	if (record__at(rec->type, FIELD_PROC))
		return carry__of_process(c, record__u32(rec, FIELD_PROC), rec);
	if (c->others.nr + rec->size <= CARRY_MAX_BYTES)
		return records__add(&c->others, rec);
	c->nr_beyond++;
	return 0;
}

int carry__record(struct carry *c, const struct xpu_record *rec)
{
	struct carried_process *p;
	struct carried_thread *t;

	switch (rec->type) {
	case XPU_RECORD_PART:
		c->number = ((const struct xpu_record_part *)rec)->number;
		return 0;
	case XPU_RECORD_CARRIED:
		p = carry__find(c, ((const struct xpu_record_carried *)rec)->proc_id);
		if (p)
			process__restore(c, p, (const void *)rec);
		return 0;
	case XPU_RECORD_INFO:
		return records__add(&c->infos, rec);
	case XPU_RECORD_PROCESS:
		return carry__process(c, (const void *)rec);
	case XPU_RECORD_PROCESS_EXIT:
		process__end(
			c, carry__find(c, ((const struct xpu_record_process_exit *)rec)->proc_id));
		return 0;
	case XPU_RECORD_THREAD:
		return carry__thread(c, (const void *)rec);
	case XPU_RECORD_CALLCHAIN:
		return carry__callchain(c, (const void *)rec);
	case XPU_RECORD_GRAPH_NODE:
		t = carry__find_thread(c, ((const struct xpu_record_graph_node *)rec)->thread_id);
		if (t)
			t->has_nodes = true;
		return carry__definition(c, rec);
	case XPU_RECORD_RANGES:
		return carry__ranges(c, (const void *)rec);
	case XPU_RECORD_MMAP:
		return carry__mmap(c, (const void *)rec);
	case XPU_RECORD_COMM:
		return carry__comm(c, (const void *)rec);
	case XPU_RECORD_FORK:
		return carry__fork(c, (const void *)rec);
	case XPU_RECORD_EXIT:
		carry__exit(c, (const void *)rec);
		return 0;
	default:
		return record_types[rec->type].split == RECORD_CARRY ?
		       carry__definition(c, rec) : 0;
	}
}

/*
 * Stores the counters of a process. The counters with the smallest nr_batches are the first
 * counters. If xpuload attached to the process, the first counters include everything that the
 * process sent before them.
 */
static void process__counters(struct carried_process *p, const struct xpu_record_counters *rec)
{
	struct xpu_record_counters counters = { .nr_batches = 0 };

	memcpy(&counters, rec, min_t(size_t, sizeof(counters), rec->hdr.size));
	if (!p->has_counters || counters.nr_batches >= p->last.nr_batches)
		p->last = counters;
	if (!p->has_counters || counters.nr_batches < p->first.nr_batches) {
		p->first = counters;
		if (p->how == XPU_MISC_PROCESS_ATTACH)
			p->now.nr_works = p->now.nr_calls = 0;
	}
	p->has_counters = true;
	p->unsaved = true;
}

int carry__nested(struct carry *c, uint32_t proc_id, const struct xpu_record *rec)
{
	struct carried_process *p = carry__get(c, proc_id);
	uint32_t parent = 0;		/* for a path of NVTX ranges: the path of outer ranges */
	int err;

	if (!p)
		return -ENOMEM;
	if (rec->type == XPU_RECORD_COUNTERS)
		process__counters(p, (const void *)rec);
	if (rec->type == XPU_RECORD_CALLS)
		p->now.nr_calls += ((const struct xpu_record_calls *)rec)->nr;
	if (record_types[rec->type].split != RECORD_CARRY)
		return 0;
	if (rec->type == XPU_RECORD_RANGE)
		parent = ((const struct xpu_record_range *)rec)->parent;
	err = idmap__add(&p->known[rec->type - FIRST_NESTED], record__key(rec), parent);
	return err > 0 ? process__keep(c, p, &p->nested, rec) : err;
}

int carry__count_batch(struct carry *c, const struct xpu_record_batch *batch)
{
	struct carried_process *p = carry__get(c, batch->proc_id);

	if (!p)
		return -ENOMEM;
	p->now.nr_batches += batch__is_counted(batch);
	return 0;
}

void carry__count_works(struct carry *c, uint32_t proc_id, uint64_t nr)
{
	struct carried_process *p = carry__find(c, proc_id);

	if (p)
		p->now.nr_works += nr;
}

void carry__count_launch(struct carry *c, uint32_t proc_id)
{
	struct carried_process *p = carry__find(c, proc_id);

	if (p)
		p->now.nr_launches++;
}

void carry__count_alloc(struct carry *c, uint32_t proc_id)
{
	struct carried_process *p = carry__find(c, proc_id);

	if (p)
		p->now.nr_allocs++;
}

uint64_t carry__settle(struct carry *c, bool written)
{
	struct carried_process *p, *next;
	uint64_t nr_lost = 0;

	HASH_ITER(hh, c->processes, p, next) {
		/* A later file must compare the process's counters. */
		if (!written && p->final_in == c->number)
			p->final_in = 0;
		if (!memcmp(&p->now, &p->safe, sizeof(p->now)))
			continue;
		p->unsaved = true;
		if (!written)
			nr_lost += p->now.nr_launches - p->safe.nr_launches;
		p->lost |= !written;
		p->safe = p->now;
	}
	return nr_lost;
}

void carry__recalled(struct carry *c)
{
	struct carried_process *p, *next;

	HASH_ITER(hh, c->processes, p, next) {
		p->now = p->safe;
		p->lost = true;
	}
}

/* ---- the next file --------------------------------------------------------------------------- */

static void records__write(const struct records *r, struct outfile *p)
{
	const struct xpu_record *rec;
	size_t at;

	records__each(r, at, rec)
		outfile__append(p, rec);
}

void carry__write_infos(const struct carry *c, struct outfile *p)
{
	records__write(&c->infos, p);
}

/* Writes the nested definitions of a process, in batches. */
static void process__write_nested(const struct carried_process *p, struct outfile *outfile,
				  uint64_t time_ns)
{
	size_t from = 0, at;
	const struct xpu_record *rec;
	struct xpu_record_batch *r;

	for (at = 0; from < p->nested.nr; at += rec->size) {
		rec = records__at(&p->nested, at);
		if (rec && (at == from || at + rec->size - from <= BATCH_BYTES))
			continue;
		r = outfile__reserve(outfile, sizeof(*r) + at - from);
		if (r) {
			*r = (struct xpu_record_batch){
				.hdr = { XPU_RECORD_BATCH, XPU_MISC_BATCH_CARRIED,
					 sizeof(*r) + at - from },
				.time_ns = time_ns,
				.proc_id = p->proc_id,
				.bytes = at - from,
			};
			memcpy(r->records, p->nested.v + from, at - from);
		}
		from = at;
		if (!rec)
			break;
	}
}

static void process__write_counters(const struct carried_process *p, struct outfile *outfile)
{
	uint16_t misc = (p->final_in ? XPU_MISC_CARRIED_FINAL : 0) |
			(p->lost ? XPU_MISC_CARRIED_LOST : 0);
	bool attached = p->how == XPU_MISC_PROCESS_ATTACH;
	struct xpu_record_carried *r = outfile__reserve(outfile, sizeof(*r));

	if (!r)
		return;
	*r = (struct xpu_record_carried){
		.hdr = { XPU_RECORD_CARRIED, misc, sizeof(*r) },
		.proc_id = p->proc_id,
		.first = p->last,
		.last = p->last,
	};
	r->first.nr_launches = p->safe.nr_launches;
	r->first.nr_kernels = p->safe.nr_works;
	r->first.nr_memcpys = r->first.nr_memsets = 0;
	r->first.nr_calls = p->safe.nr_calls;
	r->first.nr_allocs = p->safe.nr_allocs;
	r->first.nr_ranges = p->safe.nr_ranges;
	r->first.nr_batches = p->safe.nr_batches;
	if (!attached || !p->has_counters)
		return;
	/* Add the counts from before the recording, but not the batch with these counts. */
	r->first.nr_launches += p->first.nr_launches;
	r->first.nr_kernels += p->first.nr_kernels + p->first.nr_memcpys + p->first.nr_memsets;
	r->first.nr_calls += p->first.nr_calls;
	r->first.nr_allocs += p->first.nr_allocs;
	r->first.nr_ranges += p->first.nr_ranges;
	r->first.nr_batches += p->first.nr_batches - !!p->safe.nr_batches;
}

/* Writes the open ranges of each thread, with their start times. */
static void carry__write_ranges(const struct carry *c, struct outfile *outfile)
{
	struct carried_thread *t, *next;
	struct xpu_record_ranges *r;
	size_t i, size = sizeof(*r) + sizeof(r->events[0]);

	HASH_ITER(hh, c->threads, t, next) {
		for (i = 0; i < t->open.nr; i++) {
			r = outfile__reserve(outfile, size);
			if (!r)
				continue;
			*r = (struct xpu_record_ranges){
				.hdr = { XPU_RECORD_RANGES, XPU_MISC_RANGES_CARRIED, size },
				.time_ns = t->open.v[i].time_ns, .nr = 1,
			};
			r->events[0] = (struct xpu_range_event){
				.range_id = t->open.v[i].id, .thread_id = t->thread_id,
				.what = XPU_RANGE_SET,
			};
		}
	}
}

/* Removes images and names that ended before the previous file. */
static void pid__prune(struct carried_pid *p, uint64_t number)
{
	size_t i, nr;

	for (i = nr = 0; i < p->images.nr; i++) {
		if (p->images.v[i].ended_in && p->images.v[i].ended_in + FINAL_AFTER <= number)
			array_free(&p->images.v[i].events);
		else
			p->images.v[nr++] = p->images.v[i];
	}
	p->images.nr = nr;
	for (i = nr = 0; i < p->names.nr; i++)
		if (!p->names.v[i].ended_in || p->names.v[i].ended_in + FINAL_AFTER > number)
			p->names.v[nr++] = p->names.v[i];
	p->names.nr = nr;
}

void carry__keep_thread(struct carry *c, uint32_t thread_id)
{
	struct carried_thread *t = carry__find_thread(c, thread_id);

	if (t && t->ended_in)
		t->ended_in = c->number;
}

/* Removes the definitions of removed threads from a process. */
static void process__prune(const struct carry *c, struct carried_process *p)
{
	const struct xpu_record *rec;
	size_t at, nr = 0, bytes;

	for (at = 0; (rec = records__at(&p->top, at)); at += bytes) {
		bytes = rec->size;
		if (rec->type == XPU_RECORD_THREAD &&
		    !carry__find_thread(c, ((const struct xpu_record_thread *)rec)->thread_id))
			continue;
		memmove(p->top.v + nr, rec, bytes);
		nr += bytes;
	}
	p->top.nr = nr;
	p->threads_ended = false;
}

/*
 * Removes threads as pid__prune() removes images. After a thread has ended, xpuload no longer uses
 * its id.
 */
static void carry__prune_threads(struct carry *c)
{
	struct carried_process *p, *next_process;
	struct carried_thread *t, *next;

	HASH_ITER(hh, c->threads, t, next) {
		if (!t->ended_in || t->has_nodes || t->ended_in + FINAL_AFTER > c->number)
			continue;
		p = carry__find(c, t->proc_id);
		if (p)
			p->threads_ended = true;
		carry__free_thread(c, t);
	}
	HASH_ITER(hh, c->processes, p, next_process) {
		if (p->threads_ended)
			process__prune(c, p);
	}
}

static void pid__write(const struct carried_pid *p, struct outfile *outfile)
{
	size_t i;

	for (i = 0; i < p->images.nr; i++)
		records__write(&p->images.v[i].events, outfile);
	for (i = 0; i < p->names.nr; i++)
		outfile__append(outfile, &p->names.v[i].comm.hdr);
}

/*
 * Return: whether a process with the pid is still running or awaits its last records. The end of a
 * process may be recorded several files after the ends of its threads, because the machine is busy
 * or the parent does not wait for the process.
 */
static bool carry__has_process(const struct carry *c, uint32_t pid)
{
	struct carried_process *p, *next;

	HASH_ITER(hh, c->processes, p, next) {
		if (p->pid == pid && !p->final_in)
			return true;
	}
	return false;
}

void carry__save(struct carry *c, struct outfile *outfile, uint64_t time_ns)
{
	struct carried_process *p, *next_process;
	struct carried_pid *pid, *next_pid;
	struct xpu_record_process_exit *end;

	records__write(&c->infos, outfile);
	records__write(&c->others, outfile);
	HASH_ITER(hh, c->pids, pid, next_pid)
		pid__write(pid, outfile);
	HASH_ITER(hh, c->processes, p, next_process)
		records__write(&p->top, outfile);
	carry__write_ranges(c, outfile);
	HASH_ITER(hh, c->processes, p, next_process) {
		process__write_counters(p, outfile);
		process__write_nested(p, outfile, time_ns);
		p->unsaved = false;
		end = p->ended ? outfile__reserve(outfile, sizeof(*end)) : NULL;
		if (end)
			*end = (struct xpu_record_process_exit){
				.hdr = { XPU_RECORD_PROCESS_EXIT, 0, sizeof(*end) },
				.time_ns = time_ns, .proc_id = p->proc_id, .pid = p->pid,
			};
	}
}

void carry__save_counts(struct carry *c, struct outfile *outfile)
{
	struct carried_process *p, *next;

	HASH_ITER(hh, c->processes, p, next) {
		if (p->unsaved)
			process__write_counters(p, outfile);
		p->unsaved = false;
	}
}

void carry__next(struct carry *c, struct outfile *outfile, uint64_t number, uint64_t time_ns)
{
	struct carried_process *p, *next_process;
	struct carried_pid *pid, *next_pid;

	c->number = number;
	records__write(&c->others, outfile);
	HASH_ITER(hh, c->pids, pid, next_pid) {
		pid__prune(pid, number);
		if (pid->ended_in && pid->ended_in + FINAL_AFTER <= number &&
		    !carry__has_process(c, pid->pid))
			pid__free(c, pid);
		else
			pid__write(pid, outfile);
	}
	HASH_ITER(hh, c->processes, p, next_process) {
		if (p->final_in && !p->nr_children) {
			carry__free_process(c, p);
			continue;
		}
		if (p->ended && !p->final_in && p->ended_in + FINAL_AFTER <= number)
			p->final_in = number;
	}
	carry__prune_threads(c);
	carry__write_ranges(c, outfile);
	HASH_ITER(hh, c->processes, p, next_process) {
		records__write(&p->top, outfile);
		/*
		 * If a process is kept only for its children, the process's counters are in an
		 * earlier file already.
		 */
		if (!p->final_in || p->final_in == number)
			process__write_counters(p, outfile);
		process__write_nested(p, outfile, time_ns);
	}
}
