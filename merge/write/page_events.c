// SPDX-License-Identifier: GPL-3.0-or-later
#include "write/page_events.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "json_out.h"
#include "util.h"
#include "write/page_json.h"
#include "write/page_meters.h"
#include "write/timeline.h"

#define MAX_EVENTS	2500000		/* maximum number of events; a launch with its kernel counts
					 * as two */
#define MOST_EVENTS	(MAX_EVENTS + MAX_EVENTS / 4)	/* if there are more events, some are
							 * dropped */
#define NR_STRETCHES	4096		/* number of equal time intervals; each one is complete or a
					 * hole */

/* a time interval whose events are left out */
struct hole {
	uint64_t from_ns, to_ns;
	uint64_t end_ns;		/* end of the last event that began in the hole */
	uint64_t nr;
};

typedef ARRAY(struct hole) holes_t;

/* sums of an aggregate's events in holes */
struct missing {
	uint64_t ns, nr;
};

struct page_events {
	struct session_sink sink;
	struct timeline *t;
	ARRAY(struct spent) spent;
	holes_t holes;			/* in order of time, disjoint */
	uint64_t nr_left_out;
	ARRAY(struct missing) missing;	/* for each aggregate: the sums of its events in holes */
};

/* ---- which events are kept ------------------------------------------------------------------ */

/* Return: the first hole that ends after @ns; NULL: none. */
static struct hole *holes__after(const holes_t *holes, uint64_t ns)
{
	size_t low = 0, high = holes->nr, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (holes->v[mid].to_ns <= ns)
			low = mid + 1;
		else
			high = mid;
	}
	return low < holes->nr ? &holes->v[low] : NULL;
}

/* Leaves out an event if it begins in a hole. Return: whether it is left out. */
static bool leaves_out(struct page_events *e, uint64_t from_ns, uint64_t end_ns)
{
	struct hole *hole = e->holes.nr ? holes__after(&e->holes, from_ns) : NULL;

	if (!hole || hole->from_ns > from_ns)
		return false;
	hole->end_ns = max_t(uint64_t, hole->end_ns, end_ns);
	hole->nr++;
	e->nr_left_out++;
	return true;
}

/* Adds a dropped event to the sums for its aggregate. Return: 0 or -ENOMEM. */
static int page_events__miss(struct page_events *e, uint32_t aggregate, uint64_t ns, uint64_t nr)
{
	int err = 0;

	while (!err && e->missing.nr <= aggregate)
		err = array_push(&e->missing, (struct missing){ 0 });
	if (err)
		return err;
	e->missing.v[aggregate].ns += ns;
	e->missing.v[aggregate].nr += nr;
	return 0;
}

static int page_events__miss_device(struct page_events *e, const struct device_event *d)
{
	return page_events__miss(e, d->aggregate, d->end_ns - d->start_ns, !d->began_before);
}

static int page_events__miss_spent(struct page_events *e, const struct spent *s)
{
	return page_events__miss(e, s->aggregate, s->ns, s->nr);
}

static size_t nr_events(const struct page_events *e)
{
	return e->t->host.nr + e->t->device.nr + e->t->slices.nr + e->spent.nr;
}

typedef void (*see_fn)(void *ctx, uint64_t from_ns);

static void for_each_event(const struct page_events *e, see_fn see, void *ctx)
{
	size_t i;

	for (i = 0; i < e->t->host.nr; i++)
		see(ctx, e->t->host.v[i].time_ns);
	for (i = 0; i < e->t->device.nr; i++)
		see(ctx, e->t->device.v[i].start_ns);
	for (i = 0; i < e->t->slices.nr; i++)
		see(ctx, e->t->slices.v[i].start_ns);
	for (i = 0; i < e->spent.nr; i++)
		see(ctx, e->spent.v[i].from_ns);
}

/* number of events that begin in each of the equal time intervals */
struct density {
	uint64_t first_ns, last_ns, width_ns;
	struct stretch {
		uint32_t at;
		uint64_t nr;
	} v[NR_STRETCHES];
};

static void see_span(void *ctx, uint64_t from_ns)
{
	struct density *d = ctx;

	d->first_ns = min_t(uint64_t, d->first_ns, from_ns);
	d->last_ns = max_t(uint64_t, d->last_ns, from_ns);
}

static void see_density(void *ctx, uint64_t from_ns)
{
	struct density *d = ctx;

	d->v[(from_ns - d->first_ns) / d->width_ns].nr++;
}

static int stretch__cmp(const void *va, const void *vb)
{
	const struct stretch *a = va, *b = vb;

	return cmp3(b->nr, a->nr) ?: cmp3(a->at, b->at);
}

static int hole__cmp(const void *va, const void *vb)
{
	const struct hole *a = va, *b = vb;

	return cmp3(a->from_ns, b->from_ns);
}

