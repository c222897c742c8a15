// SPDX-License-Identifier: GPL-3.0-or-later
#include "write/timeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util.h"

#define MARKER_NS	1000		/* maximum length of the slice that a launch without a
					 * duration gets */

static int timeline__launch(void *ctx, const struct model *m, uint64_t key, const struct launch *l)
{
	struct timeline *t = ctx;

	(void)m;
	return array_push(&t->host, ((struct host_event){
		.time_ns = l->time_ns, .key = key, .thread = l->thread, .chain = l->chain,
	}));
}

static int timeline__placed(void *ctx, const struct model *m, const struct placed *p)
{
	uint64_t key = JOIN_KEY(m->chains.v[p->chain].proc, 0);
	struct timeline *t = ctx;

	if (m->leaves.v[p->leaf].kind != LEAF_CPU || p->ends_after)
		return 0;
	return array_push(&t->host, ((struct host_event){
		.time_ns = p->time_ns, .key = key, .thread = p->thread, .chain = p->chain,
		.sample = true,
	}));
}

static int timeline__work(void *ctx, const struct model *m, uint64_t key, const struct work *w,
			  const struct launch *l, uint32_t made, bool first)
{
	struct timeline *t = ctx;

	(void)m;
	if (!w->start_ns) {
		t->nr_untimed++;
		return 0;
	}
	return array_push(&t->device, ((struct device_event){
		.start_ns = w->start_ns,
		.end_ns = w->start_ns + w->duration_ns,
		.launch_ns = l ? l->time_ns : 0,
		.bytes = w->bytes,
		.key = key,
		.leaf = w->leaf,
		.stream = w->stream,
		.thread = l ? l->thread : NO_INDEX,
		.chain = l ? l->chain : NO_INDEX,
		.made = made,
		.aggregate = w->aggregate,
		.shape = min_t(uint32_t, w->shape, SHAPE_UNSEEN),
		.orphan = !l,
		.first = first,
		.is_part = w->is_part,
		.began_before = w->began_before,
	}));
}

static int timeline__slice(void *ctx, const struct model *m, const struct slice *slice)
{
	struct timeline *t = ctx;

	(void)m;
	t->has_calls |= slice->kind == SLICE_API;
	return array_push(&t->slices, *slice);
}

struct timeline *timeline__new(void)
{
	struct timeline *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->sink = (struct session_sink){
		.ctx = t,
		.launch = timeline__launch,
		.work = timeline__work,
		.placed = timeline__placed,
		.slice = timeline__slice,
	};
	return t;
}

void timeline__free(struct timeline *t)
{
	if (!t)
		return;
	free(t->first_track);
	free(t->nr_lanes);
	free(t->pids);
	array_free(&t->tracks);
	array_free(&t->slices);
	array_free(&t->host);
	array_free(&t->device);
	free(t);
}

void *timeline__listen(struct session_sink **sink)
{
	struct timeline *t = timeline__new();

	*sink = t ? &t->sink : NULL;
	return t;
}

void timeline__drop(void *events)
{
	timeline__free(events);
}

const char *slice__category(const struct slice *slice)
{
	static const char *const names[NR_SLICE_KINDS] = {
		[SLICE_API] = "api", [SLICE_RANGE] = "nvtx",
	};

	return slice->chain != NO_INDEX ? "launch" : names[slice->kind];
}

/* ---- order and lanes ------------------------------------------------------------------------ */

static int host_event__cmp(const void *va, const void *vb)
{
	const struct host_event *a = va, *b = vb;

	return cmp3(JOIN_KEY_PROC(a->key), JOIN_KEY_PROC(b->key)) ?: cmp3(a->thread, b->thread) ?:
	       cmp3(a->time_ns, b->time_ns) ?: cmp3(JOIN_KEY_ID(a->key), JOIN_KEY_ID(b->key)) ?:
	       cmp3(a->chain, b->chain);
}

static int device_event__cmp(const void *va, const void *vb)
{
	const struct device_event *a = va, *b = vb;

	return cmp3(a->stream, b->stream) ?: cmp3(a->start_ns, b->start_ns) ?:
	       cmp3(a->end_ns, b->end_ns) ?: cmp3(a->key, b->key) ?: cmp3(a->leaf, b->leaf);
}

