// SPDX-License-Identifier: GPL-3.0-or-later
#include "memory/live.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "memory/alloc_queue.h"
#include "memory/heap.h"
#include "stream/carry.h"

#define MAX_EVENTS	1024		/* maximum number of events in a record */
#define MAX_GPUS	256		/* maximum number of GPUs that are distinguished */
#define MAX_WAITING	(1u << 20)	/* maximum number of events of a process that wait for a
					 * missing number */
#define MAX_FIRST	(64u << 10)	/* maximum number of events of a process that wait for
					 * START */

/*
 * In a heap, a device number has the ordinal in its low bits, and the API above it. An impossible
 * device number stays impossible.
 */
#define DEVICE_ORDINAL(device)	((device) & 0x3ff)
#define DEVICE_API(device)	((device) >> 10)

static uint16_t device_with_api(const struct xpu_alloc *e)
{
	return e->device > XPU_ALLOC_NO_DEVICE || e->api >= XPU_APIS ? UINT16_MAX :
								       e->api << 10 | e->device;
}

/* The last event of one kind on one device. */
struct last_event {
	struct xpu_alloc event;
	bool stale;			/* for TOTALS: reserved memory has changed since the
					 * event */
	uint64_t rest, asked_ns;	/* for REST: bytes that no process had reserved, and when
					 * CUDA was asked */
};

struct live_proc {
	uint32_t proc_id;		/* 0: the entry is unused */
	struct alloc_queue queue;
	uint64_t next;			/* number of the process's next event */
	uint64_t first;			/* the number of START: readers ignore lower numbers */
	uint64_t last_ns;
	bool started, late;
	ARRAY(struct last_event) lasts;	/* the last LEVEL and TOTALS events of each device */
};

struct live_gpu {
	uint8_t uuid[16];
};

/* Events that will become one record. */
struct alloc_pack {
	uint16_t misc;
	uint32_t proc_id, nr;
	uint64_t base_ns, base_order;
	struct xpu_alloc v[MAX_EVENTS];
};

struct live {
	struct carry *carry;
	struct heap heap;		/* the heap's process numbers are indices in procs */
	struct idmap by_proc;
	ARRAY(struct live_proc) procs;
	ARRAY(uint32_t) free;		/* unused indices in procs */
	ARRAY(struct live_gpu) gpus;
	struct idmap by_device;		/* maps (process, GPU number) to an index in gpus */
	struct idmap by_gpu;		/* maps (process, index in gpus) to the first GPU number */
	struct alloc_pack pack;
	ARRAY(uint32_t) all;		/* live memory of a process: indices in heap.allocs */
	uint64_t nr_beyond;
	bool carried, recalls;		/* whether the current events are carried events, and
					 * whether live__recall() takes them */
};

static void live__free(struct live *l)
{
	size_t i;

	if (!l)
		return;
	for (i = 0; i < l->procs.nr; i++) {
		array_free(&l->procs.v[i].queue.list);
		array_free(&l->procs.v[i].lasts);
	}
	array_free(&l->procs);
	array_free(&l->free);
	array_free(&l->all);
	array_free(&l->gpus);
	idmap__free(&l->by_proc);
	idmap__free(&l->by_device);
	idmap__free(&l->by_gpu);
	heap__exit(&l->heap);
	free(l);
}

static struct live *live__new(struct carry *c)
{
	struct live *l = calloc(1, sizeof(*l));
	uint32_t place;

	if (!l)
		return NULL;
	l->carry = c;
	heap__init(&l->heap, 0);
	heap__start(&l->heap, HEAP_KEEP);
	if (!heap__place(&l->heap, NO_INDEX, &place))	/* the heap is only a list here, so all
							 * events share one place */
		return l;
	live__free(l);
	return NULL;
}

/* Finds or makes the process. Return: 0 or -ENOMEM. */
static int live__proc(struct live *l, uint32_t proc_id, uint32_t *idx)
{
	static const struct live_proc none;
	int err = 0;

	if (idmap__get(&l->by_proc, proc_id, idx))
		return 0;
	*idx = l->procs.nr;
	if (l->free.nr)
		*idx = l->free.v[--l->free.nr];
	else
		err = array_push(&l->procs, none);
	err = err ?: idmap__put(&l->by_proc, proc_id, *idx);
	if (!err)
		l->procs.v[*idx].proc_id = proc_id;
	return err;
}