/* Sorts holes, and merges holes that touch or overlap. */
static void holes__unite(holes_t *holes)
{
	size_t i, nr = 0;

	if (!holes->nr)
		return;
	array_qsort(holes, hole__cmp);
	for (i = 1; i < holes->nr; i++) {
		struct hole *last = &holes->v[nr], *hole = &holes->v[i];

		if (hole->from_ns > last->to_ns) {
			holes->v[++nr] = *hole;
			continue;
		}
		last->to_ns = max_t(uint64_t, last->to_ns, hole->to_ns);
		last->end_ns = max_t(uint64_t, last->end_ns, hole->end_ns);
		last->nr += hole->nr;
	}
	holes->nr = nr + 1;
}

/* Turns the intervals with the most events into holes, until MAX_EVENTS events remain. */
static int holes__dig(struct page_events *e)
{
	struct density *d = calloc(1, sizeof(*d));
	size_t left = nr_events(e), i;
	int err = 0;

	if (!d)
		return -ENOMEM;
	d->first_ns = UINT64_MAX;
	for_each_event(e, see_span, d);
	d->width_ns = (d->last_ns - d->first_ns) / NR_STRETCHES + 1;
	for (i = 0; i < NR_STRETCHES; i++)
		d->v[i].at = i;
	for_each_event(e, see_density, d);
	qsort(d->v, NR_STRETCHES, sizeof(*d->v), stretch__cmp);
	for (i = 0; i < NR_STRETCHES && left > MAX_EVENTS && !err; i++) {
		uint64_t from_ns = d->first_ns + d->v[i].at * d->width_ns;

		left -= d->v[i].nr;
		err = array_push(&e->holes, ((struct hole){
			from_ns, from_ns + d->width_ns, from_ns, 0,
		}));
	}
	holes__unite(&e->holes);
	free(d);
	return err;
}

/*
 * Drops each event of @list that begins in a hole. @miss: called for each dropped event. Sets @err.
 */
#define KEEP(e, list, from, end, miss)						\
	do {									\
		size_t keep_at, keep_nr = 0;					\
										\
		for (keep_at = 0; keep_at < (list)->nr && !err; keep_at++)	\
			if (!leaves_out(e, (list)->v[keep_at].from,		\
					(list)->v[keep_at].end))		\
				(list)->v[keep_nr++] = (list)->v[keep_at];	\
			else							\
				err = miss(e, &(list)->v[keep_at]);		\
		(list)->nr = keep_nr;						\
	} while (0)

#define MISS_NOTHING(e, event)	0

/*
 * If there are too many events, leaves out the events of the densest intervals. Return: 0 or
 * -ENOMEM.
 */
static int page_events__thin(struct page_events *e, size_t most)
{
	int err;

	if (nr_events(e) <= most)
		return 0;
	err = holes__dig(e);
	if (err)
		return err;
	KEEP(e, &e->t->host, time_ns, time_ns, MISS_NOTHING);
	KEEP(e, &e->t->device, start_ns, end_ns, page_events__miss_device);
	KEEP(e, &e->t->slices, start_ns, end_ns, MISS_NOTHING);
	KEEP(e, &e->spent, from_ns, to_ns, page_events__miss_spent);
	return err;
}

/* ---- the sink ------------------------------------------------------------------------------- */

static int page_events__launch(void *ctx, const struct model *m, uint64_t key,
			       const struct launch *l)
{
	struct page_events *e = ctx;

	return leaves_out(e, l->time_ns, l->time_ns) ? 0 :
	       e->t->sink.launch(e->t->sink.ctx, m, key, l) ?: page_events__thin(e, MOST_EVENTS);
}

static int page_events__work(void *ctx, const struct model *m, uint64_t key, const struct work *w,
			     const struct launch *l, uint32_t made, bool first)
{
	struct page_events *e = ctx;

	if (w->start_ns && leaves_out(e, w->start_ns, w->start_ns + w->duration_ns))
		return page_events__miss(e, w->aggregate, w->duration_ns, !w->began_before);
	return e->t->sink.work(e->t->sink.ctx, m, key, w, l, made, first) ?:
	       page_events__thin(e, MOST_EVENTS);
}

static int page_events__slice(void *ctx, const struct model *m, const struct slice *slice)
{
	struct page_events *e = ctx;

	return leaves_out(e, slice->start_ns, slice->end_ns) ? 0 :
	       e->t->sink.slice(e->t->sink.ctx, m, slice) ?: page_events__thin(e, MOST_EVENTS);
}

static int page_events__spent(void *ctx, const struct model *m, const struct spent *spent)
{
	struct page_events *e = ctx;

	(void)m;
	return leaves_out(e, spent->from_ns, spent->to_ns) ? page_events__miss_spent(e, spent) :
	       array_push(&e->spent, *spent) ?: page_events__thin(e, MOST_EVENTS);
}

void *page_events__listen(struct session_sink **sink)
{
	struct page_events *e = calloc(1, sizeof(*e));

	if (e)
		e->t = timeline__new();
	if (!e || !e->t) {
		free(e);
		return NULL;
	}
	e->sink = (struct session_sink){
		.ctx = e,
		.launch = page_events__launch,
		.work = page_events__work,
		.slice = page_events__slice,
		.spent = page_events__spent,
	};
	*sink = &e->sink;
	return e;
}

