// SPDX-License-Identifier: GPL-3.0-or-later
#include "write/chrome.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "escape.h"
#include "hash.h"
#include "util.h"

/* A call path as the format has it: each frame names its parent. */
struct stack_node {
	struct stack_node_key {
		uint64_t parent;	/* 0: none */
		const char *name;
	} key;
	uint64_t id;			/* from 1 */
	UT_hash_handle hh;
};

/* ---- JSON ----------------------------------------------------------------------------------- */

#define BUFFER_BYTES	(64 * 1024)

struct writer {
	FILE *f;
	char *buf;			/* what is yet to be written: the stream is too slow for bits */
	size_t nr;
	const struct session *s;
	bool first;			/* no event yet, so no comma */
	const struct timeline *t;
	uint64_t next_flow;
	struct stack_node *nodes;
	struct arena arena;
	uint64_t *stack_ids;		/* by chain */
};

static void writer__flush(struct writer *w)
{
	fwrite(w->buf, 1, w->nr, w->f);
	w->nr = 0;
}

static void put_many(struct writer *w, const char *s, size_t len)
{
	writer__flush(w);
	if (len > BUFFER_BYTES) {
		fwrite(s, 1, len, w->f);
		return;
	}
	memcpy(w->buf, s, len);
	w->nr = len;
}

/* In the caller, where most lengths are constants. */
static inline __attribute__((always_inline)) void put_bytes(struct writer *w, const char *s, size_t len)
{
	if (len > BUFFER_BYTES - w->nr) {
		put_many(w, s, len);
		return;
	}
	memcpy(w->buf + w->nr, s, len);
	w->nr += len;
}

static inline __attribute__((always_inline)) void put(struct writer *w, const char *s)
{
	put_bytes(w, s, strlen(s));
}

/* printf is what takes the time otherwise, with millions of numbers. */
static void put_u64(struct writer *w, uint64_t n)
{
	char digits[20], *p = digits + sizeof(digits);

	do {
		*--p = '0' + n % 10;
		n /= 10;
	} while (n);
	put_bytes(w, p, digits + sizeof(digits) - p);
}

static void put_us(struct writer *w, uint64_t ns)
{
	char fraction[4] = { '.', '0' + ns / 100 % 10, '0' + ns / 10 % 10, '0' + ns % 10 };

	put_u64(w, ns / 1000);
	put_bytes(w, fraction, sizeof(fraction));
}

static void put_escaped(struct writer *w, const char *s)
{
	char out[ESCAPE_MAX];
	size_t len;

	for (;;) {
		len = escape__plain(s);
		put_bytes(w, s, len);
		s += len;
		len = escape__next(&s, ESCAPE_JSON, out);
		if (!len)
			return;
		put_bytes(w, out, len);
	}
}

static void put_string(struct writer *w, const char *s)
{
	put(w, "\"");
	put_escaped(w, s);
	put(w, "\"");
}

/* {"ph":"X","pid":1,"tid":2,  the caller goes on behind the comma. */
static void put_event(struct writer *w, const char *ph, uint64_t pid, uint64_t tid)
{
	put(w, w->first ? "\n{\"ph\":\"" : ",\n{\"ph\":\"");
	w->first = false;
	put(w, ph);
	put(w, "\",\"pid\":");
	put_u64(w, pid);
	put(w, ",\"tid\":");
	put_u64(w, tid);
	put(w, ",");
}

static void put_ts(struct writer *w, uint64_t ns)
{
	put(w, "\"ts\":");
	put_us(w, ns - w->t->first_ns);
	put(w, ",");
}

/* {"ph":"M",...,"name":"thread_name","args":{"name":  the caller closes it. */
static void put_metadata(struct writer *w, uint64_t pid, uint64_t tid, const char *name,
			 const char *arg)
{
	put_event(w, "M", pid, tid);
	put(w, "\"name\":\"");
	put(w, name);
	put(w, "\",\"args\":{\"");
	put(w, arg);
	put(w, "\":");
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
	const char *comma = "\n";

	put(w, "\"stackFrames\":{");
	for (node = w->nodes; node; node = node->hh.next) {
		put(w, comma);
		comma = ",\n";
		put(w, "\"");
		put_u64(w, node->id);
		put(w, "\":{");
		if (node->key.parent) {
			put(w, "\"parent\":\"");
			put_u64(w, node->key.parent);
			put(w, "\",");
		}
		put(w, "\"name\":");
		put_string(w, node->key.name);
		put(w, "}");
	}
	put(w, "},\n");
}