/* ---- writing --------------------------------------------------------------------------------- */

static void live__flush(struct live *l, struct outfile *p)
{
	struct alloc_pack *k = &l->pack;
	size_t bytes = k->nr * sizeof(k->v[0]);
	struct xpu_record_allocs *r = k->nr ? outfile__reserve(p, sizeof(*r) + bytes) : NULL;

	if (r) {
		*r = (struct xpu_record_allocs){
			.hdr = { XPU_RECORD_ALLOCS, k->misc, sizeof(*r) + bytes },
			.time_ns = k->base_ns, .order = k->base_order, .proc_id = k->proc_id,
			.nr = k->nr,
		};
		memcpy(r->events, k->v, bytes);
	}
	k->nr = 0;
}

static void live__write(struct live *l, struct outfile *p, uint16_t misc, uint32_t proc_id,
			uint64_t time_ns, uint64_t order, const struct xpu_alloc *event)
{
	struct alloc_pack *k = &l->pack;
	int64_t ns = time_ns - k->base_ns, nr = order - k->base_order;

	if (k->nr == MAX_EVENTS || k->misc != misc || k->proc_id != proc_id || ns > INT32_MAX ||
	    ns < INT32_MIN || nr > INT32_MAX || nr < INT32_MIN)
		live__flush(l, p);
	if (!k->nr) {
		k->misc = misc;
		k->proc_id = proc_id;
		k->base_ns = time_ns;
		k->base_order = order;
	}
	k->v[k->nr] = *event;
	k->v[k->nr].delta_ns = time_ns - k->base_ns;
	k->v[k->nr++].delta_order = order - k->base_order;
}

/* ---- the last events ------------------------------------------------------------------------- */

static bool is_numbered_call(const struct xpu_alloc *e)
{
	return e->what != XPU_ALLOC_START && e->what != XPU_ALLOC_LEVEL;
}

static struct last_event *live_proc__last(struct live_proc *proc, const struct xpu_alloc *e)
{
	size_t i;

	for (i = 0; i < proc->lasts.nr; i++) {
		const struct xpu_alloc *last = &proc->lasts.v[i].event;

		if (last->what == e->what && last->space == e->space && last->device == e->device)
			return &proc->lasts.v[i];
	}
	return NULL;
}

/* ---- the used memory of a device ------------------------------------------------------------- */

static int live__device(struct live *l, uint32_t proc_id, const struct xpu_record_device *rec)
{
	static const uint8_t unknown[sizeof(rec->uuid)];
	struct live_gpu gpu;
	size_t i;
	int err;

	/* Only CUDA reports how much of a device is in use. */
	if (!memcmp(rec->uuid, unknown, sizeof(unknown)) ||
	    XPU_API(rec->hdr.misc) != XPU_API_CUDA)
		return 0;
	memcpy(gpu.uuid, rec->uuid, sizeof(gpu.uuid));
	for (i = 0; i < l->gpus.nr; i++)
		if (!memcmp(l->gpus.v[i].uuid, gpu.uuid, sizeof(gpu.uuid)))
			break;
	if (i == MAX_GPUS)
		return 0;
	err = i < l->gpus.nr ? 0 : array_push(&l->gpus, gpu);
	err = err ?: min_t(int, idmap__add(&l->by_device, ID_KEY(proc_id, rec->device), i), 0);
	return err ?: min_t(int, idmap__add(&l->by_gpu, ID_KEY(proc_id, i), rec->device), 0);
}

/*
 * Return: the number that process @other has for the GPU whose number in process @idx is @device,
 * or XPU_ALLOC_NO_DEVICE.
 */
static uint16_t live__device_of(const struct live *l, uint32_t idx, uint16_t device, uint32_t other)
{
	uint32_t gpu, others;

	if (other == idx)
		return device;
	if (!idmap__get(&l->by_device, ID_KEY(l->procs.v[idx].proc_id, device), &gpu) ||
	    !idmap__get(&l->by_gpu, ID_KEY(l->procs.v[other].proc_id, gpu), &others))
		return XPU_ALLOC_NO_DEVICE;
	return min_t(uint32_t, others, XPU_ALLOC_NO_DEVICE);
}