void page_events__free(void *events)
{
	struct page_events *e = events;

	if (!e)
		return;
	timeline__free(e->t);
	array_free(&e->spent);
	array_free(&e->holes);
	array_free(&e->missing);
	free(e);
}

/* ---- columns -------------------------------------------------------------------------------- */

#define MAX_COLUMNS	6
#define LEB128_BYTES	10

typedef ARRAY(unsigned char) bytes_t;

struct columns {
	bytes_t v[MAX_COLUMNS];
	size_t nr_events;
	uint64_t last_ns;		/* end of the previous event; at first, the recording's
					 * start */
};

/* a call or range of a thread */
struct seen_call {
	uint64_t from_ns, end_ns;
	uint64_t key;			/* JOIN_KEY(), or 0 */
	uint32_t kind;			/* index in calls */
	uint32_t track;
	uint32_t order;			/* index in @seen; after the call is written, the call's
					 * number */
};

/* a name and a call path, which many calls may share */
struct call {
	uint32_t name, chain;
};

struct events_writer {
	const struct page_events *e;
	const struct session *s;
	const struct tree *tree;
	const uint32_t *cell_of;	/* for each aggregate: its cell */
	uint32_t *node_of;		/* for each chain: its node, or NO_INDEX */
	struct json_out json;
	bytes_t columns;		/* columns of all finished tracks */
	struct idmap by_name;		/* maps the address of an interned name to its index */
	ARRAY(const char *) names;
	struct idmap by_call;		/* maps a name and a chain to an index of calls */
	ARRAY(struct call) calls;
	ARRAY(struct seen_call) seen;	/* all calls; once they are written, only launches, sorted
					 * by key, then by number */
	size_t nr_seen, seen_bytes[MAX_COLUMNS];	/* the number of all calls, and the lengths
							 * of their columns */
	uint32_t nr_call_tracks, nr_work_tracks;
	size_t nr_kept;			/* number of kept events, before any event is freed */
	struct last_work *last_works;	/* for each cell: what was last written for it; NULL unless
					 * tracks of devices are being written */
	struct idmap by_shape;		/* maps an element of shapes to its number, from 1 */
	ARRAY(uint64_t) shapes;		/* ID_KEY(GPU, index in the model's shapes) */
};

static int bytes__put(bytes_t *bytes, uint64_t n)
{
	int err = array_reserve(bytes, bytes->nr + LEB128_BYTES);

	if (err)
		return err;
	for (; n >= 0x80; n >>= 7)
		bytes->v[bytes->nr++] = n | 0x80;
	bytes->v[bytes->nr++] = n;
	return 0;
}

/* Appends a difference, modulo 2^64, zigzag-coded: small negative differences are short, too. */
static int bytes__put_difference(bytes_t *bytes, uint64_t to, uint64_t from)
{
	int64_t n = to - from;

	return bytes__put(bytes, (uint64_t)n << 1 ^ (uint64_t)(n >> 63));
}

static void columns__free(struct columns *c)
{
	int i;

	for (i = 0; i < MAX_COLUMNS; i++)
		array_free(&c->v[i]);
}

/* Moves columns to the finished columns, unless @err is set. Return: @err, 0 or -ENOMEM. */
static int keep_columns(struct events_writer *w, struct columns *c, size_t bytes[MAX_COLUMNS],
			int err)
{
	int i;

	for (i = 0; i < MAX_COLUMNS && !err; i++) {
		bytes[i] = c->v[i].nr;
		err = array_reserve(&w->columns, w->columns.nr + c->v[i].nr);
		if (!err && c->v[i].nr)
			memcpy(w->columns.v + w->columns.nr, c->v[i].v, c->v[i].nr);
		w->columns.nr += err ? 0 : c->v[i].nr;
	}
	columns__free(c);
	return err;
}

static void put_lengths(struct json_out *j, size_t nr, const size_t bytes[MAX_COLUMNS])
{
	int i;

	json_out__member_u64(j, "nr", nr);
	page__open_array(j, "bytes");
	for (i = 0; i < MAX_COLUMNS; i++)
		json_out__u64(j, bytes[i]);
	json_out__close(j, ']');
}

/* Ends a track: prints the lengths of its columns, closes its object, and keeps the columns. */
static int put_columns(struct events_writer *w, struct columns *c)
{
	size_t bytes[MAX_COLUMNS] = { 0 };
	int err = keep_columns(w, c, bytes, 0);

	put_lengths(&w->json, c->nr_events, bytes);
	json_out__close(&w->json, '}');
	return err;
}

/* Opens the object of a track, which put_columns() closes. */
static void open_track(struct events_writer *w, const char *what)
{
	json_out__line(&w->json, 0);
	json_out__open(&w->json, '{');
	json_out__member_word(&w->json, "what", what);
}

