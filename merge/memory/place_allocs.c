// SPDX-License-Identifier: GPL-3.0-or-later
#include "memory/place_allocs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "join/origin.h"
#include "join/session.h"
#include "join/tell.h"
#include "join/wanted.h"
#include "memory/allocations.h"
#include "memory/rests.h"
#include "memory/views.h"
#include "memory/alloc_queue.h"
#include "read/collect.h"

#define MAX_HELD	(4u << 20)	/* maximum number of events of a process that wait for an
					 * event with a lower number */
#define MAX_FIRST	(64u << 10)	/* maximum number of events that wait for START; later files
					 * of a recording have no START */
#define HELD_NS		3000000000ull	/* how late a thread's events may arrive, compared with
					 * events of other threads */

struct alloc_proc {
	struct alloc_queue held;		/* waiting events, in order of number */
	uint64_t next;			/* number of the next event */
	uint64_t first;			/* number of the recording's first event */
	uint64_t last_ns;		/* time of the last event: times rise with numbers */
	bool started;
	bool late;			/* xpuload attached to the process */
};

struct alloc_order {
	struct heap heap;
	ARRAY(struct alloc_proc) procs;	/* index: process index minus found.first_proc */
	bool by_time;			/* sort by time, because several processes have events */
	struct alloc_queue timed;		/* waiting events, in order of time */
	uint64_t nr_timed, newest_ns;
};

static struct memory_state *state_of(const struct second_pass *p)
{
	return p->model->features[FEATURE_memory];
}

static struct alloc_order *order_of(const struct second_pass *p)
{
	return state_of(p)->order;
}

/* ---- the first pass -------------------------------------------------------------------------- */

/* Notes which kinds of memory events the recording has, and when they happened. */
int allocs__take(struct alloc_records *records, struct collect *c,
		 const struct xpu_record_allocs *rec)
{
	struct found *f = c->found;
	struct sent *sent;
	uint32_t proc, i;
	uint64_t ns;
	int err;

	err = machine__proc(&c->model->machine, rec->proc_id, &proc) ?:
	      found__add_sent(f, proc, &sent);
	if (err)
		return err;
	sent->nr_allocs += rec->hdr.misc & XPU_MISC_ALLOCS_CARRIED ? 0 : rec->nr;
	if (!records->nr) {
		records->proc_id = rec->proc_id;
		records->from_ns = UINT64_MAX;
	}
	records->several_procs |= records->proc_id != rec->proc_id;
	records->nr += rec->nr;
	for (i = 0; i < rec->nr; i++) {
		bool was_before = rec->hdr.misc & XPU_MISC_ALLOCS_CARRIED &&
				  rec->events[i].what != XPU_ALLOC_START;

		records->blocks |= rec->events[i].space == XPU_SPACE_BLOCK ||
				   rec->events[i].what == XPU_ALLOC_SEGMENTS;
		ns = rec->time_ns + (int64_t)rec->events[i].delta_ns;
		if (was_before)
			continue;
		if (ns >= f->from_ns)
			records->from_ns = min_t(uint64_t, records->from_ns, ns);
		records->to_ns = max_t(uint64_t, records->to_ns, ns);
		sent->allocs_ns = max_t(uint64_t, sent->allocs_ns, ns);
	}
	return 0;
}

/* ---- one event ------------------------------------------------------------------------------- */

/* Return: the label of memory without a call path. */
static enum label label_of(const struct second_pass *p, const struct heap_event *e)
{
	if (e->what == XPU_ALLOC_TOTALS)
		return LABEL_BEFORE;
	if (e->space != XPU_SPACE_REST)
		return e->space == XPU_SPACE_GRAPHS ? LABEL_GRAPHS : LABEL_UNUSED;
	return order_of(p)->procs.v[e->proc - p->found->first_proc].late ?
	       LABEL_REST_LATE : LABEL_REST;
}

/*
 * Finds the call path, thread and place of an event. Return: 1, 0 if the filter leaves it out, or
 * -ENOMEM.
 */