struct reserved {
	uint16_t device;
	uint64_t until_ns, bytes;
};

static int add_reserved(void *ctx, const struct heap_alloc *a, uint32_t idx)
{
	struct reserved *r = ctx;
	bool has_memory = a->space <= XPU_SPACE_POOL || a->space == XPU_SPACE_PHYSICAL ||
			  a->space == XPU_SPACE_ARRAY;

	(void)idx;
	if (has_memory && a->device == r->device && a->time_ns <= r->until_ns)
		r->bytes += a->bytes;
	return 0;
}

/*
 * Return: the bytes that a process has reserved on a device by @until_ns, as xpumerge counts them.
 */
static uint64_t live__reserved(const struct live *l, uint32_t idx, uint16_t device,
			       uint64_t until_ns)
{
	const struct live_proc *proc = &l->procs.v[idx];
	struct reserved r = { device, until_ns, 0 };
	size_t i;

	heap__each(&l->heap, idx, add_reserved, &r);
	for (i = 0; i < proc->lasts.nr; i++) {
		const struct xpu_alloc *last = &proc->lasts.v[i].event;

		if (last->what == XPU_ALLOC_LEVEL && last->device == device &&
		    last->space != XPU_SPACE_REST)
			r.bytes += last->bytes;
	}
	return r.bytes;
}

/*
 * Notes the part of a device's used memory that no process has reserved. The value holds until
 * CUDA's next report. Called when CUDA has reported the used memory.
 */
static void live__note_rest(const struct live *l, uint32_t idx, const struct xpu_alloc *e,
			    uint64_t time_ns)
{
	struct last_event *last = live_proc__last(&l->procs.v[idx], e);
	uint64_t reserved = 0;
	uint16_t device;
	uint32_t i;

	if (e->what != XPU_ALLOC_LEVEL || e->space != XPU_SPACE_REST || !last)
		return;
	last->rest = e->bytes;
	last->asked_ns = time_ns;
	if (l->carried)
		return;
	for (i = 0; i < l->procs.nr; i++) {
		device = l->procs.v[i].proc_id ? live__device_of(l, idx, e->device, i) :
			 XPU_ALLOC_NO_DEVICE;
		if (device != XPU_ALLOC_NO_DEVICE)
			reserved += live__reserved(l, i, device, i == idx ? UINT64_MAX : time_ns);
	}
	last->rest = e->bytes > reserved ? e->bytes - reserved : 0;
}

/* Return: whether process @idx was the last to ask CUDA how much of the device is in use. */
static bool live__asked_last(const struct live *l, uint32_t idx, const struct last_event *last)
{
	const struct last_event *others;
	struct xpu_alloc e = last->event;
	uint32_t i;

	for (i = 0; i < l->procs.nr; i++) {
		if (!l->procs.v[i].proc_id || i == idx)
			continue;
		e.device = live__device_of(l, idx, last->event.device, i);
		others = e.device == XPU_ALLOC_NO_DEVICE ? NULL :
			 live_proc__last(&l->procs.v[i], &e);
		if (others && (others->asked_ns > last->asked_ns ||
			       (others->asked_ns == last->asked_ns && i < idx)))
			return false;
	}
	return true;
}

/* ---- events ---------------------------------------------------------------------------------- */

/* Updates the totals of an allocator, and keeps CUDA's last report. Return: 0 or -ENOMEM. */
static int live_proc__note(struct live_proc *proc, const struct xpu_alloc *e)
{
	struct xpu_alloc totals = { .what = XPU_ALLOC_TOTALS,
				    .space = XPU_SPACE_BLOCK,
				    .device = e->device };
	bool made = e->what == XPU_ALLOC_MADE;
	struct last_event *last;
	size_t i;

	if (e->what == XPU_ALLOC_LEVEL || e->what == XPU_ALLOC_TOTALS) {
		last = live_proc__last(proc, e);
		if (!last)
			return array_push(&proc->lasts, ((struct last_event){ .event = *e }));
		*last = (struct last_event){ .event = *e };
	}
	if (!made && e->what != XPU_ALLOC_FREED && e->what != XPU_ALLOC_CONTEXT_END)
		return 0;
	if (e->space != XPU_SPACE_BLOCK || e->what == XPU_ALLOC_CONTEXT_END) {
		for (i = 0; i < proc->lasts.nr; i++)
			proc->lasts.v[i].stale |= proc->lasts.v[i].event.what == XPU_ALLOC_TOTALS;
		return 0;
	}
	last = live_proc__last(proc, &totals);
	if (last)
		last->event.address += made ? e->bytes : -e->bytes;
	return 0;
}

