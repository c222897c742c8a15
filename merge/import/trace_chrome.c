// SPDX-License-Identifier: GPL-3.0-or-later
/* trace_chrome.c - reads Chrome JSON */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "import/trace_event.h"

/* One half of a range: an event that either begins or ends a range. */
struct half {
	struct event e;
	uint32_t thread;		/* this program's number for the event's thread */
	uint32_t seq;
	uint64_t time_ns;
	bool ends;
};

struct chrome {
	struct gputrace *t;
	struct pti pti;
	bool onetrace;			/* the file is from onetrace, ze_tracer or cl_tracer: events
					 * have no category */
	struct strpool threads, queues;
	ARRAY(struct half) halves;
	uint64_t base_ns;		/* baseTimeNanoseconds of the file */
};

/* Return: this program's number for the event's thread, or NO_INDEX if memory is short. */
static uint32_t event__thread(const struct event *e, struct strpool *threads)
{
	/* Each tile of a device has its own queue. */
	size_t tile = e->name.len > 8 && !memcmp(e->name.s, "Tile #", 6) ? 8 : 0;
	const char *thread = strpool__internf(threads, "%.*s %.*s%.*s",
					      (int)min_t(size_t, e->pid.len, 256), e->pid.s ?: "",
					      (int)min_t(size_t, e->tid.len, 256), e->tid.s ?: "",
					      (int)tile, tile ? e->name.s : "");

	return thread ? strpool__id(thread) : NO_INDEX;
}

static bool span__ends(struct span s, const char *suffix)
{
	return s.s && ends_with(s.s, s.len, suffix);
}

/*
 * Return: the kind of an onetrace event. An API call is on a thread whose number may be a Linux
 * thread id. Other events are stages of device work; only the last stage counts.
 */
static enum record_kind onetrace__kind(const struct event *e)
{
	uint64_t tid;

	if (span__ends(e->name, " (Appended)") || span__ends(e->name, " (Queued)") ||
	    span__ends(e->name, " (Submitted)"))
		return RECORD_NOTHING;
	if (!e->name.s || !e->id.s)
		return RECORD_OTHER;
	return span__u64(e->tid, 0, &tid) && tid <= LINUX_TID_MAX &&
	       gpu_api__of(e->name.s, e->name.len) ? RECORD_DRIVER : RECORD_PTI_WORK;
}

static enum record_kind chrome__kind(const struct chrome *c, const struct event *e)
{
	enum record_kind kind = record__kind(e->category);
	enum xpu_api api;

	if (c->onetrace && !e->category.s)
		return onetrace__kind(e);
	/* In some files kernels have no category. */
	if (kind == RECORD_OTHER && e->name.len > 8 && !memcmp(e->name.s, "Kernel: ", 8))
		return RECORD_KERNEL;
	/* A wait of the device for itself is not a call. */
	if (e->sync_type.len > 4 && !memcmp(e->sync_type.s, "GPU_", 4) &&
	    span__is(e->category, "xpu_sync"))
		return RECORD_NOTHING;
	/* unitrace marks calls as operators. */
	api = kind == RECORD_OP && e->name.s ? gpu_api__of(e->name.s, e->name.len) : XPU_API_CUDA;
	return api == XPU_API_LEVEL_ZERO || api == XPU_API_OPENCL ? RECORD_DRIVER : kind;
}

static int chrome__pti_work(struct chrome *c, const struct event *e, uint64_t start_ns,
			    uint64_t end_ns)
{
	uint32_t device = NO_INDEX, queue = event__thread(e, &c->queues);
	struct gpu_work w = { .kind = WORK_KERNEL, .w = { .start_ns = start_ns } };
	struct gputrace *t = c->t;
	struct xpu_shape shape;
	struct span name;

	if (c->onetrace)
		w.pid = span__u32(e->pid);
	else
		w.device = device = pti__device(&c->pti, span__u32(e->pid));
	if (queue == NO_INDEX || (!c->onetrace && device == NO_INDEX) ||
	    gputrace__decode(t, e->name, &name))
		return -ENOMEM;
	w.stream = queue + 1;
	if (c->onetrace && span__ends(name, " (Executed)"))
		name.len -= strlen(" (Executed)");
	if (pti_work__parse(&w, &name, &shape)) {
		w.w.shape = strpool__intern(&t->names, (const char *)&shape, sizeof(shape));
		if (!w.w.shape)
			return -ENOMEM;
	}
	return pti__add_work(&c->pti, t->works.nr, device, e->id) ?:
	       gputrace__add_work(t, &w, end_ns, name);
}