static int resolve(struct second_pass *p, const struct alloc_event *held, struct heap_event *e)
{
	struct launch at = { .time_ns = held->time_ns };
	uint32_t path, proc = held->proc, gpu = NO_INDEX;
	struct model *m = p->model;
	int err, nr_bad;

	if (held->event.device != XPU_ALLOC_NO_DEVICE) {
		err = gpus__get(&m->gpus, SCOPE(proc, held->event.api), held->event.device, &gpu);
		if (err)
			return err;
		m->gpus.list.v[gpu].used = true;
	}
	err = heap__place(&order_of(p)->heap, gpu, &e->key.place);
	if (err)
		return err;
	if (order_of(p)->heap.pass == HEAP_FIND)
		return 1;
	/* An event that frees memory is matched by its address; its call path does not matter. */
	if (e->what == XPU_ALLOC_MADE || e->what == XPU_ALLOC_FAILED) {
		nr_bad = origin__read(p->found, m, held->event.path_id, held->event.thread_id, &at,
				      &proc, &path);
		if (nr_bad < 0)
			return nr_bad;
		p->sums->loss.bad_refs += nr_bad;
		nr_bad = second_pass__in_range(p, proc, held->event.range_id, &at.chain);
		if (nr_bad < 0)
			return nr_bad;
		p->sums->loss.bad_refs += nr_bad;
	} else if (e->what == XPU_ALLOC_TOTALS || e->what == XPU_ALLOC_LEVEL) {
		err = chains__of_label(&m->chains, proc, label_of(p, e), &at.chain);
		if (err)
			return err;
		at.thread = NO_INDEX;
		at.comm = model__proc_comm(m, proc, held->time_ns);
		/* These events describe a whole device, not its processes or threads. */
		if (!filter__has_only_moments(p->opts->filter))
			return 0;
		e->key.elsewhen = filter__is_timed(p->opts->filter);
	} else {
		return 1;
	}
	e->key.chain = at.chain;
	e->key.thread = at.thread;
	e->key.comm = at.comm;
	return wanted__memory(p->opts->filter, m, at.chain, at.thread, at.comm, e->time_ns, gpu);
}

/* Passes an event to the features. Return: 0 or -ENOMEM. */
static int tell_features(struct second_pass *p, const struct heap_event *e)
{
	const struct feature_memory event = {
		.what = e->what, .space = e->space, .proc = e->proc, .extra = e->extra,
		.time_ns = e->time_ns, .address = e->address, .bytes = e->bytes,
		.chain = e->key.chain, .thread = e->key.thread, .comm = e->key.comm,
	};

	return features_call(p->model->features, memory, p, &event);
}

static int take(struct second_pass *p, const struct alloc_event *held)
{
	struct heap_event e = {
		.order = held->order, .time_ns = held->time_ns + p->found->shift_ns,
		.address = held->event.address, .bytes = held->event.bytes, .proc = held->proc,
		.path_id = held->event.path_id,
		.extra = held->event.extra, .what = held->event.what, .space = held->event.space,
		.carried = held->carried,
	};
	struct heap *h = &order_of(p)->heap;
	bool elsewhen;
	int keep, err;

	e.made_ns = e.time_ns;
	if (held->carried && held->made_ns < held->time_ns)
		e.made_ns = held->made_ns + p->found->shift_ns;
	if (held->ends)
		return heap__end_process(h, held->proc, e.time_ns);
	if (e.what >= XPU_ALLOC_NR || e.space >= XPU_SPACE_NR ||
	    held->event.device > XPU_ALLOC_NO_DEVICE || held->event.api >= XPU_APIS) {
		h->nr_bad++;
		return 0;
	}
	err = held->carried ? 0 : heap__count(h, held->proc);
	if (err)
		return err;
	elsewhen = !wanted__cut(p->opts->filter, p->model, &(struct filter_span){
		.from_ns = e.made_ns, .to_ns = e.made_ns,
	});
	e.key.elsewhen = elsewhen;
	keep = resolve(p, held, &e);
	err = keep >= 0 && h->pass == HEAP_SUM ? tell_features(p, &e) : 0;
	if (err)
		return err;
	if (h->pass == HEAP_SUM && !held->carried)
		sums__see_time(p->sums, e.time_ns, e.time_ns);
	if (keep <= 0 || (elsewhen && e.what == XPU_ALLOC_FAILED))
		return min_t(int, keep, 0);
	err = h->pass == HEAP_SUM && !held->carried && !elsewhen ?
	      tell__row(p, allocations__put, &(struct allocation){
			&e, h->places.v[e.key.place].gpu,
	      }) : 0;
	return err ?: heap__event(h, &e);
}