static void write_other_data(struct writer *w, const struct timeline *t)
{
	const struct session *s = w->s;
	size_t i;

	put(w, "\"otherData\":{\"source\":");
	put(w, "\"");
	for (i = 0; i < s->model.inputs.nr; i++) {
		put(w, i ? ", " : "");
		put_escaped(w, s->model.inputs.v[i].reader->name);
	}
	/* As a string: a number loses digits beyond 2^53, which is 104 days of uptime. */
	put(w, s->model.realtime ? "\",\"clock\":\"CLOCK_REALTIME\",\"base_ns\":\"" :
			     "\",\"clock\":\"CLOCK_MONOTONIC\",\"base_ns\":\"");
	put_u64(w, t->first_ns);
	put(w, t->has_calls ? "\",\"launches\":" :
	       "\",\"host_slices\":\"moments of launches, not durations\",\"launches\":");
	put_u64(w, s->sums.loss.nr_launches);
	put(w, ",\"matched\":");
	put_u64(w, s->sums.loss.nr_matched);
	put(w, ",\"unmatched\":");
	put_u64(w, loss__unmatched(&s->sums.loss));
	put(w, ",\"lost\":");
	put_u64(w, loss__lost(&s->sums.loss));
	put(w, ",\"without_times\":");
	put_u64(w, t->nr_untimed);
	put(w, "},\n");
}

/* " on node1", where there are several. */
static void put_host(struct writer *w, uint32_t proc)
{
	const char *host = model__host(&w->s->model, proc);

	put(w, *host ? " on " : "");
	put_escaped(w, host);
}

static void write_process(struct writer *w, uint32_t proc)
{
	put_metadata(w, w->t->pids[proc], 0, "process_name", "name");
	put(w, "\"");
	put_escaped(w, model__proc_name(&w->s->model, proc));
	put(w, " (pid ");
	put_u64(w, w->s->model.machine.procs.v[proc].pid);
	put_host(w, proc);
	put(w, ")\"}}");
}

static void write_host_thread(struct writer *w, uint32_t proc, uint32_t thread)
{
	const struct session *s = w->s;
	const char *comm = "unknown thread";

	if (thread != NO_INDEX)
		comm = s->model.threads.v[thread].comm ?: model__proc_name(&s->model, proc);
	put_metadata(w, w->t->pids[proc], timeline__tid(w->s, thread), "thread_name", "name");
	put_string(w, comm);
	put(w, "}}");
}

static void write_stream(struct writer *w, uint32_t idx)
{
	const struct session *s = w->s;
	const struct stream *stream = &s->model.streams.v[idx];
	uint32_t lane;

	for (lane = 0; lane < w->t->nr_lanes[idx]; lane++) {
		uint32_t tid = w->t->first_track[idx] + lane;

		put_metadata(w, writer__gpu_pid(w, idx), tid, "thread_name", "name");
		if (stream->known) {
			put(w, "\"stream ");
			put_u64(w, stream->stream);
			put(w, " context ");
			put_u64(w, stream->context);
		} else {
			put(w, "\"unknown stream");
		}
		if (lane) {
			put(w, " +");
			put_u64(w, lane);
		}
		put(w, " (");
		put_escaped(w, model__proc_name(&s->model, stream->proc));
		put(w, " ");
		put_u64(w, s->model.machine.procs.v[stream->proc].pid);
		put_host(w, stream->proc);
		put(w, ")\"}}");
		put_metadata(w, writer__gpu_pid(w, idx), tid, "thread_sort_index", "sort_index");
		put_u64(w, tid);
		put(w, "}}");
	}
}