static int chrome__pass_over(struct chrome *c, const struct event *e, enum record_kind kind)
{
	c->t->rocprof |= e->rocprof.s != NULL;
	return gputrace__pass_over(c->t, kind, e->category.s ? e->category : e->name);
}

static int chrome__complete_event(struct chrome *c, const struct event *e, uint64_t start_ns,
				  uint64_t end_ns)
{
	enum record_kind kind = chrome__kind(c, e);
	struct gputrace *t = c->t;
	int err;

	if (kind == RECORD_OTHER || kind == RECORD_NOTHING)
		return chrome__pass_over(c, e, kind);
	if (kind == RECORD_PTI_WORK)
		return chrome__pti_work(c, e, start_ns, end_ns);
	err = gputrace__add_event(t, e, kind, start_ns, end_ns);
	if (!err && c->onetrace && !e->category.s)
		err = pti__add_call(&c->pti, t->calls.nr - 1, e->id);
	return err;
}

static int chrome__half(struct chrome *c, const struct event *e, bool ends)
{
	struct half h = { .e = *e, .ends = ends, .seq = c->halves.nr };

	if (!span__u64(e->ts, 3, &h.time_ns)) {
		c->t->nr_strange++;
		return 0;
	}
	h.thread = event__thread(e, &c->threads);
	return h.thread == NO_INDEX ? -ENOMEM : array_push(&c->halves, h);
}

/*
 * Reads the name of a unitrace process: "HOST<name>", "RANK 3 HOST<name>", or for a device
 * "DEVICE<name>[Intel(R) Arc(TM)] 0:3:0:0 #0". Return: 1 if the name has one of these forms, 0 if
 * not, or -ENOMEM.
 */
static int chrome__pti_name(struct chrome *c, const struct event *e)
{
	struct gpu_name process = { .pid = span__u32(e->pid) };
	struct span name = e->arg_name;
	uint64_t rank = 0;
	struct gpu_device d;
	const char *open;
	bool ranked = drop_prefix(&name.s, &name.len, "RANK ");

	for (; ranked && name.len && isdigit((unsigned char)*name.s); name.s++, name.len--)
		rank = min_t(uint64_t, rank * 10 + (*name.s - '0'), UINT32_MAX);
	ranked = ranked && drop_prefix(&name.s, &name.len, " ");
	if (drop_prefix(&name.s, &name.len, "DEVICE<")) {
		open = memchr(name.s, '[', name.len);
		if (open) {
			name.len -= open + 1 - name.s;
			name.s = open + 1;
			open = memchr(name.s, ']', name.len);
			name.len = open ? (size_t)(open - name.s) : name.len;
		}
		d.id = pti__device(&c->pti, span__u32(e->pid));
		d.name = gputrace__name(c->t, name);
		if (d.id == NO_INDEX || !d.name || array_push(&c->t->devices, d))
			return -ENOMEM;
		return 1;
	}
	if (!drop_prefix(&name.s, &name.len, "HOST<"))
		return 0;
	if (!ranked)
		return 1;
	process.name = strpool__internf(&c->t->names, "rank %" PRIu64, rank);
	return process.name && !array_push(&c->t->thread_names, process) ? 1 : -ENOMEM;
}

/* Reads names of processes and threads, and the base of onetrace's times. */
static int chrome__metadata(struct chrome *c, const struct event *e)
{
	struct gpu_name n = { .pid = span__u32(e->pid),
			      .thread = span__is(e->name, "thread_name") };
	int ret = 0;

	if (span__ends(e->name, "start_time") || span__is(e->name, "start_time")) {
		c->onetrace = true;
		span__u64(e->real_time, 0, &c->base_ns);
	}
	if (!e->name.s || !e->arg_name.s || (!n.thread && !span__is(e->name, "process_name")))
		return 0;
	if (!n.thread)
		ret = chrome__pti_name(c, e);
	if (ret)
		return min_t(int, ret, 0);
	if (!n.pid || (n.thread && !span__u64(e->tid, 0, &n.tid)))
		return 0;
	n.name = gputrace__name(c->t, e->arg_name);
	return n.name ? array_push(&c->t->thread_names, n) : -ENOMEM;
}