static void put_thread(struct events_writer *w, uint32_t proc, uint32_t idx)
{
	const struct model *m = &w->s->model;
	const struct thread *thread = idx == NO_INDEX ? NULL : &m->threads.v[idx];
	uint32_t rank;

	if (thread) {
		json_out__member_u64(&w->json, "thread", idx);
		json_out__member_u64(&w->json, "tid", thread->tid);
		proc = thread->proc;
	}
	json_out__key(&w->json, "name");
	json_out__string(&w->json, (thread ? thread->comm : NULL) ?: proc == NO_INDEX ?
			 "unknown thread" : model__proc_name(m, proc));
	if (proc == NO_INDEX)
		return;
	json_out__member_u64(&w->json, "pid", m->machine.procs.v[proc].pid);
	rank = model__rank(m, proc);
	if (rank != NO_INDEX)
		json_out__member_u64(&w->json, "rank", rank);
}

/* ---- tracks of calls ------------------------------------------------------------------------ */

#define MAX_DEPTH	64		/* maximum number of tracks of nested calls and ranges; all
					 * deeper levels share the last track */

/* Finds or adds an interned name. Return: 0 or -ENOMEM. */
static int writer__name(struct events_writer *w, const char *name, uint32_t *idx)
{
	if (idmap__get(&w->by_name, (uintptr_t)name, idx))
		return 0;
	*idx = w->names.nr;
	return array_push(&w->names, name) ?: idmap__put(&w->by_name, (uintptr_t)name, *idx);
}

/* Finds or adds a kind of call. @chain: its call path, or NO_INDEX. Return: 0 or -ENOMEM. */
static int writer__call(struct events_writer *w, const char *name, uint32_t chain, uint32_t *idx)
{
	struct call call = { .chain = chain };
	int err = writer__name(w, name, &call.name);

	if (err || idmap__get(&w->by_call, ID_KEY(call.name, chain), idx))
		return err;
	*idx = w->calls.nr;
	return array_push(&w->calls, call) ?:
	       idmap__put(&w->by_call, ID_KEY(call.name, chain), *idx);
}

/* the tracks of one thread, and the number of calls at each depth */
struct call_tracks {
	uint32_t first;			/* the number of the first track */
	size_t nr[MAX_DEPTH];
};

static int see_call(struct events_writer *w, struct call_tracks *tracks,
		    const struct track_walk *walk)
{
	const struct slice *slice = walk->slice;
	const struct host_event *e = walk->event;
	uint32_t chain = slice ? slice->chain : e->chain;
	uint32_t depth = min_t(uint32_t, walk->open.nr - 1, MAX_DEPTH - 1);
	const struct stack *stack = slice ? NULL : w->s->model.chains.v[chain].stack;
	struct seen_call call = {
		.from_ns = walk->time_ns, .end_ns = walk->end_ns,
		.key = !slice ? e->key : slice->kind == SLICE_API ? slice->key : 0,
		.track = tracks->first + depth, .order = w->seen.nr,
	};

	tracks->nr[depth]++;
	return writer__call(w, slice ? slice->name : stack->frames[stack->nr - 1]->name, chain,
			    &call.kind) ?: array_push(&w->seen, call);
}

/* Collects the calls of a thread, and writes its tracks, without columns. */
static int write_calls_of(struct events_writer *w, const struct timeline_track *track)
{
	struct track_walk walk = { .t = w->e->t, .track = track };
	struct call_tracks tracks = { .first = w->nr_call_tracks };
	uint32_t depth;
	int step, err = 0;

	while (!err && (step = track_walk__next(&walk)) != TRACK_DONE)
		err = step < 0 ? step : step == TRACK_BEGIN ? see_call(w, &tracks, &walk) : 0;
	track_walk__exit(&walk);
	for (depth = 0; depth < MAX_DEPTH && tracks.nr[depth]; depth++) {
		open_track(w, "calls");
		put_thread(w, track->proc, track->thread);
		json_out__member_u64(&w->json, "depth", depth);
		json_out__member_u64(&w->json, "nr", tracks.nr[depth]);
		json_out__close(&w->json, '}');
		w->nr_call_tracks++;
	}
	return err;
}

static int seen_call__cmp(const void *va, const void *vb, void *ctx)
{
	const struct seen_call *a = va, *b = vb;

	(void)ctx;
	return cmp3(a->from_ns, b->from_ns) ?: cmp3(a->order, b->order);
}

static int seen_call__cmp_launch(const void *va, const void *vb, void *ctx)
{
	const struct seen_call *a = va, *b = vb;

	(void)ctx;
	return cmp3(a->key, b->key) ?: cmp3(a->order, b->order);
}

/* Numbers the calls of all threads by time, writes their columns, and keeps only launches. */
static int write_calls(struct events_writer *w)
{
	uint64_t last_ns = w->s->model.start_ns;
	struct columns c = { 0 };
	uint32_t last_id = 0;
	size_t i, nr = 0;
	int err = 0;

	array__sort(w->seen.v, w->seen.nr, sizeof(*w->seen.v), seen_call__cmp, NULL);
	for (i = 0; i < w->seen.nr && !err; i++) {
		struct seen_call *call = &w->seen.v[i];
		uint32_t id = JOIN_KEY_ID(call->key);

		err = bytes__put_difference(&c.v[0], call->from_ns, last_ns) ?:
		      bytes__put(&c.v[1], call->end_ns - call->from_ns) ?:
		      bytes__put(&c.v[2], call->track) ?: bytes__put(&c.v[3], call->kind) ?:
		      bytes__put_difference(&c.v[4], id, last_id);
		last_ns = call->from_ns;
		last_id = id;
		call->order = i + 1;
		if (id && w->calls.v[call->kind].chain != NO_INDEX)
			w->seen.v[nr++] = *call;
	}
	w->nr_seen = w->seen.nr;
	w->seen.nr = nr;
	array_shrink(&w->seen);
	array__sort(w->seen.v, nr, sizeof(*w->seen.v), seen_call__cmp_launch, NULL);
	return keep_columns(w, &c, w->seen_bytes, err);
}