/* Passes on the next event of a process. Return: 0 or -ENOMEM. */
static int live__pass_on(struct live *l, struct outfile *p, uint32_t idx,
			 const struct alloc_event *e)
{
	struct live_proc *proc = &l->procs.v[idx];
	const struct heap_event event = {
		.order = e->order, .time_ns = e->time_ns, .made_ns = e->time_ns,
		.address = e->event.address,
		.bytes = e->event.bytes, .proc = idx, .path_id = e->event.path_id,
		.thread_id = e->event.thread_id, .range_id = e->event.range_id,
		.extra = e->event.extra, .device = device_with_api(&e->event),
		.what = e->event.what, .space = e->event.space, .carried = l->carried,
	};

	int err;

	/* A file that is split again already has carried events. */
	live__write(l, p, l->carried ? XPU_MISC_ALLOCS_CARRIED : 0, proc->proc_id, e->time_ns,
		    e->order, &e->event);
	if (is_numbered_call(&e->event) && !l->carried)
		carry__count_alloc(l->carry, proc->proc_id);
	if (event.what >= XPU_ALLOC_NR || event.space >= XPU_SPACE_NR || e->order < proc->first)
		return 0;
	if (event.what == XPU_ALLOC_START)
		proc->late |= event.bytes != 0;
	proc->last_ns = max_t(uint64_t, proc->last_ns, e->time_ns);
	if (event.what == XPU_ALLOC_MADE && l->heap.nr_live >= LIVE_MAX) {
		l->nr_beyond++;
		return 0;
	}
	err = live_proc__note(proc, &e->event) ?: heap__event(&l->heap, &event);
	if (!err)
		live__note_rest(l, idx, &e->event, e->time_ns);
	return err;
}

/*
 * Passes on the events whose turn it is; with @all, also the events after a gap. Return: 0 or
 * -ENOMEM.
 */
static int live__go_on(struct live *l, struct outfile *p, uint32_t idx, bool all)
{
	struct live_proc *proc = &l->procs.v[idx];
	struct alloc_event first;
	int err = 0;

	while (!err && proc->queue.list.nr &&
	       (all || proc->queue.list.nr > (proc->started ? MAX_WAITING : MAX_FIRST) ||
		(proc->started && proc->queue.list.v[0].order <= proc->next))) {
		first = alloc_queue__pop(&proc->queue, alloc_event__is_before);
		proc->late |= !proc->started;
		if (!proc->started || first.order >= proc->next)
			proc->next = first.order + 1;
		proc->started = true;
		err = live__pass_on(l, p, idx, &first);
	}
	return err;
}

static int live__allocs(struct live *l, struct outfile *p, const struct xpu_record_allocs *rec)
{
	struct live_proc *proc;
	uint32_t i, idx;
	int err = live__proc(l, rec->proc_id, &idx);

	l->carried = rec->hdr.misc & XPU_MISC_ALLOCS_CARRIED;
	for (i = 0; i < rec->nr && !err; i++) {
		const struct alloc_event e = {
			.order = rec->order + (int64_t)rec->events[i].delta_order,
			.time_ns = rec->time_ns + (int64_t)rec->events[i].delta_ns,
			.event = rec->events[i],
		};

		proc = &l->procs.v[idx];
		if (e.event.what == XPU_ALLOC_START) {
			if (!proc->started)
				proc->first = proc->next = e.order;
			proc->started = true;
			err = live__pass_on(l, p, idx, &e);
		} else if (l->recalls && proc->started && e.order < proc->next) {
			continue;	/* the killed program had already used this part of the
					 * block */
		} else if (proc->started && e.order <= proc->next) {
			proc->next += e.order == proc->next;
			err = live__pass_on(l, p, idx, &e);
		} else {
			err = alloc_queue__push(&proc->queue, &e, alloc_event__is_before);
		}
		err = err ?: live__go_on(l, p, idx, false);
	}
	return err;
}

