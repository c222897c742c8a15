// SPDX-License-Identifier: GPL-3.0-or-later
#include "write/chrome.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "json_out.h"
#include "util.h"

/* A node of a call path in Chrome's form: each frame names its parent. */
struct stack_node {
	struct stack_node_key {
		uint64_t parent;	/* 0: no parent */
		const char *name;
	} key;
	uint64_t id;			/* counted from 1 */
	UT_hash_handle hh;
};

struct writer {
	struct json_out json;
	const struct session *s;
	const struct timeline *t;
	uint64_t next_flow;
	struct stack_node *nodes;
	struct arena arena;
	uint64_t *stack_ids;		/* for each chain: the id of its stack */
	char **shapes;			/* for each leaf: the JSON members of its shape, or NULL */
};

/* Prints {"ph":"X","pid":1,"tid":2 and leaves the object open. */
static void put_event(struct writer *w, const char *ph, uint64_t pid, uint64_t tid)
{
	struct json_out *j = &w->json;

	json_out__line(j, 0);
	json_out__open(j, '{');
	json_out__member_word(j, "ph", ph);
	json_out__member_u64(j, "pid", pid);
	json_out__member_u64(j, "tid", tid);
}

static void put_ts(struct writer *w, uint64_t ns)
{
	json_out__member_thousandths(&w->json, "ts", ns - w->t->first_ns);
}

/* Prints {"ph":"M",...,"name":"thread_name","args":{"name": and leaves both objects open. */
static void put_metadata(struct writer *w, uint64_t pid, uint64_t tid, const char *name,
			 const char *arg)
{
	struct json_out *j = &w->json;

	put_event(w, "M", pid, tid);
	json_out__member_word(j, "name", name);
	json_out__key(j, "args");
	json_out__open(j, '{');
	json_out__key(j, arg);
}

/* Closes the arguments of an event, and the event. */
static void end_event(struct writer *w)
{
	json_out__close(&w->json, '}');
	json_out__close(&w->json, '}');
}

static uint64_t writer__gpu_pid(const struct writer *w, uint32_t stream)
{
	return PID_GPU + w->s->model.streams.v[stream].gpu;
}

static int writer__number_stacks(struct writer *w)
{
	uint64_t nr_nodes = 0;
	struct stack_node *node;
	bool oom = false;
	size_t i;
	uint32_t k;

	for (i = 0; i < w->s->model.chains.nr; i++) {
		const struct stack *stack = w->s->model.chains.v[i].stack;
		uint64_t parent = 0;

		for (k = 0; k < stack->nr; k++) {
			struct stack_node_key key = { parent, stack->frames[k]->name };

			HASH_FIND(hh, w->nodes, &key, sizeof(key), node);
			if (!node) {
				node = arena__alloc(&w->arena, sizeof(*node));
				if (!node)
					return -ENOMEM;
				node->key = key;
				node->id = ++nr_nodes;
				HASH_ADD(hh, w->nodes, key, sizeof(key), node);
				if (oom)
					return -ENOMEM;
			}
			parent = node->id;
		}
		w->stack_ids[i] = parent;
	}
	return 0;
}

static void write_stacks(struct writer *w)
{
	const struct stack_node *node;
	struct json_out *j = &w->json;

	json_out__line(j, 0);
	json_out__key(j, "stackFrames");
	json_out__open(j, '{');
	for (node = w->nodes; node; node = node->hh.next) {
		json_out__line(j, 0);
		json_out__key_u64(j, node->id);
		json_out__open(j, '{');
		if (node->key.parent) {
			json_out__key(j, "parent");
			json_out__open_string(j);
			json_out__add_u64(j, node->key.parent);
			json_out__close_string(j);
		}
		json_out__key(j, "name");
		json_out__string(j, node->key.name);
		json_out__close(j, '}');
	}
	json_out__close(j, '}');
}

static void put_u64(struct writer *w, const char *key, uint64_t n)
{
	json_out__member_u64(&w->json, key, n);
}