/* Return: the first call with the key of a launch, or NULL. */
static const struct seen_call *writer__launch(const struct events_writer *w, uint64_t key)
{
	size_t at = sorted_count(w->seen.nr, i, w->seen.v[i].key < key);

	return at < w->seen.nr && w->seen.v[at].key == key ? &w->seen.v[at] : NULL;
}

/* ---- tracks of devices ---------------------------------------------------------------------- */

static void put_stream(struct events_writer *w, uint32_t idx, uint32_t lane)
{
	const struct model *m = &w->s->model;
	const struct stream *stream = &m->streams.v[idx];
	const struct gpu *gpu = &m->gpus.list.v[stream->gpu];
	struct json_out *j = &w->json;

	open_track(w, "work");
	json_out__member_u64(j, "gpu", gpu->number);
	json_out__key(j, "name");
	json_out__open_string(j);
	if (stream->known) {
		json_out__add(j, "stream ");
		json_out__add_u64(j, stream->stream);
	} else {
		json_out__add(j, "unknown stream");
	}
	json_out__close_string(j);
	json_out__member_u64(j, "context", stream->context);
	json_out__member_u64(j, "stream", idx);
	json_out__member_u64(j, "lane", lane);
	json_out__key(j, "process");
	json_out__string(j, model__proc_name(m, stream->proc));
	json_out__member_u64(j, "pid", m->machine.procs.v[stream->proc].pid);
}

/* what was last written for a cell on a track */
struct last_work {
	uint32_t track;			/* the track for which the other members are valid; for any
					 * other track they count as 0 */
	uint32_t shape;			/* number of a kernel's shape */
	uint32_t length_ns;		/* UINT32_MAX if longer */
};

/* the state of one track */
struct work_track {
	struct columns columns;
	uint32_t last_number;
	struct idmap last;		/* maps (track, index in calls) to the last value written
					 * on this track for this call */
};

static struct last_work *writer__last(struct events_writer *w, uint32_t cell)
{
	struct last_work *last = &w->last_works[cell];

	if (last->track != w->nr_work_tracks)
		*last = (struct last_work){ .track = w->nr_work_tracks };
	return last;
}

/* Finds or adds the number of a kernel's shape; 0: unknown. Return: 0 or -ENOMEM. */
static int writer__shape(struct events_writer *w, const struct device_event *e, uint32_t *number)
{
	uint64_t key = ID_KEY(w->s->model.leaves.v[e->leaf].gpu, e->shape);

	*number = 0;
	if (!shapes__at(&w->s->model.shapes, e->shape) || idmap__get(&w->by_shape, key, number))
		return 0;
	*number = w->shapes.nr + 1;
	return array_push(&w->shapes, key) ?: idmap__put(&w->by_shape, key, *number);
}

/*
 * Writes the shape of a kernel, or 0 if the last kernel of its cell had the same shape. Return: 0
 * or -ENOMEM.
 */
static int write_shape(struct events_writer *w, struct work_track *track,
		       const struct device_event *e)
{
	struct last_work *last = writer__last(w, w->cell_of[e->aggregate]);
	uint32_t number, before = last->shape;
	int err = writer__shape(w, e, &number);

	if (err)
		return err;
	last->shape = number;
	return bytes__put(&track->columns.v[5], before == number ? 0 : number + 1);
}

/* Writes the duration of work, and its start relative to its call or to the previous work. */
static int write_span(struct events_writer *w, struct work_track *track,
		      const struct device_event *e, const struct seen_call *call)
{
	struct columns *c = &track->columns;
	uint64_t base_ns = c->nr_events++ ? c->last_ns : w->s->model.start_ns;
	uint64_t length_ns = e->end_ns - e->start_ns;
	struct last_work *last = writer__last(w, w->cell_of[e->aggregate]);
	uint32_t before = last->length_ns;

	last->length_ns = min_t(uint64_t, length_ns, UINT32_MAX);
	if (call)
		base_ns = max_t(uint64_t, base_ns, call->from_ns);
	c->last_ns = e->end_ns;
	return bytes__put_difference(&c->v[0], e->start_ns, base_ns) ?:
	       bytes__put_difference(&c->v[1], length_ns, before);
}