/* Orders by start; if two slices start together, the outer slice comes first. */
static int slice__cmp(const void *va, const void *vb)
{
	const struct slice *a = va, *b = vb;

	return cmp3(JOIN_KEY_PROC(a->key), JOIN_KEY_PROC(b->key)) ?: cmp3(a->thread, b->thread) ?:
	       cmp3(a->start_ns, b->start_ns) ?: cmp3(b->end_ns, a->end_ns) ?:
	       cmp3(b->kind, a->kind) ?: cmp3(a->key, b->key);
}

typedef size_t (*event_key_fn)(const void *event, const void *ctx);

/*
 * Sorts the events of @v stably by their keys, which are numbers below @nr_keys. *@spare: NULL, or
 * an array of the same size, which may be swapped with *@v; the caller frees both arrays.
 * Return: 0 or -ENOMEM.
 */
static int distribute(void **v, void **spare, size_t nr, size_t size, size_t nr_keys,
		      event_key_fn key, const void *ctx)
{
	size_t *next = calloc(nr_keys + 1, sizeof(*next));
	char *from = *v, *to;
	bool ordered = true;
	int err = -ENOMEM;
	size_t i, k;

	if (!next)
		return -ENOMEM;
	for (i = 0; i < nr; i++) {
		k = key(from + i * size, ctx);
		next[k + 1]++;
		ordered &= !i || key(from + (i - 1) * size, ctx) <= k;
	}
	if (!ordered) {
		to = *spare ?: malloc(nr * size);
		if (!to)
			goto out;
		for (k = 0; k < nr_keys; k++)
			next[k + 1] += next[k];
		for (i = 0; i < nr; i++)
			memcpy(to + next[key(from + i * size, ctx)]++ * size, from + i * size,
			       size);
		*spare = from;
		*v = to;
	}
	err = 0;
out:
	free(next);
	return err;
}

/*
 * Sorts events by process, then by thread. Return: 0 or -ENOMEM; *@v may be replaced by another
 * array.
 */
static int by_track(void **v, size_t nr, size_t size, event_key_fn thread_key,
		    event_key_fn proc_key, const struct session *s)
{
	void *spare = NULL;
	int err;

	err = distribute(v, &spare, nr, size, s->model.threads.nr + 1, thread_key, s) ?:
	      distribute(v, &spare, nr, size, s->model.machine.procs.nr, proc_key, s);
	free(spare);
	return err;
}

/* any event that is sorted */
union any_event {
	struct host_event host;
	struct device_event device;
	struct slice slice;
};

/*
 * Sorts events that are nearly in order, such as the events of each track. Uses insertion sort, and
 * falls back to qsort() if that takes many steps per event.
 */
static void sort_nearly(void *v, size_t nr, size_t size, int (*cmp)(const void *, const void *))
{
	char *base = v, event[sizeof(union any_event)];
	size_t i, to, steps = 0;

	for (i = 1; i < nr && steps < 16 * nr; i++) {
		for (to = i; to && cmp(base + (to - 1) * size, base + i * size) > 0; to--)
			steps++;
		if (to == i)
			continue;
		memcpy(event, base + i * size, size);
		memmove(base + (to + 1) * size, base + to * size, (i - to) * size);
		memcpy(base + to * size, event, size);
	}
	if (i < nr)
		qsort(v, nr, size, cmp);
}

static size_t host_event__thread_key(const void *v, const void *ctx)
{
	const struct session *s = ctx;
	const struct host_event *e = v;

	return min_t(size_t, e->thread, s->model.threads.nr);
}

static size_t host_event__proc_key(const void *v, const void *ctx)
{
	const struct host_event *e = v;

	(void)ctx;
	return JOIN_KEY_PROC(e->key);
}

static size_t slice__thread_key(const void *v, const void *ctx)
{
	const struct session *s = ctx;
	const struct slice *slice = v;

	return min_t(size_t, slice->thread, s->model.threads.nr);
}