static void write_other_data(struct writer *w, const struct timeline *t)
{
	const struct session *s = w->s;
	struct json_out *j = &w->json;
	size_t i;

	json_out__line(j, 0);
	json_out__key(j, "otherData");
	json_out__open(j, '{');
	json_out__key(j, "source");
	json_out__open_string(j);
	for (i = 0; i < s->model.inputs.nr; i++) {
		json_out__add(j, i ? ", " : "");
		json_out__add(j, s->model.inputs.v[i].reader->name);
	}
	json_out__close_string(j);
	json_out__member_word(j, "clock", s->model.realtime ? "CLOCK_REALTIME" : "CLOCK_MONOTONIC");
	/*
	 * The time is written as a string: JSON numbers lose digits beyond 2^53, which is 104 days
	 * of uptime in ns.
	 */
	json_out__key(j, "base_ns");
	json_out__open_string(j);
	json_out__add_u64(j, t->first_ns);
	json_out__close_string(j);
	if (!t->has_calls)
		json_out__member_word(j, "host_slices", "moments of launches, not durations");
	put_u64(w, "launches", s->sums.loss.nr_launches);
	put_u64(w, "matched", s->sums.loss.nr_matched);
	put_u64(w, "unmatched", loss__unmatched(&s->sums.loss));
	put_u64(w, "lost", loss__lost(&s->sums.loss));
	put_u64(w, "without_times", t->nr_untimed);
	json_out__close(j, '}');
}

/* Prints " on node1", if there are several hosts. */
static void put_host(struct writer *w, uint32_t proc)
{
	const char *host = model__host(&w->s->model, proc);

	json_out__add(&w->json, *host ? " on " : "");
	json_out__add(&w->json, host);
}

/* Puts the rank into the name, too, for viewers that order processes by name. */
static void put_rank(struct writer *w, uint32_t proc)
{
	uint32_t rank = model__rank(&w->s->model, proc);

	if (rank == NO_INDEX)
		return;
	json_out__add(&w->json, "rank ");
	json_out__add_u64(&w->json, rank);
	json_out__add(&w->json, ": ");
}

static int write_process_labels(struct writer *w, uint32_t proc)
{
	const struct model *m = &w->s->model;
	char *labels;

	if (model__rank(m, proc) != NO_INDEX) {
		put_metadata(w, w->t->pids[proc], 0, "process_sort_index", "sort_index");
		json_out__u64(&w->json, timeline__sort_index(w->s, proc));
		end_event(w);
	}
	if (!labels__any(model__labels(m, proc)))
		return 0;
	labels = model__process_labels(m, proc);
	if (!labels)
		return -ENOMEM;
	put_metadata(w, w->t->pids[proc], 0, "process_labels", "labels");
	json_out__string(&w->json, labels);
	end_event(w);
	free(labels);
	return 0;
}

static int write_process(struct writer *w, uint32_t proc)
{
	struct json_out *j = &w->json;

	put_metadata(w, w->t->pids[proc], 0, "process_name", "name");
	json_out__open_string(j);
	put_rank(w, proc);
	json_out__add(j, model__proc_name(&w->s->model, proc));
	json_out__add(j, " (pid ");
	json_out__add_u64(j, w->s->model.machine.procs.v[proc].pid);
	put_host(w, proc);
	json_out__add(j, ")");
	json_out__close_string(j);
	end_event(w);
	return write_process_labels(w, proc);
}

static void write_host_thread(struct writer *w, uint32_t proc, uint32_t thread)
{
	const struct session *s = w->s;
	const char *comm = "unknown thread";

	if (thread != NO_INDEX)
		comm = s->model.threads.v[thread].comm ?: model__proc_name(&s->model, proc);
	put_metadata(w, w->t->pids[proc], timeline__tid(w->s, thread), "thread_name", "name");
	json_out__string(&w->json, comm);
	end_event(w);
}