static int write_work(struct events_writer *w, struct work_track *track,
		      const struct device_event *e)
{
	enum leaf_kind kind = w->s->model.leaves.v[e->leaf].kind;
	uint32_t what = (w->cell_of[e->aggregate] + 1) << 1 | e->began_before;
	const struct seen_call *call = e->orphan ? NULL : writer__launch(w, e->key);
	struct columns *c = &track->columns;
	uint64_t key = call ? ID_KEY(call->track, call->kind) : UINT64_MAX;
	uint32_t number = call ? call->order : 0, *last;
	int err;

	last = idmap__find(&track->last, key);
	err = write_span(w, track, e, call) ?:
	      bytes__put(&c->v[2], last && *last == what ? 0 : what) ?:
	      bytes__put_difference(&c->v[3], number, track->last_number);
	track->last_number = number;
	if (last)
		*last = what;
	else
		err = err ?: idmap__put(&track->last, key, what);
	if (err)
		return err;
	return kind == LEAF_KERNEL ? write_shape(w, track, e) : bytes__put(&c->v[4], e->bytes);
}

/* Writes the track of the events @from to @end - 1. */
static int write_work_track(struct events_writer *w, size_t from, size_t end)
{
	const struct device_event *v = w->e->t->device.v;
	struct work_track track = { 0 };
	int err = 0;
	size_t i;

	w->nr_work_tracks++;
	for (i = from; i < end && !err; i++)
		err = write_work(w, &track, &v[i]);
	idmap__free(&track.last);
	if (err) {
		columns__free(&track.columns);
		return err;
	}
	put_stream(w, v[from].stream, v[from].lane);
	return put_columns(w, &track.columns);
}

static int device_event__cmp_track(const void *va, const void *vb, void *ctx)
{
	const struct device_event *a = va, *b = vb;

	(void)ctx;
	return cmp3(a->stream, b->stream) ?: cmp3(a->lane, b->lane) ?:
	       cmp3(a->start_ns, b->start_ns) ?: cmp3(a->end_ns, b->end_ns) ?:
	       cmp3(a->key, b->key) ?: cmp3(a->leaf, b->leaf);
}

static int write_streams(struct events_writer *w)
{
	struct timeline *t = w->e->t;
	const struct device_event *v = t->device.v;
	size_t i, end;
	int err = 0;

	w->last_works = calloc(w->tree->cells.nr + 1, sizeof(*w->last_works));
	if (!w->last_works)
		return -ENOMEM;
	array__sort(t->device.v, t->device.nr, sizeof(*v), device_event__cmp_track, NULL);
	for (i = 0; i < t->device.nr && !err; i = end) {
		end = i;
		while (end < t->device.nr && v[end].stream == v[i].stream &&
		       v[end].lane == v[i].lane)
			end++;
		err = write_work_track(w, i, end);
	}
	free(w->last_works);
	w->last_works = NULL;
	return err;
}

/* ---- tracks of threads' time ---------------------------------------------------------------- */

/* Return: whether the time fills its span, so that it can be drawn. */
static bool spent__is_drawn(const struct spent *s)
{
	return s->ns && s->ns == s->to_ns - s->from_ns;
}

static int spent__cmp_track(const struct spent *a, const struct spent *b, const struct model *m)
{
	return cmp3(a->thread, b->thread) ?:
	       cmp3(m->leaves.v[a->leaf].kind, m->leaves.v[b->leaf].kind) ?:
	       cmp3(spent__is_drawn(b), spent__is_drawn(a));
}

static int spent__cmp(const void *va, const void *vb, void *ctx)
{
	const struct spent *a = va, *b = vb;

	return spent__cmp_track(a, b, ctx) ?: cmp3(a->from_ns, b->from_ns) ?:
	       cmp3(a->to_ns, b->to_ns) ?: cmp3(a->aggregate, b->aggregate);
}

static int write_spent_track(struct events_writer *w, const struct spent *v, size_t nr)
{
	const struct model *m = &w->s->model;
	struct columns c = { 0 };
	size_t i;
	int err = 0;

	c.nr_events = nr;
	c.last_ns = w->s->model.start_ns;
	for (i = 0; i < nr && !err; c.last_ns = v[i++].to_ns)
		err = bytes__put_difference(&c.v[0], v[i].from_ns, c.last_ns) ?:
		      bytes__put(&c.v[1], v[i].to_ns - v[i].from_ns) ?:
		      bytes__put(&c.v[2], w->cell_of[v[i].aggregate] + 1ull) ?:
		      bytes__put(&c.v[3], v[i].nr) ?:
		      bytes__put_difference(&c.v[4], v[i].ns, v[i].to_ns - v[i].from_ns);
	if (err) {
		columns__free(&c);
		return err;
	}
	open_track(w, "spent");
	put_thread(w, NO_INDEX, v->thread);
	json_out__member_u64(&w->json, "kind", m->leaves.v[v->leaf].kind);
	json_out__key(&w->json, "drawn");
	json_out__literal(&w->json, spent__is_drawn(v) ? "true" : "false");
	return put_columns(w, &c);
}