/* ---- order ----------------------------------------------------------------------------------- */

static int take_timed(struct second_pass *p, bool all)
{
	struct alloc_order *o = order_of(p);
	struct alloc_event first;
	uint64_t number;
	int err = 0;

	while (!err && o->timed.list.nr &&
	       (all || o->timed.list.v[0].time_ns + HELD_NS < o->newest_ns)) {
		first = alloc_queue__pop(&o->timed, alloc_event__is_earlier);
		/* Restore the event's own number, which hand_on() stored in the event. */
		number = (uint32_t)first.event.delta_ns | (uint64_t)first.event.delta_order << 32;
		first.order = number;
		err = take(p, &first);
	}
	return err;
}

/* Passes on the next event of a process. */
static int hand_on(struct second_pass *p, struct alloc_proc *proc, struct alloc_event *held)
{
	struct alloc_order *o = order_of(p);

	if (held->event.what == XPU_ALLOC_START)
		proc->late |= held->event.bytes != 0;
	proc->last_ns = held->time_ns = max_t(uint64_t, held->time_ns, proc->last_ns);
	if (!o->by_time)
		return take(p, held);
	held->event.delta_ns = held->order;
	held->event.delta_order = held->order >> 32;
	held->order = o->nr_timed++;
	o->newest_ns = max_t(uint64_t, o->newest_ns, held->time_ns);
	return alloc_queue__push(&o->timed, held, alloc_event__is_earlier) ?: take_timed(p, false);
}

/* Starts a process whose START event is missing because its events began before the recording. */
static int start_late(struct second_pass *p, struct alloc_proc *proc,
		      const struct alloc_event *first)
{
	struct alloc_event start = {
		.order = first->order, .time_ns = first->time_ns, .proc = first->proc,
		.event = { .what = XPU_ALLOC_START, .device = XPU_ALLOC_NO_DEVICE, .bytes = 1 },
	};

	return hand_on(p, proc, &start);
}

/* Passes on the events whose turn it is; with @all, also events after a gap. */
static int go_on(struct second_pass *p, struct alloc_proc *proc, bool all)
{
	enum heap_pass pass = order_of(p)->heap.pass;
	struct alloc_event first;
	int err = 0;

	while (!err && proc->held.list.nr &&
	       (all || proc->held.list.nr > (proc->started ? MAX_HELD : MAX_FIRST) ||
		(proc->started && proc->held.list.v[0].order <= proc->next))) {
		first = alloc_queue__pop(&proc->held, alloc_event__is_before);
		if (proc->started && first.order > proc->next && pass == HEAP_SUM)
			p->sums->loss.alloc_gaps += first.order - proc->next;
		if (!proc->started)
			err = start_late(p, proc, &first);
		if (!proc->started || first.order >= proc->next)
			proc->next = first.order + 1;
		proc->started = true;
		err = err ?: hand_on(p, proc, &first);
	}
	return err;
}

static int alloc_proc(struct second_pass *p, uint32_t proc, struct alloc_proc **found)
{
	struct alloc_order *o = order_of(p);
	size_t i = proc - p->found->first_proc;
	static const struct alloc_proc none;
	int err = 0;

	while (!err && o->procs.nr <= i)
		err = array_push(&o->procs, none);
	if (!err)
		*found = &o->procs.v[i];
	return err;
}