static size_t slice__proc_key(const void *v, const void *ctx)
{
	const struct slice *slice = v;

	(void)ctx;
	return JOIN_KEY_PROC(slice->key);
}

static size_t device_event__stream_key(const void *v, const void *ctx)
{
	const struct device_event *e = v;

	(void)ctx;
	return e->stream;
}

/* The lanes of one stream, as a heap: the top is the lane that becomes free first. */
struct lane {
	uint64_t end_ns;
	uint32_t lane;
};

typedef ARRAY(struct lane) lanes_t;

static bool lane__before(const struct lane *a, const struct lane *b)
{
	return a->end_ns != b->end_ns ? a->end_ns < b->end_ns : a->lane < b->lane;
}

static void lanes__sift_down(lanes_t *h)
{
	size_t i = 0, child;

	while ((child = 2 * i + 1) < h->nr) {
		struct lane tmp = h->v[i];

		if (child + 1 < h->nr && lane__before(&h->v[child + 1], &h->v[child]))
			child++;
		if (!lane__before(&h->v[child], &h->v[i]))
			break;
		h->v[i] = h->v[child];
		h->v[child] = tmp;
		i = child;
	}
}

static int lanes__add(lanes_t *h, struct lane lane)
{
	size_t i = h->nr;
	int err = array_push(h, lane);

	for (; !err && i && lane__before(&h->v[i], &h->v[(i - 1) / 2]); i = (i - 1) / 2) {
		struct lane tmp = h->v[i];

		h->v[i] = h->v[(i - 1) / 2];
		h->v[(i - 1) / 2] = tmp;
	}
	return err;
}

static int timeline__sort(struct timeline *t, const struct session *s)
{
	void *spare = NULL;
	int err;

	err = by_track((void **)&t->host.v, t->host.nr, sizeof(*t->host.v), host_event__thread_key,
		       host_event__proc_key, s) ?:
	      distribute((void **)&t->device.v, &spare, t->device.nr, sizeof(*t->device.v),
			 s->model.streams.nr, device_event__stream_key, s);
	free(spare);
	if (err)
		return err;
	/* The arrays may have been replaced by arrays without room to grow. */
	t->host.cap = t->host.nr;
	t->device.cap = t->device.nr;
	sort_nearly(t->host.v, t->host.nr, sizeof(*t->host.v), host_event__cmp);
	sort_nearly(t->device.v, t->device.nr, sizeof(*t->device.v), device_event__cmp);
	return 0;
}

/*
 * Drops duplicates of launches: with a filter, the session passes a launch once for each of its
 * records.
 */
static void timeline__drop_duplicates(struct timeline *t)
{
	size_t i, nr = 0;

	for (i = 1; i < t->host.nr; i++)
		if (host_event__cmp(&t->host.v[nr], &t->host.v[i]))
			t->host.v[++nr] = t->host.v[i];
	if (t->host.nr)
		t->host.nr = nr + 1;
}

/* Gives each device event a lane on which nothing overlaps it. */
static int timeline__assign_lanes(struct timeline *t)
{
	lanes_t lanes = { 0 };
	uint32_t stream = NO_INDEX;
	int err = 0;

	array_each_while(&t->device, e, !err) {
		if (e->stream != stream) {
			stream = e->stream;
			lanes.nr = 0;
		}
		if (lanes.nr && lanes.v[0].end_ns <= e->start_ns) {
			e->lane = lanes.v[0].lane;
			lanes.v[0].end_ns = e->end_ns;
			lanes__sift_down(&lanes);
		} else {
			e->lane = lanes.nr;
			err = lanes__add(&lanes, (struct lane){ e->end_ns, lanes.nr });
			t->nr_lanes[stream] = lanes.nr;
		}
	}
	array_free(&lanes);
	return err;
}