static void write_stream(struct writer *w, uint32_t idx)
{
	const struct session *s = w->s;
	const struct stream *stream = &s->model.streams.v[idx];
	struct json_out *j = &w->json;
	uint32_t lane;

	for (lane = 0; lane < w->t->nr_lanes[idx]; lane++) {
		uint32_t tid = w->t->first_track[idx] + lane;

		put_metadata(w, writer__gpu_pid(w, idx), tid, "thread_name", "name");
		json_out__open_string(j);
		if (stream->known) {
			json_out__add(j, "stream ");
			json_out__add_u64(j, stream->stream);
			json_out__add(j, " context ");
			json_out__add_u64(j, stream->context);
		} else {
			json_out__add(j, "unknown stream");
		}
		if (lane) {
			json_out__add(j, " +");
			json_out__add_u64(j, lane);
		}
		json_out__add(j, " (");
		json_out__add(j, model__proc_name(&s->model, stream->proc));
		json_out__add(j, " ");
		json_out__add_u64(j, s->model.machine.procs.v[stream->proc].pid);
		put_host(w, stream->proc);
		json_out__add(j, ")");
		json_out__close_string(j);
		end_event(w);
		put_metadata(w, writer__gpu_pid(w, idx), tid, "thread_sort_index", "sort_index");
		json_out__u64(j, tid);
		end_event(w);
	}
}

static void write_gpus(struct writer *w)
{
	const struct session *s = w->s;
	struct json_out *j = &w->json;
	size_t i;

	for (i = 0; i < s->model.gpus.list.nr; i++) {
		const struct gpu *gpu = &s->model.gpus.list.v[i];
		uint64_t pid = PID_GPU + i;

		if (!timeline__has_gpu(w->s, i))
			continue;
		put_metadata(w, pid, 0, "process_name", "name");
		json_out__open_string(j);
		json_out__add(j, "GPU ");
		json_out__add_u64(j, gpu->number);
		json_out__add(j, gpu->name ? " " : "");
		json_out__add(j, gpu->name ? gpu->name : "");
		json_out__close_string(j);
		end_event(w);
		put_metadata(w, pid, 0, "process_sort_index", "sort_index");
		json_out__u64(j, gpu->number);
		end_event(w);
	}
}

/* Prints {"ph":"X",...,"cat":"launch","name":"cudaLaunchKernel" and leaves the object open. */
static void put_slice(struct writer *w, const struct timeline_track *track, uint64_t time_ns,
		      uint64_t end_ns, const char *category, const char *name)
{
	struct json_out *j = &w->json;

	put_event(w, "X", w->t->pids[track->proc], timeline__tid(w->s, track->thread));
	put_ts(w, time_ns);
	json_out__member_thousandths(j, "dur", end_ns - time_ns);
	json_out__member_word(j, "cat", category);
	json_out__key(j, "name");
	json_out__string(j, name);
}

/* Marks a slice that --from or --to has cut. */
static void put_part(struct json_out *j, bool is_part)
{
	if (is_part)
		json_out__member_u64(j, "part", 1);
}

/* Prints "sf":1,"args":{"correlation":2,"caller":"main" and leaves "args" open. */
static void put_call(struct writer *w, uint64_t key, uint32_t chain)
{
	const struct stack *stack = chain != NO_INDEX ? w->s->model.chains.v[chain].stack : NULL;
	struct json_out *j = &w->json;

	if (stack)
		json_out__member_u64(j, "sf", w->stack_ids[chain]);
	json_out__key(j, "args");
	json_out__open(j, '{');
	json_out__member_u64(j, "correlation", JOIN_KEY_ID(key));
	if (stack && stack->nr > 1) {
		json_out__key(j, "caller");
		json_out__string(j, stack->frames[stack->nr - 2]->name);
	}
}

/* Writes a launch that is not a slice. */
static void write_launch(struct writer *w, const struct track_walk *walk)
{
	const struct host_event *e = walk->event;
	const struct stack *stack = w->s->model.chains.v[e->chain].stack;

	put_slice(w, walk->track, walk->time_ns, walk->end_ns, "launch",
		  stack->frames[stack->nr - 1]->name);
	put_call(w, e->key, e->chain);
	end_event(w);
}