static void write_gpus(struct writer *w)
{
	const struct session *s = w->s;
	size_t i;

	for (i = 0; i < s->model.gpus.list.nr; i++) {
		const struct gpu *gpu = &s->model.gpus.list.v[i];
		uint64_t pid = PID_GPU + i;

		if (!gpu->nr_works)
			continue;
		put_metadata(w, pid, 0, "process_name", "name");
		put(w, "\"GPU ");
		put_u64(w, gpu->number);
		put(w, gpu->name ? " " : "");
		put_escaped(w, gpu->name ? gpu->name : "");
		put(w, "\"}}");
		put_metadata(w, pid, 0, "process_sort_index", "sort_index");
		put_u64(w, gpu->number);
		put(w, "}}");
	}
}

/* {"ph":"X",...,"cat":"launch","name":"cudaLaunchKernel",  the caller goes on behind the comma. */
static void put_slice(struct writer *w, const struct timeline_track *track, uint64_t time_ns,
		      uint64_t end_ns, const char *category, const char *name)
{
	put_event(w, "X", w->t->pids[track->proc], timeline__tid(w->s, track->thread));
	put_ts(w, time_ns);
	put(w, "\"dur\":");
	put_us(w, end_ns - time_ns);
	put(w, ",\"cat\":\"");
	put(w, category);
	put(w, "\",\"name\":");
	put_string(w, name);
	put(w, ",");
}

/* "sf":1,"args":{"correlation":2,"caller":"main"  the caller closes it. */
static void put_call(struct writer *w, uint64_t key, uint32_t chain)
{
	const struct stack *stack = chain != NO_INDEX ? w->s->model.chains.v[chain].stack : NULL;

	if (stack) {
		put(w, "\"sf\":");
		put_u64(w, w->stack_ids[chain]);
		put(w, ",");
	}
	put(w, "\"args\":{\"correlation\":");
	put_u64(w, JOIN_KEY_ID(key));
	if (stack && stack->nr > 1) {
		put(w, ",\"caller\":");
		put_string(w, stack->frames[stack->nr - 2]->name);
	}
}

/* A launch that is no slice. */
static void write_launch(struct writer *w, const struct track_walk *walk)
{
	const struct host_event *e = walk->event;
	const struct stack *stack = w->s->model.chains.v[e->chain].stack;

	put_slice(w, walk->track, walk->time_ns, walk->end_ns, "launch",
		  stack->frames[stack->nr - 1]->name);
	put_call(w, e->key, e->chain);
	put(w, "}}");
}

static void write_slice(struct writer *w, const struct track_walk *walk)
{
	const struct slice *slice = walk->slice;

	put_slice(w, walk->track, walk->time_ns, walk->end_ns, slice__category(slice), slice->name);
	if (slice->kind == SLICE_API)
		put_call(w, slice->key, slice->chain);
	else
		put(w, "\"args\":{");
	put(w, "}}");
}

/* A moment of a thread on a CPU: the format's own samples are not what its viewers show. */
static void write_sample(struct writer *w, const struct host_event *e)
{
	const struct stack *stack = w->s->model.chains.v[e->chain].stack;

	put_event(w, "i", w->t->pids[JOIN_KEY_PROC(e->key)], timeline__tid(w->s, e->thread));
	put_ts(w, e->time_ns);
	put(w, "\"s\":\"t\",\"cat\":\"cpu\",\"name\":");
	put_string(w, stack->frames[stack->nr - 1]->name);
	put(w, ",\"sf\":");
	put_u64(w, w->stack_ids[e->chain]);
	put(w, "}");
}

/* Return: 0 or -ENOMEM. */
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

static int write_tracks(struct writer *w, const struct timeline *t)
{
	int err = 0;
	size_t i;

	for (i = 0; i < t->tracks.nr && !err; i++) {
		if (!i || t->tracks.v[i].proc != t->tracks.v[i - 1].proc)
			write_process(w, t->tracks.v[i].proc);
		err = write_track(w, &t->tracks.v[i]);
	}
	return err;
}

static void write_flow(struct writer *w, const char *ph, uint64_t pid, uint64_t tid, uint64_t ns)
{
	put_event(w, ph, pid, tid);
	put_ts(w, ns);
	put(w, "\"cat\":\"launch\",\"name\":\"launch\",\"id\":");
	put_u64(w, w->next_flow);
	put(w, *ph == 'f' ? ",\"bp\":\"e\"}" : "}");
}

/* Return: the function that called the API, or the API's where that is all there is. */
static const char *stack__caller(const struct stack *stack)
{
	return stack->frames[stack->nr > 1 ? stack->nr - 2 : 0]->name;
}