/* Replaces launches by their calls, which have the same ids and have durations. */
static int timeline__join_calls(struct timeline *t)
{
	struct idmap launches = { 0 };	/* maps a launch's key to its host event */
	size_t i, nr = 0;
	uint32_t idx;
	int err = 0;

	for (i = 0; t->has_calls && i < t->host.nr && err >= 0; i++) {
		const struct host_event *e = &t->host.v[i];

		if (!e->sample && JOIN_KEY_ID(e->key))
			err = idmap__add(&launches, e->key, i);
	}
	if (err < 0 || !launches.nr)
		goto out;
	array_each(&t->slices, slice) {
		struct host_event *e;

		if (slice->kind != SLICE_API || !idmap__get(&launches, slice->key, &idx))
			continue;
		e = &t->host.v[idx];
		if (e->is_slice)
			continue;
		e->is_slice = true;
		e->time_ns = slice->start_ns;
		slice->thread = e->thread;
		slice->chain = e->chain;
	}
	/*
	 * An arrow begins where its call begins. CUPTI may take a call's start time after the
	 * call's callback. If an arrow begins in the middle of a call, Perfetto shows an earlier
	 * CPU sample as the arrow's origin.
	 */
	array_each(&t->device, e) {
		if (!e->orphan && idmap__get(&launches, e->key, &idx) && t->host.v[idx].is_slice)
			e->launch_ns = t->host.v[idx].time_ns;
	}
	for (i = 0; i < t->host.nr; i++)
		if (!t->host.v[i].is_slice)
			t->host.v[nr++] = t->host.v[i];
	t->host.nr = nr;
	array_shrink(&t->host);
out:
	idmap__free(&launches);
	return err < 0 ? err : 0;
}

static int timeline__prepare_slices(struct timeline *t, const struct session *s)
{
	struct meter_walk meters = { 0 };
	struct meter meter;
	size_t i, nr = 0;
	int err = timeline__join_calls(t);

	for (i = 0; i < t->slices.nr; i++)
		if (!t->slices.v[i].launch_only || t->slices.v[i].chain != NO_INDEX)
			t->slices.v[nr++] = t->slices.v[i];
	t->slices.nr = nr;
	for (i = 0; i < nr; i++)
		t->first_ns = min_t(uint64_t, t->first_ns, t->slices.v[i].start_ns);
	while (meter_walk__next(&meters, s, false, &meter) > 0)
		t->first_ns = min_t(uint64_t, t->first_ns, meter.first_ns);
	for (i = 0; features[i]; i++)
		if (features[i]->counters)
			t->first_ns = min_t(uint64_t, t->first_ns,
					    features[i]->counters->first_ns(s));
	for (i = 0; i < s->model.captured.windows.nr; i++)
		if (captured_window__passes(&s->model.captured.windows.v[i], s->opts.filter))
			t->first_ns = min_t(uint64_t, t->first_ns,
					    s->model.captured.windows.v[i].open_ns);
	if (t->first_ns == UINT64_MAX)
		t->first_ns = 0;
	err = err ?: by_track((void **)&t->slices.v, nr, sizeof(*t->slices.v), slice__thread_key,
			      slice__proc_key, s);
	if (err)
		return err;
	t->slices.cap = nr;
	sort_nearly(t->slices.v, nr, sizeof(*t->slices.v), slice__cmp);
	return 0;
}

static bool track__has(const struct timeline_track *track, uint64_t key, uint32_t thread)
{
	return track->proc == JOIN_KEY_PROC(key) && track->thread == thread;
}

/* Return: the track whose events come next in the two sorted arrays. */
static struct timeline_track timeline__next_track(const struct timeline *t, size_t host,
						  size_t slice)
{
	const struct host_event *e = host < t->host.nr ? &t->host.v[host] : NULL;
	const struct slice *p = slice < t->slices.nr ? &t->slices.v[slice] : NULL;
	bool is_slice = p && (!e || (cmp3(JOIN_KEY_PROC(p->key), JOIN_KEY_PROC(e->key)) ?:
				     cmp3(p->thread, e->thread)) < 0);

	return (struct timeline_track){
		.proc = JOIN_KEY_PROC(is_slice ? p->key : e->key),
		.thread = is_slice ? p->thread : e->thread,
		.host = host,
		.slice = slice,
	};
}