static void write_slice(struct writer *w, const struct track_walk *walk)
{
	const struct slice *slice = walk->slice;

	put_slice(w, walk->track, walk->time_ns, walk->end_ns, slice__category(slice), slice->name);
	if (slice->kind == SLICE_API) {
		put_call(w, slice->key, slice->chain);
	} else {
		json_out__key(&w->json, "args");
		json_out__open(&w->json, '{');
	}
	put_part(&w->json, slice->is_part);
	end_event(w);
}

/* Writes a CPU sample as an instant event, because viewers do not show the format's own samples. */
static void write_sample(struct writer *w, const struct host_event *e)
{
	const struct stack *stack = w->s->model.chains.v[e->chain].stack;
	struct json_out *j = &w->json;

	put_event(w, "i", w->t->pids[JOIN_KEY_PROC(e->key)], timeline__tid(w->s, e->thread));
	put_ts(w, e->time_ns);
	json_out__member_word(j, "s", "t");
	json_out__member_word(j, "cat", "cpu");
	json_out__key(j, "name");
	json_out__string(j, stack->frames[stack->nr - 1]->name);
	json_out__member_u64(j, "sf", w->stack_ids[e->chain]);
	json_out__close(j, '}');
}

/* Writes a track's events. Return: 0 or -ENOMEM. */
static int write_track(struct writer *w, const struct timeline_track *track)
{
	struct track_walk walk = { .t = w->t, .track = track };
	int step;

	write_host_thread(w, track->proc, track->thread);
	do {
		step = track_walk__next(&walk);
		if (step == TRACK_SAMPLE)
			write_sample(w, walk.event);
		else if (step == TRACK_BEGIN && walk.slice)
			write_slice(w, &walk);
		else if (step == TRACK_BEGIN)
			write_launch(w, &walk);
	} while (step >= 0 && step != TRACK_DONE);
	track_walk__exit(&walk);
	return min_t(int, step, 0);
}

/* Writes the beginning or the end of a process's capture window. */
static void write_window_edge(struct writer *w, const struct captured_window *window,
			      const char *ph, uint64_t time_ns)
{
	struct json_out *j = &w->json;

	put_event(w, ph, w->t->pids[window->proc], 0);
	put_ts(w, time_ns);
	json_out__member_word(j, "cat", "window");
	json_out__key(j, "name");
	json_out__open_string(j);
	json_out__add(j, "window ");
	json_out__add_u64(j, window->number);
	json_out__close_string(j);
	json_out__member_u64(j, "id", window->number);
	json_out__key(j, "args");
	json_out__open(j, '{');
	json_out__key(j, "launches");
	json_out__u64(j, window->nr_launches);
	end_event(w);
}

/* Writes the capture windows of the processes that have tracks. */
static void write_windows(struct writer *w)
{
	const struct captured *c = &w->s->model.captured;

	array_each(&c->windows, window) {
		if (!w->t->pids[window->proc] ||
		    !captured_window__passes(window, w->s->opts.filter))
			continue;
		write_window_edge(w, window, "b", window->open_ns);
		write_window_edge(w, window, "e", captured_window__close(window));
	}
}

static int write_tracks(struct writer *w, const struct timeline *t)
{
	int err = 0;
	size_t i;

	for (i = 0; i < t->tracks.nr && !err; i++) {
		if (!i || t->tracks.v[i].proc != t->tracks.v[i - 1].proc)
			err = write_process(w, t->tracks.v[i].proc);
		err = err ?: write_track(w, &t->tracks.v[i]);
	}
	return err;
}

static void write_flow(struct writer *w, const char *ph, uint64_t pid, uint64_t tid, uint64_t ns)
{
	struct json_out *j = &w->json;

	put_event(w, ph, pid, tid);
	put_ts(w, ns);
	json_out__member_word(j, "cat", "launch");
	json_out__member_word(j, "name", "launch");
	json_out__member_u64(j, "id", w->next_flow);
	if (*ph == 'f')
		json_out__member_word(j, "bp", "e");
	json_out__close(j, '}');
}

/*
 * Return: the name of the function that called the API, or of the API function if it is the only
 * frame.
 */