static int live__recall(struct live *l, const struct xpu_record_allocs *rec)
{
	struct outfile nowhere = { .err = -EIO };
	int err;

	l->recalls = true;
	err = live__allocs(l, &nowhere, rec);
	live__flush(l, &nowhere);
	l->recalls = false;
	return err;
}

static int live__finish(struct live *l, struct outfile *p)
{
	uint32_t i;
	int err = 0;

	for (i = 0; i < l->procs.nr && !err; i++)
		err = live__go_on(l, p, i, true);
	live__flush(l, p);
	return err;
}

/* ---- from file to file ----------------------------------------------------------------------- */

static int keep_thread(void *ctx, const struct heap_alloc *a, uint32_t idx)
{
	(void)idx;
	carry__keep_thread(ctx, a->thread_id);
	return 0;
}

static int live__keep_threads(struct live *l)
{
	uint32_t i;
	size_t k;
	int err = 0;

	for (i = 0; i < l->procs.nr && !err; i++) {
		err = heap__each(&l->heap, i, keep_thread, l->carry);
		for (k = 0; k < l->procs.v[i].queue.list.nr; k++)
			carry__keep_thread(l->carry, l->procs.v[i].queue.list.v[k].event.thread_id);
	}
	return err;
}

static int add_to_all(void *ctx, const struct heap_alloc *a, uint32_t idx)
{
	struct live *l = ctx;

	(void)a;
	return array_push(&l->all, idx);
}

/*
 * The carried events of a process. Their numbers directly precede the number of the process's next
 * event.
 */
struct carrying {
	struct live *live;
	struct outfile *outfile;	/* NULL: the events are only counted */
	uint32_t proc_id;
	uint64_t time_ns, order;
};

static void carrying__add_at(struct carrying *c, struct xpu_alloc event, uint64_t time_ns)
{
	if (c->outfile)
		live__write(c->live, c->outfile, XPU_MISC_ALLOCS_CARRIED, c->proc_id, time_ns,
			    c->order, &event);
	c->order++;
}

static void carrying__add(struct carrying *c, struct xpu_alloc event)
{
	carrying__add_at(c, event, c->time_ns);
}

/*
 * Return: for physical memory, @idx; for a mapping, the index of the memory that it maps; otherwise
 * NO_INDEX.
 */
static uint32_t group_of(const struct heap_alloc *a, uint32_t idx)
{
	return heap_space__is_counted(a->space) ? idx : a->space == XPU_SPACE_MAPPING ? a->target :
	       NO_INDEX;
}

/*
 * Sorts physical memory before its mappings. Memory whose handle was released comes first, because
 * other memory may have got the same handle since.
 */
static int compare_live(const void *va, const void *vb, void *ctx)
{
	const struct heap_alloc *allocs = ctx, *a = &allocs[*(const uint32_t *)va];
	const struct heap_alloc *b = &allocs[*(const uint32_t *)vb];
	uint32_t group_a = group_of(a, *(const uint32_t *)va),
		 group_b = group_of(b, *(const uint32_t *)vb);
	bool shown_a = group_a == NO_INDEX || allocs[group_a].findable;
	bool shown_b = group_b == NO_INDEX || allocs[group_b].findable;

	return cmp3(shown_a, shown_b) ?: cmp3(group_a, group_b) ?:
	       cmp3(a->space == XPU_SPACE_MAPPING, b->space == XPU_SPACE_MAPPING) ?:
	       cmp3(a->order, b->order);
}