static int timeline__find_tracks(struct timeline *t)
{
	size_t host = 0, slice = 0;
	int err = 0;

	while (!err && (host < t->host.nr || slice < t->slices.nr)) {
		struct timeline_track track = timeline__next_track(t, host, slice);

		while (host < t->host.nr && track__has(&track, t->host.v[host].key,
						       t->host.v[host].thread))
			host++;
		while (slice < t->slices.nr && track__has(&track, t->slices.v[slice].key,
							  t->slices.v[slice].thread))
			slice++;
		track.host_end = host;
		track.slice_end = slice;
		err = array_push(&t->tracks, track);
	}
	return err;
}

/* Numbers the processes that have tracks, in the order of their tracks. */
static int timeline__number_pids(struct timeline *t, const struct session *s)
{
	struct idmap taken = { 0 };
	uint32_t proc, pid, other;
	size_t i;
	int err = 0;

	for (i = 0; i < t->tracks.nr && !err; i++) {
		proc = t->tracks.v[i].proc;
		if (t->pids[proc])
			continue;
		pid = s->model.machine.procs.v[proc].pid;
		if (!pid || pid >= PID_REUSED || idmap__get(&taken, pid, &other)) {
			t->pids[proc] = PID_REUSED + proc;
			continue;
		}
		t->pids[proc] = pid;
		err = idmap__put(&taken, pid, proc);
	}
	idmap__free(&taken);
	return err;
}

uint32_t timeline__sort_index(const struct session *s, uint32_t proc)
{
	uint32_t rank = model__rank(&s->model, proc), first = 1;
	size_t i;

	if (rank == NO_INDEX)
		return 0;
	for (i = 0; i < s->model.gpus.list.nr; i++)
		first = max_t(uint32_t, first, s->model.gpus.list.v[i].number + 1);
	return min_t(uint64_t, (uint64_t)first + rank, INT32_MAX);
}

uint32_t timeline__tid(const struct session *s, uint32_t thread)
{
	return thread == NO_INDEX ? 0 : s->model.threads.v[thread].tid;
}

/* Orders tracks by rank, process, thread; processes without a rank come last. */
static int track__cmp_rank(const void *va, const void *vb, void *ctx)
{
	const struct timeline_track *a = va, *b = vb;
	const struct session *s = ctx;

	return cmp3(model__rank(&s->model, a->proc), model__rank(&s->model, b->proc)) ?:
	       cmp3(a->proc, b->proc) ?: cmp3(a->thread, b->thread);
}

int timeline__prepare(struct timeline *t, const struct session *s)
{
	uint32_t next_track = 1;
	size_t i;
	int err;

	if (t->pids)
		return 0;
	/* Allocate one element more than needed, because malloc(0) may return NULL. */
	t->pids = calloc(s->model.machine.procs.nr + 1, sizeof(*t->pids));
	t->nr_lanes = calloc(s->model.streams.nr + 1, sizeof(*t->nr_lanes));
	t->first_track = calloc(s->model.streams.nr + 1, sizeof(*t->first_track));
	if (!t->pids || !t->nr_lanes || !t->first_track)
		return -ENOMEM;
	err = timeline__sort(t, s);
	if (err)
		return err;
	if (filter__active(s->opts.filter))
		timeline__drop_duplicates(t);
	t->first_ns = s->sums.last_ns ? s->sums.first_ns : UINT64_MAX;
	err = timeline__prepare_slices(t, s) ?: timeline__find_tracks(t);
	if (err)
		return err;
	if (t->tracks.nr)
		qsort_r(t->tracks.v, t->tracks.nr, sizeof(*t->tracks.v), track__cmp_rank,
			(void *)s);
	err = timeline__assign_lanes(t);
	if (err)
		return err;
	for (i = 0; i < s->model.streams.nr; i++) {
		t->first_track[i] = next_track;
		next_track += t->nr_lanes[i];
	}
	return timeline__number_pids(t, s);
}

/* ---- tracks of threads ---------------------------------------------------------------------- */

static int track_walk__begin(struct track_walk *w, uint64_t time_ns, uint64_t end_ns)
{
	if (w->open.nr)
		end_ns = min_t(uint64_t, end_ns, w->open.v[w->open.nr - 1]);
	w->time_ns = time_ns;
	w->end_ns = end_ns;
	return array_push(&w->open, end_ns) ?: TRACK_BEGIN;
}