/* Takes the events of a record, in both passes. */
static int read_events(struct second_pass *p, const struct xpu_record_allocs *rec)
{
	struct alloc_order *o = order_of(p);
	struct alloc_event held = { 0 };
	struct alloc_proc *proc;
	uint32_t i;
	int err;

	if (!o)		/* the memory records have no events */
		return 0;
	err = machine__proc(&p->model->machine, rec->proc_id, &held.proc) ?:
	      alloc_proc(p, held.proc, &proc);
	for (i = 0; i < rec->nr && !err; i++) {
		held.event = rec->events[i];
		held.carried = rec->hdr.misc & XPU_MISC_ALLOCS_CARRIED;
		held.order = rec->order + (int64_t)held.event.delta_order;
		held.time_ns = rec->time_ns + (int64_t)held.event.delta_ns;
		held.made_ns = held.time_ns;
		if (!found__has_time(p->found, held.time_ns, held.time_ns)) {
			/* If the process has an earlier event, hand_on() uses that event's time. */
			held.time_ns = found__nearest_ns(
				p->found, p->model->machine.procs.v[held.proc].time_ns);
			p->sums->loss.outside_allocs +=
				o->heap.pass == HEAP_SUM && !held.carried;
		}
		if (held.event.what == XPU_ALLOC_START) {
			/*
			 * START is sent again to each new listener, before events with lower
			 * numbers. It must not move time forward, and is not counted.
			 */
			if (proc->started) {
				held.time_ns = min_t(uint64_t, held.time_ns, proc->last_ns);
				held.carried = true;
			} else {
				proc->first = proc->next = held.order;
			}
			proc->started = true;
			/* Drop earlier events, which do not belong to this recording. */
			while (proc->held.list.nr && proc->held.list.v[0].order < proc->next)
				alloc_queue__pop(&proc->held, alloc_event__is_before);
			err = hand_on(p, proc, &held);
		} else if (proc->started && held.order == proc->next) {
			proc->next++;
			err = hand_on(p, proc, &held);
		} else if (!proc->started || held.order > proc->next) {
			err = alloc_queue__push(&proc->held, &held, alloc_event__is_before);
		} else if (held.order >= proc->first) {
			o->heap.nr_bad += o->heap.pass == HEAP_SUM;
		}
		err = err ?: go_on(p, proc, false);
	}
	return err;
}

int allocs__read(struct second_pass *p, const struct xpu_record_allocs *rec)
{
	struct arrived *arrived;
	uint32_t proc, i;
	int err;

	err = machine__proc(&p->model->machine, rec->proc_id, &proc) ?:
	      second_pass__arrived(p, proc, &arrived);
	if (err)
		return err;
	for (i = 0; i < rec->nr && !(rec->hdr.misc & XPU_MISC_ALLOCS_CARRIED); i++)
		arrived->nr_allocs += rec->events[i].what != XPU_ALLOC_START &&
				      rec->events[i].what != XPU_ALLOC_LEVEL;
	return read_events(p, rec);
}

static int find_record(void *ctx, const struct record_iter *it, const struct xpu_record *rec)
{
	(void)it;
	return rec->type == XPU_RECORD_ALLOCS ? read_events(ctx, (const void *)rec) : 0;
}

/* Adds the ends of processes, which free their memory. */
static int add_ends(struct second_pass *p)
{
	const struct machine *m = &p->model->machine;
	struct alloc_order *o = order_of(p);
	struct alloc_event held = { .ends = true };
	size_t i;
	int err = 0;

	for (i = p->found->first_proc; i < m->procs.nr && !err; i++) {
		if (!m->procs.v[i].exited)
			continue;
		held.proc = i;
		held.time_ns = m->procs.v[i].exit_ns;
		held.order = UINT64_MAX;	/* after the process's events at that time */
		err = alloc_queue__push(&o->timed, &held, alloc_event__is_earlier);
	}
	return err;
}

static void forget_order(struct alloc_order *o)
{
	size_t i;

	for (i = 0; i < o->procs.nr; i++)
		array_free(&o->procs.v[i].held.list);
	array_free(&o->procs);
	array_free(&o->timed.list);
	o->nr_timed = o->newest_ns = 0;
}

static int start_pass(struct second_pass *p, enum heap_pass pass)
{
	forget_order(order_of(p));
	heap__start(&order_of(p)->heap, pass);
	return add_ends(p);
}

/* Takes all held events, in order. */
static int take_rest(struct second_pass *p)
{
	struct alloc_order *o = order_of(p);
	size_t i;
	int err = 0;

	for (i = 0; i < o->procs.nr && !err; i++)
		err = go_on(p, &o->procs.v[i], true);
	return err ?: take_timed(p, true);
}

/*
 * If another file follows, notes the time at which that file takes over the memory of each process.
 * Return: 0 or -ENOMEM.
 */
static int set_ends(struct second_pass *p)
{
	const struct input *in = model__input(p->model);
	const struct machine *m = &p->model->machine;
	const struct found *f = p->found;
	int err = 0;
	size_t i;

	for (i = 0; i < f->sent.nr && in->next_is_here && !err; i++)
		if (f->sent.v[i].allocs_ns && !m->procs.v[f->first_proc + i].exited)
			err = heap__until(&order_of(p)->heap, f->first_proc + i, f->shift_ns +
					  allocs__until_ns(f->sent.v[i].allocs_ns, in->end_ns));
	return err;
}