static void write_device_event(struct writer *w, const struct device_event *e)
{
	static const char *const cats[] = {
		[LEAF_KERNEL] = "kernel",
		[LEAF_MEMCPY] = "memcpy",
		[LEAF_MEMSET] = "memset",
	};
	const struct leaf *leaf = &w->s->model.leaves.v[e->leaf];
	uint64_t pid = writer__gpu_pid(w, e->stream);
	uint64_t tid = w->t->first_track[e->stream] + e->lane;

	put_event(w, "X", pid, tid);
	put_ts(w, e->start_ns);
	put(w, "\"dur\":");
	put_us(w, e->end_ns - e->start_ns);
	put(w, ",\"cat\":\"");
	put(w, cats[leaf->kind]);
	put(w, "\",\"name\":");
	if (leaf->kind == LEAF_KERNEL) {
		put_string(w, leaf->name);
	} else {
		put(w, leaf->kind == LEAF_MEMCPY ? "\"memcpy " : "\"memset");
		put(w, leaf->name);
		put(w, "\"");
	}
	if (e->made != NO_INDEX) {
		put(w, ",\"sf\":");
		put_u64(w, w->stack_ids[e->made]);
	}
	put(w, ",\"args\":{\"correlation\":");
	put_u64(w, JOIN_KEY_ID(e->key));
	if (e->made != NO_INDEX) {
		put(w, ",\"captured_at\":");
		put_string(w, stack__caller(w->s->model.chains.v[e->made].stack));
	}
	if (leaf->kind != LEAF_KERNEL) {
		put(w, ",\"bytes\":");
		put_u64(w, e->bytes);
	}
	put(w, e->orphan ? ",\"launch\":\"not in the recording\"}}" : "}}");
	if (e->orphan)
		return;
	w->next_flow++;
	write_flow(w, "s", w->t->pids[JOIN_KEY_PROC(e->key)], timeline__tid(w->s, e->thread),
		   e->launch_ns);
	write_flow(w, "f", pid, tid, e->start_ns);
}

static int write_counters(struct writer *w)
{
	uint32_t gpu, what;
	int err = 0;
	size_t i;

	for (gpu = 0; gpu < w->s->model.gpus.list.nr; gpu++) {
		for (what = 0; what < NR_COUNTERS && !err; what++) {
			counter_points_t points = { 0 };

			err = timeline__count(w->t, w->s, gpu, what, &points);
			for (i = 0; i < points.nr && !err; i++) {
				put_event(w, "C", PID_GPU + gpu, 0);
				put_ts(w, points.v[i].time_ns);
				put(w, "\"name\":\"");
				put(w, timeline_counter__name(what));
				put(w, "\",\"args\":{\"value\":");
				put_u64(w, points.v[i].value);
				put(w, "}}");
			}
			array_free(&points);
		}
	}
	return err;
}

int chrome__write(struct timeline *t, const struct session *s, FILE *f)
{
	struct writer w = { .f = f, .s = s, .t = t, .first = true };
	int err = -ENOMEM;
	size_t i;

	/* One more, so that it is not empty. */
	w.stack_ids = calloc(s->model.chains.nr + 1, sizeof(*w.stack_ids));
	w.buf = malloc(BUFFER_BYTES);
	if (!w.stack_ids || !w.buf)
		goto out;
	err = timeline__prepare(t, s);
	if (!err)
		err = writer__number_stacks(&w);
	if (err)
		goto out;

	put(&w, "{\"displayTimeUnit\":\"ns\",\n");
	write_other_data(&w, t);
	write_stacks(&w);
	put(&w, "\"traceEvents\":[");
	write_gpus(&w);
	for (i = 0; i < s->model.streams.nr; i++)
		write_stream(&w, i);
	err = write_tracks(&w, t);
	for (i = 0; i < t->device.nr; i++)
		write_device_event(&w, &t->device.v[i]);
	if (!err)
		err = write_counters(&w);
	put(&w, "\n]}\n");
	writer__flush(&w);
out:
	HASH_CLEAR(hh, w.nodes);
	arena__free(&w.arena);
	free(w.buf);
	free(w.stack_ids);
	return err;
}