int track_walk__next(struct track_walk *w)
{
	size_t host = w->track->host + w->nr_host, slice = w->track->slice + w->nr_slices;
	const struct host_event *e = host < w->track->host_end ? &w->t->host.v[host] : NULL;
	const struct slice *p = slice < w->track->slice_end ? &w->t->slices.v[slice] : NULL;
	uint64_t end_ns, slice_ns = p ? p->start_ns : UINT64_MAX;
	bool is_slice = p && (!e || slice_ns <= e->time_ns);

	if (w->open.nr && ((!e && !p) ||
			   w->open.v[w->open.nr - 1] <= (is_slice ? slice_ns : e->time_ns))) {
		w->time_ns = w->open.v[--w->open.nr];
		return TRACK_END;
	}
	w->slice = is_slice ? p : NULL;
	w->event = is_slice ? NULL : e;
	if (is_slice) {
		w->nr_slices++;
		return track_walk__begin(w, p->start_ns, p->end_ns);
	}
	if (!e)
		return TRACK_DONE;
	w->nr_host++;
	if (e->sample) {
		w->time_ns = e->time_ns;
		return TRACK_SAMPLE;
	}
	/* Give a launch without a duration a visible length that does not reach the next event. */
	end_ns = min_t(uint64_t, e->time_ns + MARKER_NS, slice_ns);
	if (host + 1 < w->track->host_end)
		end_ns = min_t(uint64_t, end_ns, e[1].time_ns);
	return track_walk__begin(w, e->time_ns, end_ns);
}

void track_walk__exit(struct track_walk *w)
{
	array_free(&w->open);
}

/* ---- counters ------------------------------------------------------------------------------- */

#define MAX_POINTS	50000		/* longer curves are thinned out to at most twice this
					 * number of points */

struct change {
	uint64_t time_ns;
	uint64_t by;			/* change, modulo 2^64 */
};

typedef ARRAY(struct change) changes_t;

static unsigned int feature__nr_counters(const struct feature *f)
{
	unsigned int nr = 0;

	while (f->counters && f->counters->names[nr])
		nr++;
	return nr;
}

unsigned int timeline__nr_counters(void)
{
	unsigned int i, nr = NR_COUNTERS;

	for (i = 0; features[i]; i++)
		nr += feature__nr_counters(features[i]);
	return nr;
}

/*
 * Finds the feature of a counter, and changes *@what to the counter's index among the feature's
 * counters. Return: the feature's counters; NULL if *@what is an enum timeline_counter, which stays
 * unchanged.
 */
static const struct feature_counters *counters__of(unsigned int *what)
{
	unsigned int i, nr, left = *what - NR_COUNTERS;

	for (i = 0; features[i] && *what >= NR_COUNTERS; i++) {
		nr = feature__nr_counters(features[i]);
		if (left < nr) {
			*what = left;
			return features[i]->counters;
		}
		left -= nr;
	}
	return NULL;
}

const char *timeline_counter__name(unsigned int what)
{
	static const char *const names[NR_COUNTERS] = {
		[COUNTER_IN_FLIGHT] = "work in flight",
		[COUNTER_COPYING] = "bytes being copied",
	};
	const struct feature_counters *counters = counters__of(&what);

	return counters ? counters->names[what] : names[what];
}

#define DIGIT_BITS	12

struct digit {
	uint64_t first_ns;
	unsigned int shift;
};

static size_t change__digit(const void *v, const void *ctx)
{
	const struct change *c = v;
	const struct digit *digit = ctx;

	return (c->time_ns - digit->first_ns) >> digit->shift & ((1 << DIGIT_BITS) - 1);
}

/* Sorts by time, with a radix sort that starts at the lowest digit. */
static int changes__sort(changes_t *changes)
{
	struct digit digit = { .first_ns = UINT64_MAX };
	uint64_t last_ns = 0;
	void *spare = NULL;
	int err = 0;
	size_t i;

	for (i = 0; i < changes->nr; i++) {
		digit.first_ns = min_t(uint64_t, digit.first_ns, changes->v[i].time_ns);
		last_ns = max_t(uint64_t, last_ns, changes->v[i].time_ns);
	}
	for (; !err && digit.shift < 64 && (last_ns - digit.first_ns) >> digit.shift;
	     digit.shift += DIGIT_BITS)
		err = distribute((void **)&changes->v, &spare, changes->nr, sizeof(*changes->v),
				 1 << DIGIT_BITS, change__digit, &digit);
	free(spare);
	changes->cap = changes->nr;
	return err;
}