int allocs__open(struct second_pass *p, struct passes *passes)
{
	struct alloc_records *records = &state_of(p)->records;
	const struct found *f = p->found;
	const struct input *in = model__input(p->model);
	const struct session_opts *opts = p->opts;
	struct moments moments = memory__moments(opts);
	struct alloc_order *order;
	struct record_iter it;
	struct heap *h;
	int err = 0;
	size_t i;

	if (!records->nr)
		return 0;
	allocs__exit(state_of(p));	/* frees the alloc_order of an earlier recording that
					 * failed */
	order = state_of(p)->order = calloc(1, sizeof(*order));
	if (!order)
		return -ENOMEM;
	order->by_time = records->several_procs;
	h = &order->heap;
	heap__init(h, f->first_proc);
	h->from_ns = found__nearest_ns(f, records->from_ns) + f->shift_ns;
	h->to_ns = found__nearest_ns(f, records->to_ns) + f->shift_ns;
	h->file = in->file;
	h->recording = in->recording_ns + f->shift_ns;
	/* The page shows who held memory over time, and when CUDA last refused an allocation. */
	h->wants_steps = opts->by_time && !memory_view(opts);
	h->has_asked = moments.nr;
	h->asked_is_failure = moments.at_failure || h->wants_steps;
	h->start_ns = p->model->start_ns;
	h->at_ns = moments.at_ns;
	h->nr_at = moments.nr;
	h->begin_ns = filter__begin_ns(opts->filter, h->start_ns);
	h->end_ns = filter__end_ns(opts->filter, h->start_ns);
	h->until_ns = in->next_is_here ? h->to_ns : UINT64_MAX;
	err = set_ends(p);
	for (i = 0; i < f->sent.nr && !err; i++)
		err = heap__expect(h, f->first_proc + i, f->sent.v[i].nr_allocs);
	if (!err && records->blocks)
		err = start_pass(p, HEAP_FIND) ?:
		      pass__run(f->reader, passes, find_record, p, 300, 300, &it) ?: take_rest(p);
	return err ?: start_pass(p, HEAP_SUM);
}

/* ---- sums ------------------------------------------------------------------------------------ */

bool heap__shows_peak(const struct heap *h, const struct session_opts *opts, uint32_t place,
		      enum heap_moment *moment)
{
	bool by_device = filter__given(opts->filter, FILTER_DEVICE);

	*moment = by_device ? HEAP_DEVICE_PEAK : HEAP_PEAK;
	return by_device ? h->places.v[place].has_peak : h->has_peak;
}

static struct heap_sum sum_of(const struct session_opts *opts, const struct heap *h,
			      const struct holder *holder)
{
	static const struct heap_sum none;
	bool failed = holder->key.kind == HEAP_FAILED,
	     held = !heap_kind__is_programs(holder->key.kind);
	enum heap_moment moment;

	if (holder->key.elsewhen && memory_view(opts) != MEMORY_PEAK && !h->has_asked)
		return none;
	switch (memory_view(opts)) {
	case MEMORY_LIVE:
		return failed ? none : h->has_asked ? holder__at(h, holder, HEAP_ASKED) :
		       holder->never_freed;
	case MEMORY_PEAK:
		return failed || !heap__shows_peak(h, opts, holder->key.place, &moment) ? none :
		       holder__at(h, holder, moment);
	case MEMORY_ALLOCATED:
		return failed ? none : holder->made;
	case MEMORY_LEAKED:
		return failed || held ? none : holder->never_freed;
	case MEMORY_FAILED:
		return failed ? holder->made : none;
	default:
		return none;
	}
}

static int add_made(struct memory_state *s, size_t aggregate, const struct heap_sum *made)
{
	static const struct heap_sum none;
	int err = 0;

	while (!err && s->made.nr <= aggregate)
		err = array_push(&s->made, none);
	if (err)
		return err;
	s->made.v[aggregate].bytes += made->bytes;
	s->made.v[aggregate].nr += made->nr;
	return 0;
}

static int add_sum(struct session *s, const struct holder_key *key, uint32_t leaf,
		   const struct heap_sum *sum)
{
	const struct work w = { .bytes = sum->bytes, .stream = NO_INDEX, .maker = NO_INDEX };
	int err = sums__add(&s->sums, &s->opts, key->chain, key->comm, key->thread, leaf, &w, NULL);

	if (!err)
		s->sums.aggregates.v[s->sums.aggregates.last].nr += sum->nr - 1;
	return err;
}