static int write_spent(struct events_writer *w)
{
	const struct model *m = &w->s->model;
	struct spent *v = w->e->spent.v;
	size_t nr = w->e->spent.nr, i, end;
	int err = 0;

	if (nr)
		qsort_r(v, nr, sizeof(*v), spent__cmp, (void *)m);
	for (i = 0; i < nr && !err; i = end) {
		for (end = i; end < nr && !spent__cmp_track(&v[i], &v[end], m); end++)
			;
		err = write_spent_track(w, &v[i], end - i);
	}
	return err;
}

/* ---- the whole ------------------------------------------------------------------------------ */

/* Finds the node of each call path that has work. */
static void writer__find_nodes(struct events_writer *w)
{
	const struct tree *t = w->tree;
	size_t i;

	for (i = 0; i < w->s->model.chains.nr; i++)
		w->node_of[i] = NO_INDEX;
	for (i = 0; i < t->cell_of[0].nr; i++) {
		uint32_t node = t->cells.v[w->cell_of[i]].node;

		while (node != TREE_ROOT &&
		       t->frames.v[t->nodes.v[node].frame].kind != TREE_FUNCTION)
			node = t->nodes.v[node].parent;
		if (node != TREE_ROOT)
			w->node_of[w->s->sums.aggregates.v[i].chain] = node;
	}
}

/* Prints the frames of a call path that is missing in the tree. */
static void put_path(struct events_writer *w, uint32_t chain)
{
	const struct stack *stack = chain == NO_INDEX ? NULL : w->s->model.chains.v[chain].stack;
	uint32_t i;

	json_out__open_string(&w->json);
	for (i = 0; stack && w->node_of[chain] == NO_INDEX && i < stack->nr; i++) {
		json_out__add(&w->json, i ? ";" : "");
		json_out__add(&w->json, stack->frames[i]->name);
	}
	json_out__close_string(&w->json);
}

static void put_calls(struct events_writer *w)
{
	struct json_out *j = &w->json;
	size_t i;

	page__open_array(j, "names");
	for (i = 0; i < w->names.nr; i++)
		json_out__string(j, w->names.v[i]);
	json_out__close(j, ']');
	json_out__key(j, "calls");
	json_out__open(j, '{');
	page__open_array(j, "name");
	for (i = 0; i < w->calls.nr; i++)
		page__number(j, i, w->calls.v[i].name);
	page__next_array(j, "node");
	for (i = 0; i < w->calls.nr; i++) {
		uint32_t chain = w->calls.v[i].chain;

		if (chain == NO_INDEX || w->node_of[chain] == NO_INDEX)
			json_out__literal(j, "-1");
		else
			json_out__u64(j, w->node_of[chain] - 1);
	}
	page__next_array(j, "path");
	for (i = 0; i < w->calls.nr; i++)
		put_path(w, w->calls.v[i].chain);
	json_out__close(j, ']');
	put_lengths(j, w->nr_seen, w->seen_bytes);
	json_out__close(j, '}');
}

/* Prints the shapes of kernels. Return: 0 or -ENOMEM. */
static int put_shapes(struct events_writer *w)
{
	const struct model *m = &w->s->model;
	size_t i;

	page__open_array(&w->json, "shapes");
	for (i = 0; i < w->shapes.nr; i++) {
		uint64_t key = w->shapes.v[i];
		char *text = shape__describe(shapes__at(&m->shapes, (uint32_t)key),
					     &m->gpus.list.v[key >> 32].limits);

		if (!text)
			return -ENOMEM;
		json_out__string(&w->json, text);
		free(text);
	}
	json_out__close(&w->json, ']');
	return 0;
}

/* Prints a time since the recording's start. */
static void put_since_start(struct events_writer *w, uint64_t ns)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRId64, (int64_t)(ns - w->s->model.start_ns));
	json_out__literal(&w->json, text);
}

static void put_holes(struct events_writer *w)
{
	struct json_out *j = &w->json;

	json_out__member_u64(j, "kept", w->nr_kept);
	json_out__member_u64(j, "left_out", w->e->nr_left_out);
	json_out__member_u64(j, "untimed", w->e->t->nr_untimed);
	page__open_array(j, "holes");
	array_each(&w->e->holes, hole) {
		json_out__open(j, '[');
		put_since_start(w, hole->from_ns);
		put_since_start(w, hole->to_ns);
		put_since_start(w, hole->end_ns);
		json_out__u64(j, hole->nr);
		json_out__close(j, ']');
	}
	json_out__close(j, ']');
}

/* Prints, for each aggregate with events in holes, its cell and the sums of these events. */
static void put_missing(struct events_writer *w)
{
	struct json_out *j = &w->json;
	size_t i;

	page__open_array(j, "missing");
	for (i = 0; i < w->e->missing.nr; i++) {
		const struct missing *missing = &w->e->missing.v[i];

		if (!missing->ns && !missing->nr)
			continue;
		json_out__open(j, '[');
		json_out__u64(j, w->cell_of[i]);
		json_out__u64(j, missing->ns);
		json_out__u64(j, missing->nr);
		json_out__close(j, ']');
	}
	json_out__close(j, ']');
}