static void carrying__add_alloc(struct carrying *c, const struct heap_alloc *a)
{
	const struct heap_alloc *target = a->space != XPU_SPACE_MAPPING || a->target == NO_INDEX ?
					  NULL : &c->live->heap.allocs.v[a->target];
	struct xpu_alloc event = {
		.path_id = a->path_id, .thread_id = a->thread_id, .range_id = a->range_id,
		.what = XPU_ALLOC_MADE, .space = a->space, .device = DEVICE_ORDINAL(a->device),
		.api = DEVICE_API(a->device), .extra = a->context, .address = a->address,
		.bytes = a->bytes,
	};
	uint32_t i;

	if (target)
		carrying__add(c, (struct xpu_alloc){
			.what = XPU_ALLOC_HANDLE, .space = XPU_SPACE_MAPPING,
			.device = event.device, .api = event.api, .address = target->address,
		});
	/* A time range over several files needs the allocation's own timestamp. */
	carrying__add_at(c, event, min_t(uint64_t, a->time_ns, c->time_ns));
	/*
	 * Mark the memory as an allocator's segment, because the new file may have no block in this
	 * segment.
	 */
	if (heap__has_segments_of(&c->live->heap, a->space, a->path_id)) {
		event.what = XPU_ALLOC_SEGMENTS;
		carrying__add(c, event);
	}
	event.what = XPU_ALLOC_RETAINED;
	for (i = 1; heap_space__is_counted(a->space) && i < a->nr_handles; i++)
		carrying__add(c, event);
}

static void carrying__release_handle(struct carrying *c, const struct heap_alloc *a)
{
	carrying__add(c, (struct xpu_alloc){
		.what = XPU_ALLOC_FREED, .space = XPU_SPACE_PHYSICAL,
		.device = DEVICE_ORDINAL(a->device), .api = DEVICE_API(a->device),
		.address = a->address,
	});
}

/*
 * Return: whether an event is carried. Totals are carried only if the first events are missing;
 * otherwise readers just compare totals.
 */
static bool is_carried(const struct live_proc *proc, const struct last_event *last)
{
	if (last->event.what == XPU_ALLOC_TOTALS)
		return proc->late && !last->stale;
	return last->event.space != XPU_SPACE_REST;
}

static void carrying__add_all(struct carrying *c, uint32_t idx)
{
	const struct live_proc *proc = &c->live->procs.v[idx];
	const struct heap_proc *kept = idx < c->live->heap.procs.nr ?
				       &c->live->heap.procs.v[idx] : NULL;
	const struct heap_alloc *allocs = c->live->heap.allocs.v;
	const uint32_t *v = c->live->all.v;
	size_t nr = c->live->all.nr, i;
	uint32_t group;

	for (i = 0; i < nr; i++) {
		carrying__add_alloc(c, &allocs[v[i]]);
		group = group_of(&allocs[v[i]], v[i]);
		if (group != NO_INDEX && !allocs[group].findable &&
		    (i + 1 == nr || group_of(&allocs[v[i + 1]], v[i + 1]) != group))
			carrying__release_handle(c, &allocs[group]);
	}
	for (i = 0; i < proc->lasts.nr; i++)
		if (is_carried(proc, &proc->lasts.v[i]))
			carrying__add(c, proc->lasts.v[i].event);
	for (i = 0; i < proc->lasts.nr; i++) {
		struct xpu_alloc rest = proc->lasts.v[i].event;

		if (rest.space != XPU_SPACE_REST ||
		    !live__asked_last(c->live, idx, &proc->lasts.v[i]))
			continue;
		rest.bytes = proc->lasts.v[i].rest;
		carrying__add(c, rest);
	}
	/*
	 * The next event may map this handle, so the handle's event must be the last carried
	 * event.
	 */
	if (kept && kept->handle_order && kept->handle_order + 1 == proc->next)
		carrying__add(c, (struct xpu_alloc){
			.what = XPU_ALLOC_HANDLE, .space = XPU_SPACE_MAPPING,
			.device = XPU_ALLOC_NO_DEVICE, .address = kept->handle,
		});
}

static int live__carry(struct live *l, struct outfile *p, uint32_t idx, uint64_t time_ns)
{
	struct live_proc *proc = &l->procs.v[idx];
	/* Events may arrive late, with a timestamp before the cut. */
	struct carrying c = {
		.live = l, .proc_id = proc->proc_id,
		.time_ns = allocs__until_ns(proc->last_ns, time_ns) + 1,
	};
	struct xpu_alloc start = {
		.what = XPU_ALLOC_START, .device = XPU_ALLOC_NO_DEVICE, .bytes = proc->late,
	};
	int err;

	l->all.nr = 0;
	err = heap__each(&l->heap, idx, add_to_all, l);
	if (err)
		return err;
	if (l->all.nr)
		qsort_r(l->all.v, l->all.nr, sizeof(l->all.v[0]), compare_live, l->heap.allocs.v);
	carrying__add_all(&c, idx);
	proc->last_ns = c.time_ns;
	/*
	 * Enough numbers are free, unless the recording is damaged: each carried event once had its
	 * own number.
	 */
	if (c.order >= proc->next) {
		start.bytes = 1;
		c.order = 0;
	}
	c.order = proc->next - c.order;
	c.outfile = p;
	live__write(l, p, XPU_MISC_ALLOCS_CARRIED, proc->proc_id, c.time_ns, c.order, &start);
	if (c.order < proc->next)
		carrying__add_all(&c, idx);
	return 0;
}