static int chrome__flow(struct chrome *c, const struct event *e, bool begins)
{
	uint64_t time_ns = 0, tid = 0;
	int ret;

	if (!span__u64(e->ts, 3, &time_ns) || !span__u64(e->tid, 0, &tid))
		return chrome__pass_over(c, e, RECORD_NOTHING);
	ret = pti__add_flow(&c->pti, e->category, span__u32(e->pid), tid, time_ns, begins,
			    c->t->calls.nr);
	return ret ? min_t(int, ret, 0) : chrome__pass_over(c, e, RECORD_NOTHING);
}

static int chrome__event(struct chrome *c, const struct event *e)
{
	char phase = e->phase.len == 1 ? *e->phase.s : e->phase.s ? '?' : 'X';
	uint64_t start_ns, duration_ns = 0, end_ns;
	enum record_kind kind;

	switch (phase) {
	case 'B':
	case 'E':
		return chrome__half(c, e, phase == 'E');
	case 'M':
		return chrome__metadata(c, e);
	case 's':
	case 't':
		return chrome__flow(c, e, phase == 's');
	case 'X':
		break;
	default:
		/* ends of flows, marks, counters, clocks, objects and dumps of memory */
		return chrome__pass_over(c, e, strchr("fiIRCcNODvV", phase) ? RECORD_NOTHING :
							RECORD_OTHER);
	}
	if (!span__u64(e->ts, 3, &start_ns) || (e->dur.s && !span__u64(e->dur, 3, &duration_ns)) ||
	    __builtin_add_overflow(start_ns, duration_ns, &end_ns) || end_ns > INT64_MAX) {
		kind = chrome__kind(c, e);
		if (kind == RECORD_OTHER || kind == RECORD_NOTHING)
			return chrome__pass_over(c, e, kind);
		c->t->nr_strange++;
		return 0;
	}
	return chrome__complete_event(c, e, start_ns, end_ns);
}

static int half__compare(const void *a, const void *b, void *ctx __attribute__((unused)))
{
	const struct half *x = a, *y = b;

	return cmp3(x->thread, y->thread) ?: cmp3(x->time_ns, y->time_ns) ?: cmp3(x->seq, y->seq);
}

/* Copies those fields of the end event that the begin event @e lacks. */
static void event__complete(struct event *e, const struct event *end)
{
	struct span *to = (struct span *)e;
	const struct span *from = (const struct span *)end;
	size_t i;

	for (i = 0; i < sizeof(*e) / sizeof(*to); i++)
		if (!to[i].s)
			to[i] = from[i];
}

/*
 * Pairs begin events with end events. Ranges nest on a thread: an end event belongs to the last
 * open begin event.
 */
static int chrome__pair(struct chrome *c)
{
	ARRAY(uint32_t) open = { 0 };
	int err = 0;
	size_t i;

	array__sort(c->halves.v, c->halves.nr, sizeof(*c->halves.v), half__compare, NULL);
	for (i = 0; i < c->halves.nr && !err; i++) {
		struct half *h = &c->halves.v[i], *begin;

		if (i && h->thread != h[-1].thread) {
			c->t->nr_begins += open.nr;
			open.nr = 0;
		}
		if (!h->ends) {
			err = array_push(&open, i);
		} else if (!open.nr) {
			c->t->nr_ends++;
		} else {
			begin = &c->halves.v[open.v[--open.nr]];
			event__complete(&begin->e, &h->e);
			err = chrome__complete_event(c, &begin->e, begin->time_ns, h->time_ns);
		}
	}
	c->t->nr_begins += open.nr;
	array_free(&open);
	return err;
}

static int chrome__events(struct chrome *c, struct json *j)
{
	int err = 0;

	if (!json__enter(j, '['))
		return 0;
	while (!err && json__next_item(j)) {
		struct event e;

		input_file__release(c->t->input, j->p);
		if (json__peek(j) != '{') {
			json__skip(j);
			continue;
		}
		memset(&e, 0, sizeof(e));
		event__read(&e, j, false);
		if (!j->what)
			err = chrome__event(c, &e);
	}
	return err;
}

/* Reads "distributedInfo": {"rank": 3, "world_size": 8, ...} */
static void chrome__distributed(struct chrome *c, struct json *j)
{
	struct span key, value = { 0 };

	json__enter(j, '{');
	while (json__next_key(j, &key)) {
		json__scalar(j, &value);
		if (span__is(key, "rank") && value.s) {
			c->t->rank = span__u32(value);
			c->t->has_rank = true;
		} else if (span__is(key, "world_size") && value.s) {
			c->t->world_size = span__u32(value);
		}
		value.s = NULL;
	}
}

