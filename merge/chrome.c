// SPDX-License-Identifier: GPL-3.0-or-later
#include "chrome.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "escape.h"
#include "util.h"

#define HASH_NONFATAL_OOM	1
#define uthash_nonfatal_oom(e)	(oom = true)
#include <uthash.h>

#define MARKER_NS	1000		/* widest launch slice */

/*
 * Linux pids end at 2^22. Processes that share a pid with an earlier one, and GPUs, which the
 * format knows only as processes, are numbered beyond, within the 32 bits of Perfetto's pids.
 */
#define PID_REUSED	(1u << 23)
#define PID_GPU		(1u << 30)

struct host_event {
	uint64_t time_ns;
	uint64_t key;
	uint32_t thread;
	uint32_t chain;
	bool sample;			/* not a launch */
};

struct device_event {
	uint64_t start_ns, end_ns;
	uint64_t launch_ns;
	uint64_t bytes;
	uint64_t key;
	uint32_t leaf;
	uint32_t stream;
	uint32_t thread;		/* of the launch */
	uint32_t lane;			/* of the stream: 0, or more where records overlap */
	uint32_t made;			/* chain that made the graph node, or NO_INDEX */
	bool orphan;
};

/* A call path as the format has it: each frame names its parent. */
struct stack_node {
	struct stack_node_key {
		uint64_t parent;	/* 0: none */
		const char *name;
	} key;
	uint64_t id;			/* from 1 */
	UT_hash_handle hh;
};

struct chrome {
	struct session_sink sink;
	ARRAY(struct host_event) host;
	ARRAY(struct device_event) device;
	uint64_t nr_untimed;		/* records without times: no place on a timeline */
};

static int chrome__launch(void *ctx, const struct session *s, uint64_t key, const struct launch *l)
{
	struct chrome *c = ctx;

	(void)s;
	return array_push(&c->host, ((struct host_event){ l->time_ns, key, l->thread, l->chain,
							  false }));
}

static int chrome__placed(void *ctx, const struct session *s, const struct placed *p)
{
	uint64_t key = JOIN_KEY(s->chains.v[p->chain].proc, 0);
	struct chrome *c = ctx;

	if (s->leaves.v[p->leaf].kind != LEAF_CPU)
		return 0;
	return array_push(&c->host, ((struct host_event){ p->time_ns, key, p->thread, p->chain,
							  true }));
}

static int chrome__work(void *ctx, const struct session *s, uint64_t key, const struct work *w,
			const struct launch *l, uint32_t made)
{
	struct chrome *c = ctx;

	(void)s;
	if (!w->start_ns) {
		c->nr_untimed++;
		return 0;
	}
	return array_push(&c->device, ((struct device_event){
		.start_ns = w->start_ns,
		.end_ns = w->start_ns + w->duration_ns,
		.launch_ns = l ? l->time_ns : 0,
		.bytes = w->bytes,
		.key = key,
		.leaf = w->leaf,
		.stream = w->stream,
		.thread = l ? l->thread : NO_INDEX,
		.made = made,
		.orphan = !l,
	}));
}

struct chrome *chrome__new(void)
{
	struct chrome *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->sink = (struct session_sink){
		.ctx = c,
		.launch = chrome__launch,
		.work = chrome__work,
		.placed = chrome__placed,
	};
	return c;
}

void chrome__free(struct chrome *c)
{
	if (!c)
		return;
	array_free(&c->host);
	array_free(&c->device);
	free(c);
}