static const char *stack__caller(const struct stack *stack)
{
	return stack->frames[stack->nr > 1 ? stack->nr - 2 : 0]->name;
}

static void put_dim(struct json_out *j, const char *key, const uint32_t dim[3])
{
	int i;

	json_out__key(j, key);
	json_out__open(j, '[');
	for (i = 0; i < 3; i++)
		json_out__u64(j, dim[i]);
	json_out__close(j, ']');
}

static void put_shape(struct json_out *j, const struct xpu_shape *shape,
		      const struct xpu_device_limits *limits)
{
	double occupancy = shape__occupancy(shape, limits);

	put_dim(j, "grid", shape->grid);
	put_dim(j, "block", shape->block);
	if (shape->cluster[0])
		put_dim(j, "cluster", shape->cluster);
	json_out__member_u64(j, "registers per thread", shape->registers);
	json_out__member_u64(j, "shared memory",
			     (uint64_t)shape->static_bytes + shape->dynamic_bytes);
	json_out__member_u64(j, "local memory per thread", shape->local_bytes);
	if (occupancy >= 0)
		json_out__member_u64(j, "theoretical occupancy %", 100 * occupancy + 0.5);
}

/*
 * Makes the JSON members of a leaf's shape, named as in torch.profiler. Return: NULL if memory is
 * short.
 */
static char *make_shape(const struct model *m, const struct leaf *leaf)
{
	char *text = NULL;
	struct json_out j;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return NULL;
	if (!json_out__init(&j, f, ESCAPE_JSON))
		put_shape(&j, shapes__at(&m->shapes, leaf->shape),
			  &m->gpus.list.v[leaf->gpu].limits);
	json_out__exit(&j);
	if (fclose(f) || !text || !len) {
		free(text);
		return NULL;
	}
	return text;
}

/*
 * Makes the JSON members of all shapes in advance, because there are few shapes and many events.
 * Return: 0 or -ENOMEM.
 */
static int writer__make_shapes(struct writer *w)
{
	const struct model *m = &w->s->model;
	size_t i;

	w->shapes = calloc(m->leaves.nr + 1, sizeof(*w->shapes));
	for (i = 0; w->shapes && i < m->leaves.nr; i++) {
		if (m->leaves.v[i].kind != LEAF_KERNEL ||
		    !shapes__at(&m->shapes, m->leaves.v[i].shape))
			continue;
		w->shapes[i] = make_shape(m, &m->leaves.v[i]);
		if (!w->shapes[i])
			return -ENOMEM;
	}
	return w->shapes ? 0 : -ENOMEM;
}

static void writer__free_shapes(struct writer *w)
{
	size_t i;

	for (i = 0; w->shapes && i < w->s->model.leaves.nr; i++)
		free(w->shapes[i]);
	free(w->shapes);
}

static void write_device_event(struct writer *w, const struct device_event *e)
{
	const struct leaf *leaf = &w->s->model.leaves.v[e->leaf];
	uint64_t pid = writer__gpu_pid(w, e->stream);
	uint64_t tid = w->t->first_track[e->stream] + e->lane;
	struct json_out *j = &w->json;

	put_event(w, "X", pid, tid);
	put_ts(w, e->start_ns);
	json_out__member_thousandths(j, "dur", e->end_ns - e->start_ns);
	json_out__member_word(j, "cat", leaf_kind__name(leaf->kind));
	json_out__key(j, "name");
	json_out__open_string(j);
	json_out__add(j, leaf_kind__prefix(leaf->kind));
	json_out__add(j, leaf->name);
	json_out__close_string(j);
	if (e->made != NO_INDEX || e->chain != NO_INDEX)
		json_out__member_u64(j, "sf", w->stack_ids[e->made != NO_INDEX ? e->made :
							   e->chain]);
	json_out__key(j, "args");
	json_out__open(j, '{');
	json_out__member_u64(j, "correlation", JOIN_KEY_ID(e->key));
	if (e->made != NO_INDEX) {
		json_out__key(j, "captured_at");
		json_out__string(j, stack__caller(w->s->model.chains.v[e->made].stack));
	}
	if (leaf->kind != LEAF_KERNEL && !e->began_before)
		json_out__member_u64(j, "bytes", e->bytes);
	put_part(j, e->is_part);
	if (w->shapes[e->leaf])
		json_out__literal(j, w->shapes[e->leaf]);
	if (e->orphan) {
		json_out__member_word(j, "launch", "not in the recording");
	}
	end_event(w);
	if (e->orphan)
		return;
	w->next_flow++;
	write_flow(w, "s", w->t->pids[JOIN_KEY_PROC(e->key)], timeline__tid(w->s, e->thread),
		   e->launch_ns);
	write_flow(w, "f", pid, tid, e->start_ns);
}