/* Writes calls first, because work refers to the numbers of calls. */
static int write_tracks(struct events_writer *w)
{
	struct timeline *t = w->e->t;
	struct json_out *j = &w->json;
	int err = 0;
	size_t i;

	w->nr_kept = nr_events(w->e);
	json_out__open(j, '{');
	page__open_array(j, "tracks");
	for (i = 0; i < t->tracks.nr && !err; i++)
		err = write_calls_of(w, &t->tracks.v[i]);
	array_free(&t->host);
	array_free(&t->slices);
	err = err ?: write_calls(w) ?: write_streams(w) ?: write_spent(w);
	json_out__close(j, ']');
	put_calls(w);
	err = err ?: put_shapes(w);
	put_holes(w);
	put_missing(w);
	array_free(&w->seen);		/* the meters need the memory */
	err = err ?: page_meters__write(j, t, w->s, !w->e->nr_left_out);
	json_out__close(j, '}');
	json_out__flush(j);
	return err;
}

#define LINE_BYTES	(3 * 1024)	/* bytes that one line of base64 encodes */

static void write_base64(FILE *f, const unsigned char *v, size_t nr)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char line[LINE_BYTES / 3 * 4] = { 0 };
	size_t i, len = 0;

	for (i = 0; i < nr; i += 3) {
		size_t left = min_t(size_t, nr - i, 3);
		uint32_t bits = v[i] << 16 | (left > 1 ? v[i + 1] << 8 : 0) |
				(left > 2 ? v[i + 2] : 0);

		line[len++] = digits[bits >> 18];
		line[len++] = digits[bits >> 12 & 63];
		line[len++] = left > 1 ? digits[bits >> 6 & 63] : '=';
		line[len++] = left > 2 ? digits[bits & 63] : '=';
	}
	fwrite(line, 1, len, f);
	fputc('\n', f);
}

/* a stream that is compressed and written in lines */
struct packer {
	z_stream z;
	FILE *f;
	unsigned char line[LINE_BYTES];
};

static void packer__put(struct packer *p, const void *v, size_t nr, int flush)
{
	int ret;

	p->z.next_in = (unsigned char *)v;
	p->z.avail_in = nr;
	do {
		ret = deflate(&p->z, flush);
		if (p->z.avail_out && ret != Z_STREAM_END)
			continue;
		write_base64(p->f, p->line, sizeof(p->line) - p->z.avail_out);
		p->z.next_out = p->line;
		p->z.avail_out = sizeof(p->line);
	} while (ret == Z_OK && (p->z.avail_in || flush == Z_FINISH));
}

/* Compresses the JSON text and the columns, and writes them. Return: 0 or -ENOMEM. */
static int write_compressed(FILE *f, const char *text, size_t size, const bytes_t *columns)
{
	const unsigned char head[4] = { size, size >> 8, size >> 16, size >> 24 };
	struct packer *p = calloc(1, sizeof(*p));

	if (!p || deflateInit(&p->z, Z_DEFAULT_COMPRESSION) != Z_OK) {
		free(p);
		return -ENOMEM;
	}
	p->f = f;
	p->z.next_out = p->line;
	p->z.avail_out = sizeof(p->line);
	packer__put(p, head, sizeof(head), Z_NO_FLUSH);
	packer__put(p, text, size, Z_NO_FLUSH);
	packer__put(p, columns->v, columns->nr, Z_FINISH);
	deflateEnd(&p->z);
	free(p);
	return 0;
}

int page_events__end(void *events)
{
	struct page_events *e = events;
	int err = page_events__thin(e, MAX_EVENTS);

	array_shrink(&e->t->host);
	array_shrink(&e->t->device);
	array_shrink(&e->t->slices);
	array_shrink(&e->spent);
	return err;
}

bool page_events__are_all(const void *events)
{
	const struct page_events *e = events;

	return !e->nr_left_out && !e->t->nr_untimed;
}

int page_events__write(void *events, const struct session *s, const struct tree *t,
		       const uint32_t *cell_of, FILE *f)
{
	struct page_events *e = events;
	struct events_writer w = { .e = e, .s = s, .tree = t, .cell_of = cell_of };
	char *text = NULL;
	size_t size = 0;
	FILE *header = NULL;
	int err = -ENOMEM;

	w.node_of = calloc(s->model.chains.nr + 1, sizeof(*w.node_of));
	header = open_memstream(&text, &size);
	if (!w.node_of || !header)
		goto out;
	err = json_out__init(&w.json, header, ESCAPE_JSON) ?: timeline__prepare(e->t, s);
	if (err)
		goto out;
	writer__find_nodes(&w);
	err = write_tracks(&w);
	if (!err && (fflush(header) || ferror(header)))
		err = -ENOMEM;
	err = err ?: write_compressed(f, text, size, &w.columns);
out:
	json_out__exit(&w.json);
	if (header)
		fclose(header);
	free(text);
	free(w.node_of);
	idmap__free(&w.by_name);
	idmap__free(&w.by_call);
	idmap__free(&w.by_shape);
	array_free(&w.shapes);
	array_free(&w.names);
	array_free(&w.calls);
	array_free(&w.seen);
	array_free(&w.columns);
	return err;
}