static int live__save(struct live *l, struct outfile *p, uint64_t time_ns)
{
	const struct alloc_event *e;
	uint32_t i;
	size_t k;
	int err = 0;

	for (i = 0; i < l->procs.nr && !err; i++) {
		struct live_proc *proc = &l->procs.v[i];
		uint64_t last_ns = proc->last_ns;

		if (proc->started)
			err = live__carry(l, p, i, time_ns);
		proc->last_ns = last_ns;
		for (k = 0; k < proc->queue.list.nr; k++) {
			e = &proc->queue.list.v[k];
			live__write(l, p, 0, proc->proc_id, e->time_ns, e->order, &e->event);
		}
	}
	live__flush(l, p);
	return err;
}

static int live__forget(struct live *l, uint32_t idx)
{
	struct live_proc *proc = &l->procs.v[idx];
	int err = heap__forget_process(&l->heap, idx);

	array_free(&proc->queue.list);
	array_free(&proc->lasts);
	memset(proc, 0, sizeof(*proc));
	return err ?: array_push(&l->free, idx);
}

/* Indexes the remaining processes. Return: 0 or -ENOMEM. */
static int live__index(struct live *l)
{
	uint32_t i;
	int err = 0;

	idmap__free(&l->by_proc);
	for (i = 0; i < l->procs.nr && !err; i++)
		if (l->procs.v[i].proc_id)
			err = idmap__put(&l->by_proc, l->procs.v[i].proc_id, i);
	return err;
}

static int live__next(struct live *l, struct outfile *p, uint64_t time_ns)
{
	bool forgets = false;
	uint32_t i;
	int err = 0;

	for (i = 0; i < l->procs.nr && !err; i++) {
		const struct live_proc *proc = &l->procs.v[i];

		if (!proc->proc_id)
			continue;
		if (carry__has_ended(l->carry, proc->proc_id)) {
			err = live__go_on(l, p, i, true) ?: live__forget(l, i);
			forgets = true;
		} else if (proc->started) {
			err = live__carry(l, p, i, time_ns);
		}
	}
	live__flush(l, p);
	return err || !forgets ? err : live__index(l);
}

/* ---- the interface of a feature -------------------------------------------------------------- */

static void *split__new(struct carry *c)
{
	return live__new(c);
}

static void split__free(void *state)
{
	live__free(state);
}

static int split__record(void *state, struct outfile *p, const struct xpu_record *rec)
{
	return p ? live__allocs(state, p, (const void *)rec) :
		   live__recall(state, (const void *)rec);
}

static int split__device(void *state, uint32_t proc_id, const struct xpu_record_device *rec)
{
	return live__device(state, proc_id, rec);
}

static int split__step(void *state, struct outfile *p, enum split_step step, uint64_t time_ns)
{
	switch (step) {
	case SPLIT_FLUSH:
		live__flush(state, p);
		return 0;
	case SPLIT_KEEP_THREADS:
		return live__keep_threads(state);
	case SPLIT_NEXT:
		return live__next(state, p, time_ns);
	case SPLIT_SAVE:
		return live__save(state, p, time_ns);
	case SPLIT_FINISH:
		return live__finish(state, p);
	}
	return 0;
}

static uint64_t split__nr_beyond(const void *state)
{
	return ((const struct live *)state)->nr_beyond;
}

const struct feature_split memory_split = {
	.takes = XPU_RECORD_ALLOCS,
	.new = split__new,
	.free = split__free,
	.record = split__record,
	.device = split__device,
	.step = split__step,
	.nr_beyond = split__nr_beyond,
};