static int add_holder(struct memory_state *state, struct session *s, const struct heap *h,
		      const struct holder *holder)
{
	struct heap_sum sum = sum_of(&s->opts, h, holder);
	const struct holder_key *key = &holder->key;
	enum heap_kind kind = key->kind;
	const char *name = heap_kind__name(kind);
	bool with_made = s->opts.with_made && kind != HEAP_FAILED && kind != HEAP_FRAGMENTATION &&
			 !key->elsewhen;
	uint32_t leaf;
	int err;

	if (!sum.bytes && !(with_made && holder->made.bytes))
		return 0;
	if (memory_view(&s->opts) == MEMORY_ALLOCATED && kind == HEAP_FRAGMENTATION)
		name = "segment";
	err = leaves__get(&s->model.leaves, LEAF_MEMORY, h->places.v[key->place].gpu, name, &leaf);
	err = err ?: add_sum(s, key, leaf, &sum);
	return err || !with_made ? err : add_made(state, s->sums.aggregates.last, &holder->made);
}

/*
 * Notes that another file follows. Memory that is live at the end of this file is then no longer
 * counted as never freed.
 */
static void heap__has_next(struct heap *h)
{
	h->is_last = false;
	array_each(&h->holders, holder) {
		holder->never_freed.bytes -= holder->unfinished.bytes;
		holder->never_freed.nr -= holder->unfinished.nr;
	}
}

/* Drops an earlier file's last failure if a later file of the same recording has a failure. */
static void heap__compare_failures(struct heap *a, const struct heap *later)
{
	if (!a->asked_is_failure || !later->nr_failures)
		return;
	a->version[HEAP_ASKED] = 0;
	a->instants.nr = 0;
}

/*
 * Compares the peaks of two files of a recording, and drops the lower peak: for all devices
 * together, and for each device.
 */
static void heap__compare_peaks(struct heap *a, struct heap *b)
{
	size_t i, k;

	if (a->has_peak && b->has_peak)
		*(a->used.peak < b->used.peak ? &a->has_peak : &b->has_peak) = false;
	for (i = 0; i < a->places.nr; i++)
		for (k = 0; k < b->places.nr; k++) {
			struct heap_place *pa = &a->places.v[i], *pb = &b->places.v[k];

			if (pa->gpu == pb->gpu && pa->has_peak && pb->has_peak)
				*(pa->used.peak < pb->used.peak ?
				  &pa->has_peak : &pb->has_peak) = false;
		}
}

int allocs__settle(struct memory_state *state, struct session *s)
{
	struct heap *h = state->heaps.v;
	size_t nr = state->heaps.nr, i, k;
	int err = 0;

	for (i = 0; i < nr; i++)
		for (k = 0; k < nr; k++) {
			if (h[k].recording != h[i].recording || h[k].file <= h[i].file)
				continue;
			if (h[i].is_last)
				heap__has_next(&h[i]);
			heap__compare_peaks(&h[i], &h[k]);
			heap__compare_failures(&h[i], &h[k]);
		}
	err = rests__settle(state);
	for (i = 0; i < nr; i++)
		for (k = 0; k < h[i].holders.nr && !err && memory_view(&s->opts); k++)
			err = add_holder(state, s, &h[i], &h[i].holders.v[k]);
	return err;
}

int allocs__finish(struct second_pass *p)
{
	struct alloc_order *o = order_of(p);
	struct heap *h;
	int err;

	if (!o)
		return 0;
	h = &o->heap;
	err = take_rest(p) ?: heap__finish(h, h->to_ns);
	if (!filter__active(p->opts->filter))
		p->sums->loss.bad_allocs += h->nr_bad + h->nr_unknown;
	p->sums->loss.crowded += h->nr_crowded;
	err = err ?: array_push(&state_of(p)->heaps, *h);
	if (!err)
		memset(h, 0, sizeof(*h));	/* the state now owns the heap */
	allocs__exit(state_of(p));
	return err;
}

void allocs__exit(struct memory_state *state)
{
	if (!state->order)
		return;
	heap__exit(&state->order->heap);
	forget_order(state->order);
	free(state->order);
	state->order = NULL;
}