struct session_sink *chrome__sink(struct chrome *c)
{
	return &c->sink;
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

/* The lanes of one stream, as a heap: the one that is free earliest comes first. */
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

/* With a filter, a launch is told once for each of its works. */
static void chrome__drop_duplicates(struct chrome *c)
{
	size_t i, nr = 0;

	for (i = 1; i < c->host.nr; i++)
		if (host_event__cmp(&c->host.v[nr], &c->host.v[i]))
			c->host.v[++nr] = c->host.v[i];
	if (c->host.nr)
		c->host.nr = nr + 1;
}

/* Gives each device event a lane on which nothing overlaps it; @nr_lanes by stream. */
static int chrome__assign_lanes(struct chrome *c, uint32_t *nr_lanes)
{
	lanes_t lanes = { 0 };
	uint32_t stream = NO_INDEX;
	size_t i;
	int err = 0;

	for (i = 0; i < c->device.nr && !err; i++) {
		struct device_event *e = &c->device.v[i];

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
			nr_lanes[stream] = lanes.nr;
		}
	}
	array_free(&lanes);
	return err;
}

/* ---- JSON ----------------------------------------------------------------------------------- */

#define BUFFER_BYTES	(64 * 1024)

struct writer {
	FILE *f;
	char *buf;			/* what is yet to be written: the stream is too slow for bits */
	size_t nr;
	const struct session *s;
	bool first;			/* no event yet, so no comma */
	uint32_t *pids;			/* by process, 0: it launched nothing */
	uint32_t *first_tid;		/* by stream, of its lane 0 */
	const uint32_t *nr_lanes;	/* by stream */
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

static void put_bytes(struct writer *w, const char *s, size_t len)
{
	if (len > BUFFER_BYTES - w->nr) {
		writer__flush(w);
		if (len > BUFFER_BYTES) {
			fwrite(s, 1, len, w->f);
			return;
		}
	}
	memcpy(w->buf + w->nr, s, len);
	w->nr += len;
}

static inline void put(struct writer *w, const char *s)
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
	put_us(w, ns - w->s->first_ns);
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

static uint64_t writer__host_tid(const struct writer *w, uint32_t thread)
{
	return thread == NO_INDEX ? 0 : w->s->threads.v[thread].tid;
}

static uint64_t writer__gpu_pid(const struct writer *w, uint32_t stream)
{
	return PID_GPU + w->s->streams.v[stream].gpu;
}

/* Numbers the processes that launched, in the order of @c's sorted events. */
static int writer__number_pids(struct writer *w, const struct chrome *c)
{
	struct idmap taken = { 0 };
	uint32_t proc, pid, other;
	size_t i;
	int err = 0;

	for (i = 0; i < c->host.nr && !err; i++) {
		proc = JOIN_KEY_PROC(c->host.v[i].key);
		if (w->pids[proc])
			continue;
		pid = w->s->machine.procs.v[proc].pid;
		if (!pid || pid >= PID_REUSED || idmap__get(&taken, pid, &other)) {
			w->pids[proc] = PID_REUSED + proc;
			continue;
		}
		w->pids[proc] = pid;
		err = idmap__put(&taken, pid, proc);
	}
	idmap__free(&taken);
	return err;
}

static int writer__number_stacks(struct writer *w)
{
	uint64_t nr_nodes = 0;
	struct stack_node *node;
	bool oom = false;
	size_t i;
	uint32_t k;

	for (i = 0; i < w->s->chains.nr; i++) {
		const struct stack *stack = w->s->chains.v[i].stack;
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

static void write_other_data(struct writer *w, const struct chrome *c)
{
	const struct session *s = w->s;
	size_t i;

	put(w, "\"otherData\":{\"source\":");
	put(w, "\"");
	for (i = 0; i < s->inputs.nr; i++) {
		put(w, i ? ", " : "");
		put_escaped(w, s->inputs.v[i].reader->name);
	}
	/* As a string: a number loses digits beyond 2^53, which is 104 days of uptime. */
	put(w, s->realtime ? "\",\"clock\":\"CLOCK_REALTIME\",\"base_ns\":\"" :
			     "\",\"clock\":\"CLOCK_MONOTONIC\",\"base_ns\":\"");
	put_u64(w, s->first_ns);
	put(w, "\",\"host_slices\":\"moments of launches, not durations\",\"launches\":");
	put_u64(w, s->loss.nr_launches);
	put(w, ",\"matched\":");
	put_u64(w, s->loss.nr_matched);
	put(w, ",\"unmatched\":");
	put_u64(w, loss__unmatched(&s->loss));
	put(w, ",\"lost\":");
	put_u64(w, loss__lost(&s->loss));
	put(w, ",\"without_times\":");
	put_u64(w, c->nr_untimed);
	put(w, "},\n");
}

/* " on node1", where there are several. */
static void put_host(struct writer *w, uint32_t proc)
{
	const char *host = session__host(w->s, proc);

	put(w, *host ? " on " : "");
	put_escaped(w, host);
}

static void write_process(struct writer *w, uint32_t proc)
{
	put_metadata(w, w->pids[proc], 0, "process_name", "name");
	put(w, "\"");
	put_escaped(w, session__proc_name(w->s, proc));
	put(w, " (pid ");
	put_u64(w, w->s->machine.procs.v[proc].pid);
	put_host(w, proc);
	put(w, ")\"}}");
}

static void write_host_thread(struct writer *w, uint32_t proc, uint32_t thread)
{
	const struct session *s = w->s;
	const char *comm = "unknown thread";

	if (thread != NO_INDEX)
		comm = s->threads.v[thread].comm ?: session__proc_name(s, proc);
	put_metadata(w, w->pids[proc], writer__host_tid(w, thread), "thread_name", "name");
	put_string(w, comm);
	put(w, "}}");
}

static void write_stream(struct writer *w, uint32_t idx)
{
	const struct session *s = w->s;
	const struct stream *stream = &s->streams.v[idx];
	uint32_t lane;

	for (lane = 0; lane < w->nr_lanes[idx]; lane++) {
		uint32_t tid = w->first_tid[idx] + lane;

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
		put_escaped(w, session__proc_name(s, stream->proc));
		put(w, " ");
		put_u64(w, s->machine.procs.v[stream->proc].pid);
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

	for (i = 0; i < s->gpus.list.nr; i++) {
		const struct gpu *gpu = &s->gpus.list.v[i];
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

static void write_host_event(struct writer *w, const struct host_event *e, uint64_t duration_ns)
{
	const struct stack *stack = w->s->chains.v[e->chain].stack;

	put_event(w, "X", w->pids[JOIN_KEY_PROC(e->key)], writer__host_tid(w, e->thread));
	put_ts(w, e->time_ns);
	put(w, "\"dur\":");
	put_us(w, duration_ns);
	put(w, ",\"cat\":\"launch\",\"name\":");
	put_string(w, stack->frames[stack->nr - 1]->name);
	put(w, ",\"sf\":");
	put_u64(w, w->stack_ids[e->chain]);
	put(w, ",\"args\":{\"correlation\":");
	put_u64(w, JOIN_KEY_ID(e->key));
	if (stack->nr > 1) {
		put(w, ",\"caller\":");
		put_string(w, stack->frames[stack->nr - 2]->name);
	}
	put(w, "}}");
}

/* A moment of a thread on a CPU: the format's own samples are not what its viewers show. */
static void write_sample(struct writer *w, const struct host_event *e)
{
	const struct stack *stack = w->s->chains.v[e->chain].stack;

	put_event(w, "i", w->pids[JOIN_KEY_PROC(e->key)], writer__host_tid(w, e->thread));
	put_ts(w, e->time_ns);
	put(w, "\"s\":\"t\",\"cat\":\"cpu\",\"name\":");
	put_string(w, stack->frames[stack->nr - 1]->name);
	put(w, ",\"sf\":");
	put_u64(w, w->stack_ids[e->chain]);
	put(w, "}");
}

static void write_host_events(struct writer *w, const struct chrome *c)
{
	uint32_t proc = NO_INDEX, thread = NO_INDEX;
	bool first = true;
	size_t i;

	for (i = 0; i < c->host.nr; i++) {
		const struct host_event *e = &c->host.v[i], *next = e + 1;
		uint64_t duration_ns = MARKER_NS;

		if (first || JOIN_KEY_PROC(e->key) != proc)
			write_process(w, JOIN_KEY_PROC(e->key));
		if (first || JOIN_KEY_PROC(e->key) != proc || e->thread != thread)
			write_host_thread(w, JOIN_KEY_PROC(e->key), e->thread);
		first = false;
		proc = JOIN_KEY_PROC(e->key);
		thread = e->thread;
		/* Up to the next one at most: slices of a thread must not overlap. */
		if (i + 1 < c->host.nr && JOIN_KEY_PROC(next->key) == proc &&
		    next->thread == thread)
			duration_ns = min_t(uint64_t, duration_ns, next->time_ns - e->time_ns);
		if (e->sample)
			write_sample(w, e);
		else
			write_host_event(w, e, duration_ns);
	}
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
	const struct leaf *leaf = &w->s->leaves.v[e->leaf];
	uint64_t pid = writer__gpu_pid(w, e->stream);
	uint64_t tid = w->first_tid[e->stream] + e->lane;

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
		put_string(w, stack__caller(w->s->chains.v[e->made].stack));
	}
	if (leaf->kind != LEAF_KERNEL) {
		put(w, ",\"bytes\":");
		put_u64(w, e->bytes);
	}
	put(w, e->orphan ? ",\"launch\":\"not in the recording\"}}" : "}}");
	if (e->orphan)
		return;
	w->next_flow++;
	write_flow(w, "s", w->pids[JOIN_KEY_PROC(e->key)], writer__host_tid(w, e->thread),
		   e->launch_ns);
	write_flow(w, "f", pid, tid, e->start_ns);
}

int chrome__write(struct chrome *c, const struct session *s, FILE *f)
{
	size_t nr_streams = s->streams.nr, nr_procs = s->machine.procs.nr, i;
	struct writer w = { .f = f, .s = s, .first = true };
	uint32_t *nr_lanes, next_tid = 1;
	int err = -ENOMEM;

	/* One more of each, so that none is empty. */
	nr_lanes = calloc(nr_streams + 1, sizeof(*nr_lanes));
	w.nr_lanes = nr_lanes;
	w.first_tid = calloc(nr_streams + 1, sizeof(*w.first_tid));
	w.pids = calloc(nr_procs + 1, sizeof(*w.pids));
	w.stack_ids = calloc(s->chains.nr + 1, sizeof(*w.stack_ids));
	w.buf = malloc(BUFFER_BYTES);
	if (!nr_lanes || !w.first_tid || !w.pids || !w.stack_ids || !w.buf)
		goto out;
	if (c->host.nr)
		qsort(c->host.v, c->host.nr, sizeof(*c->host.v), host_event__cmp);
	if (filter__active(s->opts.filter))
		chrome__drop_duplicates(c);
	if (c->device.nr)
		qsort(c->device.v, c->device.nr, sizeof(*c->device.v), device_event__cmp);
	err = chrome__assign_lanes(c, nr_lanes);
	if (!err)
		err = writer__number_pids(&w, c);
	if (!err)
		err = writer__number_stacks(&w);
	if (err)
		goto out;
	for (i = 0; i < nr_streams; i++) {
		w.first_tid[i] = next_tid;
		next_tid += nr_lanes[i];
	}

	put(&w, "{\"displayTimeUnit\":\"ns\",\n");
	write_other_data(&w, c);
	write_stacks(&w);
	put(&w, "\"traceEvents\":[");
	write_gpus(&w);
	for (i = 0; i < nr_streams; i++)
		write_stream(&w, i);
	write_host_events(&w, c);
	for (i = 0; i < c->device.nr; i++)
		write_device_event(&w, &c->device.v[i]);
	put(&w, "\n]}\n");
	writer__flush(&w);
out:
	HASH_CLEAR(hh, w.nodes);
	arena__free(&w.arena);
	free(w.buf);
	free(w.stack_ids);
	free(w.pids);
	free(w.first_tid);
	free(nr_lanes);
	return err;
}