static int changes__add(changes_t *changes, uint64_t from_ns, uint64_t to_ns, uint64_t by)
{
	return array_push(changes, ((struct change){ from_ns, by })) ?:
	       array_push(changes, ((struct change){ to_ns, -by }));
}

static int timeline__changes(const struct timeline *t, const struct session *s, uint32_t gpu,
			     enum timeline_counter what, changes_t *changes)
{
	int err = 0;

	array_each_while(&t->device, e, !err) {
		if (s->model.streams.v[e->stream].gpu != gpu)
			continue;
		/* Device clocks are not exact: work may seem to begin before its launch. */
		if (what == COUNTER_IN_FLIGHT && !e->orphan)
			err = changes__add(changes, min_t(uint64_t, e->launch_ns, e->start_ns),
					   e->end_ns, 1);
		else if (what == COUNTER_COPYING && s->model.leaves.v[e->leaf].kind == LEAF_MEMCPY)
			err = changes__add(changes, e->start_ns, e->end_ns, e->bytes);
	}
	return err ?: changes__sort(changes);
}

int timeline__count(const struct timeline *t, const struct session *s, uint32_t gpu,
		    unsigned int what, counter_points_t *points)
{
	uint64_t width_ns = 0, value = 0;
	struct counter_point skipped;
	changes_t changes = { 0 };
	bool has_skipped = false;
	size_t i;
	int err;
	const struct feature_counters *counters = counters__of(&what);

	if (counters)
		return counters->count(s, gpu, what, points);
	err = timeline__changes(t, s, gpu, what, &changes);
	if (changes.nr > MAX_POINTS)
		width_ns =
			(changes.v[changes.nr - 1].time_ns - changes.v[0].time_ns) / MAX_POINTS + 1;
	for (i = 0; i < changes.nr && !err; i++) {
		struct counter_point now = { changes.v[i].time_ns, 0 }, *last;

		value += changes.v[i].by;
		now.value = value;
		/* All changes with one timestamp make one point. */
		if (i + 1 < changes.nr && changes.v[i + 1].time_ns == now.time_ns)
			continue;
		last = points->nr ? &points->v[points->nr - 1] : NULL;
		if (last && now.time_ns - last->time_ns < width_ns) {
			last->value = max_t(uint64_t, last->value, now.value);
			skipped = now;
			has_skipped = true;
			continue;
		}
		/* Add the value after a peak, unless a later point replaces it. */
		if (has_skipped && skipped.time_ns > last->time_ns)
			err = array_push(points, skipped);
		has_skipped = false;
		err = err ?: array_push(points, now);
	}
	if (!err && has_skipped)
		err = array_push(points, skipped);
	array_free(&changes);
	return err;
}

/* ---- values of features ---------------------------------------------------------------------- */

int meter_walk__next(struct meter_walk *w, const struct session *s, bool points,
		     struct meter *meter)
{
	int err = 0;

	for (; features[w->feature] && !err; w->nr = 0, w->feature++) {
		*meter = (struct meter){ 0 };
		if (features[w->feature]->meter)
			err = features[w->feature]->meter(s, w->nr++, points, meter);
		if (err)
			return err;
	}
	return 0;
}

bool timeline__has_gpu(const struct session *s, uint32_t gpu)
{
	struct meter_walk meters = { 0 };
	struct meter meter;
	size_t i;

	while (meter_walk__next(&meters, s, false, &meter) > 0)
		if (meter.gpu == gpu && meter.first_ns != UINT64_MAX)
			return true;
	for (i = 0; features[i]; i++)
		if (features[i]->counters && features[i]->counters->has_gpu(s, gpu))
			return true;
	return gpu__has_work(&s->model.gpus.list.v[gpu]);
}