static int write_counters(struct writer *w)
{
	struct json_out *j = &w->json;
	uint32_t gpu, what;
	int err = 0;
	size_t i;

	for (gpu = 0; gpu < w->s->model.gpus.list.nr; gpu++) {
		for (what = 0; what < timeline__nr_counters() && !err; what++) {
			counter_points_t points = { 0 };

			err = timeline__count(w->t, w->s, gpu, what, &points);
			for (i = 0; i < points.nr && !err; i++) {
				put_event(w, "C", PID_GPU + gpu, 0);
				put_ts(w, points.v[i].time_ns);
				json_out__member_word(j, "name", timeline_counter__name(what));
				json_out__key(j, "args");
				json_out__open(j, '{');
				json_out__member_u64(j, "value", points.v[i].value);
				end_event(w);
			}
			array_free(&points);
		}
	}
	return err;
}

static void write_meter(struct writer *w, const struct meter *m)
{
	struct json_out *j = &w->json;
	char value[32];
	size_t i;

	for (i = 0; i < m->points.nr; i++) {
		put_event(w, "C", PID_GPU + m->gpu, 0);
		put_ts(w, m->points.v[i].time_ns);
		json_out__key(j, "name");
		json_out__string(j, m->title);
		json_out__key(j, "args");
		json_out__open(j, '{');
		json_out__key(j, "value");
		snprintf(value, sizeof(value), "%.7g", m->points.v[i].value);
		json_out__literal(j, value);
		end_event(w);
	}
}

static int write_meters(struct writer *w)
{
	struct meter_walk walk = { 0 };
	struct meter meter;
	int err;

	do {
		err = meter_walk__next(&walk, w->s, true, &meter);
		if (err > 0)
			write_meter(w, &meter);
		array_free(&meter.points);
	} while (err > 0);
	return err;
}

int chrome__write(struct timeline *t, const struct session *s, FILE *f)
{
	struct writer w = { .s = s, .t = t };
	struct json_out *j = &w.json;
	int err = -ENOMEM;
	size_t i;

	/* Allocate one element more than needed, because calloc(0) may return NULL. */
	w.stack_ids = calloc(s->model.chains.nr + 1, sizeof(*w.stack_ids));
	if (!w.stack_ids)
		goto out;
	err = json_out__init(j, f, ESCAPE_JSON);
	err = err ?: timeline__prepare(t, s);
	err = err ?: writer__number_stacks(&w) ?: writer__make_shapes(&w);
	if (err)
		goto out;

	json_out__open(j, '{');
	json_out__member_word(j, "displayTimeUnit", "ns");
	write_other_data(&w, t);
	write_stacks(&w);
	json_out__line(j, 0);
	json_out__key(j, "traceEvents");
	json_out__open(j, '[');
	write_gpus(&w);
	for (i = 0; i < s->model.streams.nr; i++)
		write_stream(&w, i);
	err = write_tracks(&w, t);
	write_windows(&w);
	for (i = 0; i < t->device.nr; i++)
		write_device_event(&w, &t->device.v[i]);
	err = err ?: write_counters(&w) ?: write_meters(&w);
	json_out__end_line(j);
	json_out__close(j, ']');
	json_out__close(j, '}');
	json_out__end_line(j);
out:
	json_out__exit(j);
	HASH_CLEAR(hh, w.nodes);
	arena__free(&w.arena);
	writer__free_shapes(&w);
	free(w.stack_ids);
	return err;
}