/* Reads "deviceProperties": [{"id": 0, "name": "..."}, ...] */
static int chrome__devices(struct chrome *c, struct json *j)
{
	struct span key, id, name;
	int err = 0;

	json__enter(j, '[');
	while (!err && json__next_item(j)) {
		struct gpu_device d;

		if (json__peek(j) != '{') {
			json__skip(j);
			continue;
		}
		id = name = (struct span){ 0 };
		json__enter(j, '{');
		while (json__next_key(j, &key)) {
			if (span__is(key, "id"))
				json__scalar(j, &id);
			else if (span__is(key, "name") && json__peek(j) == '"')
				json__string(j, &name);
			else
				json__skip(j);
		}
		if (j->what || !id.s || !name.s)
			continue;
		d.id = span__u32(id);
		d.name = gputrace__name(c->t, name);
		err = d.name ? array_push(&c->t->devices, d) : -ENOMEM;
	}
	return err;
}

/* Reads a member of the object that contains the events. */
static int chrome__member(struct chrome *c, struct json *j, struct span key)
{
	struct span value = { 0 };
	char next = json__peek(j);

	if (span__is(key, "distributedInfo") && next == '{') {
		chrome__distributed(c, j);
	} else if (span__is(key, "deviceProperties") && next == '[') {
		return chrome__devices(c, j);
	} else if (span__is(key, "baseTimeNanoseconds")) {
		json__scalar(j, &value);
		span__u64(value, 0, &c->base_ns);
	} else {
		json__skip(j);
	}
	return 0;
}

/* Wait records have no process. Their process is known only if the file has a single process. */
static void chrome__only_pid(struct chrome *c)
{
	struct gputrace *t = c->t;
	uint32_t pid = 0;
	size_t i;

	for (i = 0; i < t->calls.nr; i++) {
		if (!t->calls.v[i].pid)
			continue;
		if (pid && t->calls.v[i].pid != pid)
			return;
		pid = t->calls.v[i].pid;
	}
	for (i = 0; i < t->calls.nr; i++)
		t->calls.v[i].pid = pid;
}

/* Adds the base to times that are relative to it. In some files, times already include the base. */
static void chrome__rebase(struct chrome *c)
{
	struct gputrace *t = c->t;
	size_t i;

	if (gputrace__first_ns(t) >= c->base_ns || c->base_ns > INT64_MAX)
		return;
	t->base_ns = c->base_ns;
	for (i = 0; i < t->calls.nr; i++) {
		t->calls.v[i].start_ns += t->base_ns;
		t->calls.v[i].end_ns += t->base_ns;
	}
	for (i = 0; i < t->works.nr; i++)
		if (t->works.v[i].w.start_ns)
			t->works.v[i].w.start_ns += t->base_ns;
	for (i = 0; i < t->ops.nr; i++) {
		t->ops.v[i].start_ns += t->base_ns;
		t->ops.v[i].end_ns += t->base_ns;
	}
}

int gputrace__read_chrome(struct gputrace *t, const char *buf, size_t size)
{
	struct chrome c = { .t = t };
	struct json j;
	struct span key;
	bool found = false;
	int err = 0;

	json__init(&j, buf, size);
	if (json__peek(&j) == '{') {
		json__enter(&j, '{');
		while (!err && json__next_key(&j, &key)) {
			if (span__is(key, "traceEvents") && json__peek(&j) == '[') {
				err = chrome__events(&c, &j);
				found = true;
			} else if (span__is(key, "rocprofiler-sdk-tool")) {
				err = gputrace__read_rocprof(t, &j);
				found = true;
			} else {
				err = chrome__member(&c, &j, key);
			}
		}
		if (!found && !j.what)
			j.what = "no traceEvents";
	} else {
		err = chrome__events(&c, &j);
		/* onetrace writes a comma at the end of its array. */
		if (c.onetrace && j.depth == 1 && j.p == j.end)
			j.what = NULL;
	}
	t->damage = j.what;
	t->damage_offset = j.p - buf;
	t->nr_not_finite = j.nr_not_finite;
	err = err ?: chrome__pair(&c);
	if (!err) {
		err = pti__link(&c.pti, t);
		t->linked = err > 0;
		chrome__only_pid(&c);
	}
	chrome__rebase(&c);
	pti__free(&c.pti);
	array_free(&c.halves);
	strpool__free(&c.queues);
	strpool__free(&c.threads);
	return min_t(int, err, 0);
}
