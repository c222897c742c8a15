// SPDX-License-Identifier: GPL-3.0-or-later
#include "import/twofile.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "import/align/align.h"
#include "import/gputrace.h"
#include "import/kernel_names.h"
#include "xpu_time.h"

#define SEVERAL_KERNELS	NO_INDEX
#define MAX_OFFSET_NS	1100000000ull	/* the clocks of the two tools may differ by this much */

/* A call path in the file. */
struct folded_stack {
	const char *text;		/* without the called function; not NUL-terminated */
	size_t len;
	const char *api;		/* interned; NULL: the path does not end in CUDA */
	enum call_kind kind;
};

struct stack_event {
	uint64_t time_ns;
	uint32_t pid, tid;
	uint32_t stack;
	const char *comm;		/* interned */
};

/* a thread in one of the two files */
struct lane {
	uint32_t pid;
	uint64_t tid;
	uint32_t thread;		/* thread in the recording; 0: not made yet */
	uint32_t told_tid;		/* the thread's tid in the recording */
	const char *comm;		/* the thread's last name */
};

/* Keys of paths are compared as bytes, so this struct must not have padding. */
struct path_key {
	const char *api;
	uint32_t stack, proc;
};

struct twofiles {
	struct twofile *out;
	struct import *im;
	struct msgs *msgs;
	struct gputrace gpu;
	struct strpool strings;
	struct strpool lines;		/* lines of call paths, by number */
	ARRAY(struct folded_stack) stacks;	/* the parsed lines, by their number in @lines */
	ARRAY(struct stack_event) events;	/* in time order after all have been read */
	ARRAY(uint32_t) launches;	/* calls that stacks may match, in time order */
	bool *launched;			/* for each call: whether it has device work, or its
					 * function launches device work */
	struct kernel_names names;
	uint32_t *kernels;		/* for each call: 1 + number of the kernel; 0: unknown */
	struct call_index index;	/* index of the outermost calls */
	struct idmap procs;		/* maps pid to process of the recording */
	ARRAY(struct lane) cpu_lanes, gpu_lanes;
	ARRAY(uint32_t) cpu_lane_of, gpu_lane_of;	/* the lane of each event, and of each
							 * launch */
	struct strpool path_keys;	/* maps struct path_key to a number */
	ARRAY(uint32_t) paths;		/* the recording's path for each number in path_keys */
	ARRAY(struct span) frames;
	uint32_t other_pid;		/* pid on the GPU side, if each side has one process and
					 * their pids differ */
	uint64_t nr_strange;
};

/* ---- stacks ---------------------------------------------------------------------------------- */

/* Reads a number after blanks. Return: the end of the number, or NULL. */
static const char *read_field(const char *p, const char *end, uint64_t *value)
{
	const char *from;

	while (p < end && isblank((unsigned char)*p))
		p++;
	for (from = p, *value = 0; p < end && isdigit((unsigned char)*p); p++)
		if (__builtin_mul_overflow(*value, 10, value) ||
		    __builtin_add_overflow(*value, *p - '0', value))
			return NULL;
	return p > from && (p == end || isblank((unsigned char)*p)) ? p : NULL;
}

/*
 * Finds "pid tid cpu" after the thread's name. A name may contain blanks and digits: if several
 * places before the frames have three consecutive numbers, takes the last place whose name is not
 * too long.
 * Return: the start of the frames, or NULL.
 */
static const char *find_ids(const char *p, const char *end, struct stack_event *e,
			    const char **comm_end)
{
	const char *limit, *at, *q, *found = NULL;
	uint64_t pid, tid, cpu;

	if (p >= end)
		return NULL;
	limit = memchr(p, ';', end - p) ?: end;
	for (at = p; at < limit; at++) {
		if (at > p && !isblank((unsigned char)at[-1]))
			continue;
		if (!isdigit((unsigned char)*at))
			continue;
		/*
		 * A name has at most 15 bytes; accept a longer name only if no other name is
		 * possible.
		 */
		if (found && at - p > XPU_COMM_LEN)
			break;
		q = read_field(at, end, &pid);
		q = q ? read_field(q, end, &tid) : NULL;
		q = q ? read_field(q, end, &cpu) : NULL;
		if (!q || q > limit || pid > UINT32_MAX || tid > UINT32_MAX || cpu > 65535)
			continue;
		found = q;
		e->pid = pid;
		e->tid = tid;
		*comm_end = at;
	}
	return found;
}

/* Removes terminal colors from a line. Return: its new length. */
static size_t drop_escapes(char *s, size_t len)
{
	size_t i, out = 0;

	for (i = 0; i < len; i++) {
		if (s[i] != '\033') {
			s[out++] = s[i];
			continue;
		}
		if (i + 1 < len && s[i + 1] == '[')
			for (i += 2; i < len && !(s[i] >= '@' && s[i] <= '~'); i++)
				;
		else
			i++;
	}
	return out;
}

static void trim(struct span *s)
{
	while (s->len && isspace((unsigned char)*s->s)) {
		s->s++;
		s->len--;
	}
	while (s->len && isspace((unsigned char)s->s[s->len - 1]))
		s->len--;
}

/*
 * Splits the called function off the end of a path. There may be several CUDA functions at the end.
 */
static int twofiles__split_stack(struct twofiles *t, struct folded_stack *s)
{
	const char *name = NULL;
	size_t name_len = 0;

	for (;;) {
		const char *last = memrchr(s->text, ';', s->len);
		size_t rest = last ? (size_t)(last - s->text) : 0;
		struct span frame = { .s = last ? last + 1 : s->text };

		frame.len = s->text + s->len - frame.s;
		trim(&frame);
		if (frame.len && !cuda_api__parse(frame.s, frame.len, &name, &name_len))
			break;
		if (frame.len)
			s->kind = cuda_api__kind(name, name_len);
		s->len = rest;
		if (!rest)
			break;
	}
	/*
	 * A stack was taken at a kernel launch, unless its path ends with a graph launch, copy or
	 * memset.
	 */
	if (!name || s->kind == CALL_OTHER)
		s->kind = CALL_KERNEL;
	if (name) {
		s->api = strpool__intern(&t->strings, name, name_len);
		if (!s->api)
			return -ENOMEM;
	}
	return 0;
}

/* Reads a line. Return: 0; 1 if the line is not a stack; or -ENOMEM. */
static int twofiles__read_line(struct twofiles *t, struct span s)
{
	const char *end = s.s + s.len, *p, *comm_end, *line;
	struct stack_event e = { 0 };
	struct span comm, path;
	int err;

	p = read_field(s.s, end, &e.time_ns);
	if (!p)
		return 1;
	while (p < end && isblank((unsigned char)*p))
		p++;
	comm.s = p;
	p = find_ids(p, end, &e, &comm_end);
	if (!p)
		return 1;
	comm.len = comm_end - comm.s;
	trim(&comm);
	path = (struct span){ p, end - p };
	trim(&path);
	line = strpool__intern(&t->lines, path.s, path.len);
	e.comm = strpool__intern(&t->strings, comm.s, strnlen(comm.s, comm.len));
	if (!line || !e.comm)
		return -ENOMEM;
	e.stack = strpool__id(line);
	if (e.stack == t->stacks.nr) {
		struct folded_stack stack = { .text = line, .len = path.len };

		err = twofiles__split_stack(t, &stack);
		err = err ?: array_push(&t->stacks, stack);
		if (err)
			return err;
	}
	return array_push(&t->events, e);
}

static int stack_event__compare(const void *a, const void *b, void *ctx __attribute__((unused)))
{
	const struct stack_event *x = a, *y = b;

	return cmp3(x->time_ns, y->time_ns);
}

static int twofiles__read_stacks(struct twofiles *t, struct input_file *in)
{
	const char *end = in->buf + in->size, *p, *eol;
	int err = 0;

	for (p = span__text(in->buf, in->size).s; p < end && err >= 0; p = eol + 1) {
		struct span s = { .s = p };
		char *copy = NULL;

		input_file__release(in, p);
		eol = memchr(p, '\n', end - p) ?: end;
		s.len = eol - p;
		if (memchr(p, '\033', s.len)) {
			s.s = copy = malloc(s.len);
			if (!copy)
				return -ENOMEM;
			memcpy(copy, p, s.len);
			s.len = drop_escapes(copy, s.len);
		}
		trim(&s);
		err = s.len ? twofiles__read_line(t, s) : 0;
		t->nr_strange += err > 0;
		free(copy);
	}
	if (err < 0)
		return err;
	array__sort(t->events.v, t->events.nr, sizeof(*t->events.v), stack_event__compare, NULL);
	return 0;
}

/* ---- calls ----------------------------------------------------------------------------------- */

/*
 * Finds the call of each correlation id. If a runtime call and the driver call inside it share an
 * id, the id maps to the runtime call.
 */
static int twofiles__index_calls(struct twofiles *t)
{
	uint32_t i, other;
	int err;

	for (i = 0; i < t->gpu.calls.nr; i++) {
		const struct gpu_call *c = &t->gpu.calls.v[i];

		err = call_index__add(&t->index, c, i, &other);
		if (err < 0)
			return err;
		t->launched[i] = err && c->kind != CALL_OTHER;
		if (other == NO_INDEX)
			continue;
		if (t->gpu.calls.v[other].driver && !c->driver) {
			/* Swap the two calls, so that the id leads to the outer call. */
			struct gpu_call *o = &t->gpu.calls.v[other], inner = *o;

			*o = *c;
			t->gpu.calls.v[i] = inner;
			t->launched[other] |= o->kind != CALL_OTHER;
		}
	}
	return 0;
}

/* Return: whether the call is a driver call inside another call with the same id. */
static bool twofiles__is_inner(const struct twofiles *t, uint32_t call)
{
	const struct gpu_call *c = &t->gpu.calls.v[call];
	uint32_t outer;

	return c->correlation_id &&
	       idmap__get(&t->index.calls, ID_KEY(c->pid, c->correlation_id), &outer) &&
	       outer != call;
}

/*
 * twofiles__find_call - find the call that caused device work
 * @pid: set to the process of the call; 0 if unknown
 *
 * Some device records do not name the process. If several processes use the record's correlation
 * id, the call is unknown.
 */
static uint32_t twofiles__find_call(const struct twofiles *t, const struct gpu_work *w,
				    uint32_t *pid)
{
	uint32_t call = call_index__find(&t->index, w->pid, w->w.correlation_id);

	*pid = call == NO_INDEX ? w->pid : t->gpu.calls.v[call].pid;
	return call;
}

static int launch__compare(const void *a, const void *b, void *ctx)
{
	const struct gpu_call *calls = ctx;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return cmp3(calls[x].start_ns, calls[y].start_ns) ?: cmp3(x, y);
}

/*
 * Lists the calls that stacks may match: calls that launched work and have the same kind as some
 * stack.
 */
static int twofiles__list_launches(struct twofiles *t)
{
	bool kinds[CALL_MEMSET + 1] = { false };
	uint32_t i, call, pid, kernel;
	int err = 0;

	for (i = 0; i < t->stacks.nr; i++)
		kinds[t->stacks.v[i].kind] = true;
	for (i = 0; i < t->gpu.works.nr; i++) {
		call = twofiles__find_call(t, &t->gpu.works.v[i], &pid);
		if (call == NO_INDEX)
			continue;
		t->launched[call] = true;
		if (!t->stacks.nr || t->gpu.works.v[i].kind != WORK_KERNEL ||
		    t->gpu.calls.v[call].kind != CALL_KERNEL)
			continue;
		kernel = 1 + kernel_names__add_kernel(&t->names, t->gpu.works.v[i].name);
		/* A call that launches kernels with different names has no single name. */
		t->kernels[call] = t->kernels[call] && t->kernels[call] != kernel ?
			SEVERAL_KERNELS : kernel;
	}
	for (i = 0; i < t->stacks.nr; i++)
		kernel_names__add_path(&t->names, (struct span){ t->stacks.v[i].text,
								 t->stacks.v[i].len });
	err = kernel_names__settle(&t->names);
	for (i = 0; i < t->stacks.nr && !err; i++)
		t->out->nr_named += kernel_names__of_path(&t->names, i) != 0;
	for (i = 0; i < t->gpu.calls.nr && !err; i++)
		if (t->launched[i] && kinds[t->gpu.calls.v[i].kind])
			err = array_push(&t->launches, i);
	array__sort(t->launches.v, t->launches.nr, sizeof(*t->launches.v), launch__compare,
		    t->gpu.calls.v);
	return err;
}

/* ---- the match ------------------------------------------------------------------------------- */

/* Return: the pid of a process, translated so that it is the same number on both sides. */
static uint32_t twofiles__pid(const struct twofiles *t, uint32_t pid)
{
	return t->other_pid && pid == t->other_pid && t->events.nr ? t->events.v[0].pid : pid;
}

static int twofiles__lane(struct twofiles *t, bool gpu, struct idmap *ids, uint32_t pid,
			  uint64_t tid, uint32_t *lane)
{
	/* One side may have only the lower 32 bits of the thread ids. */
	struct lane new = { .pid = pid, .tid = (uint32_t)tid };
	uint64_t key = ID_KEY(pid, (uint32_t)tid);
	int err;

	if (idmap__get(ids, key, lane))
		return 0;
	*lane = gpu ? t->gpu_lanes.nr : t->cpu_lanes.nr;
	err = idmap__put(ids, key, *lane);
	return err ?: gpu ? array_push(&t->gpu_lanes, new) : array_push(&t->cpu_lanes, new);
}

/* Return: whether both sides have the same pids. */
static bool twofiles__compare_pids(struct twofiles *t)
{
	uint32_t cpu_pid = t->events.nr ? t->events.v[0].pid : 0, i, k;
	bool same = true, one = true;

	for (i = 0; i < t->events.nr; i++) {
		one &= t->events.v[i].pid == cpu_pid;
		same &= idmap__get(&t->index.pid_ids, t->events.v[i].pid, &k);
	}
	/* In a container, one side may have different pids. */
	if (!same && one && t->index.pids.nr == 1)
		t->other_pid = t->index.pids.v[0];
	return same;
}

/*
 * Return: the process and thread of each lane, or NULL. The lanes of stacks come before the lanes
 * of launches.
 */
static uint64_t *twofiles__tids(const struct twofiles *t)
{
	size_t nr_cpu = t->cpu_lanes.nr, nr_gpu = t->gpu_lanes.nr, i;
	uint64_t *tids = calloc(nr_cpu + nr_gpu + 1, sizeof(*tids));

	for (i = 0; tids && i < nr_cpu; i++)
		tids[i] = ID_KEY(t->cpu_lanes.v[i].pid, t->cpu_lanes.v[i].tid);
	for (i = 0; tids && i < nr_gpu; i++)
		tids[nr_cpu + i] = ID_KEY(t->gpu_lanes.v[i].pid, t->gpu_lanes.v[i].tid);
	return tids;
}

static int twofiles__align(struct twofiles *t, struct align *a, const struct align_opts *opts)
{
	size_t nr_cpu = t->events.nr, nr_gpu = t->launches.nr;
	struct align_event *events = calloc(nr_cpu + nr_gpu + 1, sizeof(*events));
	struct align_side cpu = { .events = events, .nr = nr_cpu };
	struct align_side gpu = { .events = events + nr_cpu, .nr = nr_gpu };
	struct idmap cpu_ids = { 0 }, gpu_ids = { 0 };
	bool pids_agree = twofiles__compare_pids(t);
	uint64_t *tids = NULL;
	uint32_t i, lane;
	int err = events ? 0 : -ENOMEM;

	for (i = 0; i < nr_cpu && !err; i++) {
		const struct stack_event *e = &t->events.v[i];

		err = twofiles__lane(t, false, &cpu_ids, e->pid, e->tid, &lane);
		events[i] = (struct align_event){
			.time_ns = e->time_ns, .thread = lane, .label = e->stack,
			.kind = t->stacks.v[e->stack].kind,
		};
		if (events[i].kind == CALL_KERNEL)
			events[i].name = kernel_names__of_path(&t->names, e->stack);
		if (pids_agree)
			events[i].kind += e->pid << 3;
		err = err ?: array_push(&t->cpu_lane_of, lane);
	}
	for (i = 0; i < nr_gpu && !err; i++) {
		const struct gpu_call *c = &t->gpu.calls.v[t->launches.v[i]];
		uint32_t kernel = t->kernels[t->launches.v[i]];

		err = twofiles__lane(t, true, &gpu_ids, twofiles__pid(t, c->pid), c->tid, &lane);
		events[nr_cpu + i] = (struct align_event){
			.time_ns = c->start_ns, .end_ns = c->end_ns, .thread = lane,
			.kind = c->kind,
		};
		if (kernel && kernel != SEVERAL_KERNELS)
			events[nr_cpu + i].name = kernel_names__of_kernel(&t->names, kernel - 1);
		if (pids_agree)
			events[nr_cpu + i].kind += c->pid << 3;
		err = err ?: array_push(&t->gpu_lane_of, lane);
	}
	/* Free the names: they are no longer needed, and there may be many. */
	kernel_names__exit(&t->names);
	free(t->kernels);
	t->kernels = NULL;
	cpu.nr_threads = t->cpu_lanes.nr;
	gpu.nr_threads = t->gpu_lanes.nr;
	if (!err)
		tids = twofiles__tids(t);
	if (!err && !tids)
		err = -ENOMEM;
	if (!err) {
		cpu.tids = tids;
		gpu.tids = tids + cpu.nr_threads;
		err = align__run(a, &cpu, &gpu, opts);
	}
	free(tids);
	free(events);
	idmap__free(&cpu_ids);
	idmap__free(&gpu_ids);
	return err;
}

/* ---- the imported recording ------------------------------------------------------------------ */

static uint32_t twofiles__proc(struct twofiles *t, uint32_t pid, const char *comm)
{
	uint32_t proc;

	if (idmap__get(&t->procs, pid, &proc))
		return proc;
	proc = import__process(t->im, pid, comm, 0);
	if (!t->im->err)
		t->im->err = idmap__put(&t->procs, pid, proc);
	return proc;
}

/*
 * twofiles__path - find or make a path of the recording
 * @stack: index of the stack, ALIGN_NONE or ALIGN_UNCERTAIN
 * @api: the called function, interned; used if the stack does not name its function
 */
static uint32_t twofiles__path(struct twofiles *t, uint32_t proc, uint32_t stack, const char *api,
			       uint64_t time_ns)
{
	const struct folded_stack *s = stack < t->stacks.nr ? &t->stacks.v[stack] : NULL;
	const struct path_key key = { .api = s && s->api ? s->api : api, .stack = stack,
				      .proc = proc };
	const char *known = strpool__intern(&t->path_keys, (const char *)&key, sizeof(key));
	const char *p, *end;
	uint32_t path;
	int err = 0;

	if (!known)
		t->im->err = t->im->err ?: -ENOMEM;
	if (t->im->err)
		return 0;
	if (strpool__id(known) < t->paths.nr)
		return t->paths.v[strpool__id(known)];
	t->frames.nr = 0;
	if (stack == ALIGN_UNCERTAIN)
		err = array_push(&t->frames, span__of("[uncertain]"));
	for (p = s ? s->text : NULL, end = p ? p + s->len : NULL; p && p < end && !err;) {
		struct span frame = { .s = p };

		p = memchr(p, ';', end - p) ?: end;
		frame.len = p++ - frame.s;
		trim(&frame);
		if (!frame.len)
			continue;
		frame.len = strnlen(frame.s, frame.len);
		if (span__is(frame, "<no-symbol>"))
			frame.s = NULL;
		err = array_push(&t->frames, frame);
	}
	if (!err && s && !t->frames.nr)
		err = array_push(&t->frames, (struct span){ 0 });
	t->im->err = err;
	path = import__path(t->im, proc, time_ns, key.api, t->frames.v, t->frames.nr);
	t->im->err = t->im->err ?: array_push(&t->paths, path);
	return path;
}

/*
 * Return: the recording's thread for a lane. If @comm is not NULL, it becomes the thread's name at
 * @time_ns.
 */
static uint32_t twofiles__thread(struct twofiles *t, struct lane *lane, uint32_t tid,
				 const char *comm, uint64_t time_ns)
{
	uint32_t proc = twofiles__proc(t, lane->pid, comm ?: "");

	if (!lane->thread) {
		lane->thread = import__thread(t->im, proc, tid);
		lane->told_tid = tid;
	}
	if (comm && comm != lane->comm) {
		/* The name also applies to the time before the thread's first stack. */
		import__comm(t->im, lane->pid, tid, lane->comm ? time_ns : 0, comm);
		lane->comm = comm;
	}
	return lane->thread;
}

static void twofiles__write_launches(struct twofiles *t, const struct align *a)
{
	struct twofile *out = t->out;
	uint32_t i, tid;

	for (i = 0; i < t->launches.nr; i++) {
		const struct gpu_call *c = &t->gpu.calls.v[t->launches.v[i]];
		struct lane *lane = &t->gpu_lanes.v[t->gpu_lane_of.v[i]];
		uint32_t pair = a->pair[t->gpu_lane_of.v[i]], match = a->match[i];
		const struct stack_event *e = match < t->events.nr ? &t->events.v[match] : NULL;

		if (e)
			out->nr_certain++;
		else if (match == ALIGN_UNCERTAIN)
			out->nr_uncertain++;
		else
			out->nr_no_stack++;
		/* Linux's thread id is more useful than CUPTI's thread id. */
		tid = pair == NO_INDEX ? lane->tid : t->cpu_lanes.v[pair].tid;
		twofiles__thread(t, lane, tid, e ? e->comm : NULL, c->start_ns);
		import__launch(t->im, c->start_ns, c->correlation_id,
			       twofiles__path(t, twofiles__proc(t, lane->pid, ""),
					      e ? e->stack : match, c->name, c->start_ns),
			       lane->thread);
		if (pair != NO_INDEX)
			t->cpu_lanes.v[pair].thread = lane->thread;
	}
	for (i = 0; i < t->events.nr; i++) {
		const struct stack_event *e = &t->events.v[i];
		struct lane *lane = &t->cpu_lanes.v[t->cpu_lane_of.v[i]];
		/* The time may be before time 0 of the other clock. */
		uint64_t time_ns = out->offset_ns < 0 ? e->time_ns - out->offset_ns :
				   xpu_ns_between(out->offset_ns, e->time_ns);

		/*
		 * If a stack may belong to one of the calls, do not import it as an additional
		 * launch.
		 */
		out->nr_uncertain_stacks += a->match_back[i] == ALIGN_UNCERTAIN;
		if (a->match_back[i] != ALIGN_NONE)
			continue;
		out->nr_no_launch++;
		if (!lane->thread)
			twofiles__thread(t, lane, lane->tid, e->comm, time_ns);
		import__launch(t->im, time_ns, 0,
			       twofiles__path(t, twofiles__proc(t, lane->pid, e->comm), e->stack,
					      "cudaLaunchKernel", time_ns), lane->thread);
	}
}

/*
 * Adds the launches of kinds for which there are no stacks, and the durations of calls.
 */
static void twofiles__write_others(struct twofiles *t)
{
	bool *done = calloc(t->gpu.calls.nr + 1, sizeof(*done));
	struct idmap ids = { 0 };
	uint32_t i, proc, lane = 0;
	bool timed;

	if (!done) {
		t->im->err = -ENOMEM;
		return;
	}
	for (i = 0; i < t->launches.nr; i++)
		done[t->launches.v[i]] = true;
	for (i = 0; i < t->gpu_lanes.nr && !t->im->err; i++)
		t->im->err = idmap__put(&ids, ID_KEY(t->gpu_lanes.v[i].pid, t->gpu_lanes.v[i].tid),
					i);
	for (i = 0; i < t->gpu.calls.nr && !t->im->err; i++) {
		const struct gpu_call *c = &t->gpu.calls.v[i];

		timed = t->gpu.has_durations && !twofiles__is_inner(t, i);
		if (!timed && (!t->launched[i] || done[i]))
			continue;
		t->im->err = twofiles__lane(t, true, &ids, twofiles__pid(t, c->pid), c->tid, &lane);
		if (t->im->err)
			break;
		twofiles__thread(t, &t->gpu_lanes.v[lane], c->tid, NULL, c->start_ns);
		proc = twofiles__proc(t, t->gpu_lanes.v[lane].pid, "");
		if (timed)
			import__call(t->im, proc, t->gpu_lanes.v[lane].told_tid, c->start_ns,
				     c->end_ns - c->start_ns, c->correlation_id, c->name);
		if (t->launched[i] && !done[i])
			import__launch(t->im, c->start_ns, c->correlation_id,
				       twofiles__path(t, proc, ALIGN_NONE, c->name, c->start_ns),
				       t->gpu_lanes.v[lane].thread);
	}
	idmap__free(&ids);
	free(done);
}

static void twofiles__write_device(struct twofiles *t, uint32_t proc, uint32_t device)
{
	static const uint8_t no_uuid[16];

	array_each(&t->gpu.devices, d)
		if (d->id == device)
			import__device(t->im, proc, device, d->name, no_uuid);
}

static void twofiles__write_works(struct twofiles *t)
{
	uint64_t first_ns = UINT64_MAX, last_ns = 0;
	struct idmap devices = { 0 };
	int added;
	uint32_t i, pid, proc;

	array_each(&t->gpu.works, w) {
		if (twofiles__find_call(t, w, &pid) == NO_INDEX && !w->pid) {
			/*
			 * The device work is an orphan: its process is unknown, so use any process.
			 */
			pid = t->index.pids.nr ? t->index.pids.v[0] : t->events.nr ?
			      t->events.v[0].pid : 1;
			if (t->index.pids.nr > 1)
				w->w.correlation_id = 0;
		}
		proc = twofiles__proc(t, twofiles__pid(t, pid), "");
		added = idmap__add(&devices, ID_KEY(proc, w->device), 0);
		if (added > 0)
			twofiles__write_device(t, proc, w->device);
		t->im->err = t->im->err ?: min_t(int, added, 0);
		w->w.stream = import__stream(t->im, proc, w->device, w->context, w->stream);
		gputrace__write_work(&t->gpu, t->im, proc, w);
		t->out->work_ns += w->w.duration_ns;
		if (w->w.start_ns)
			first_ns = min_t(uint64_t, first_ns, w->w.start_ns);
		last_ns = max_t(uint64_t, last_ns, w->w.start_ns + w->w.duration_ns);
	}
	for (i = 0; i < t->gpu.calls.nr; i++) {
		first_ns = min_t(uint64_t, first_ns, t->gpu.calls.v[i].start_ns);
		last_ns = max_t(uint64_t, last_ns, t->gpu.calls.v[i].end_ns);
	}
	t->out->gpu_ns = xpu_ns_between(first_ns, last_ns);
	idmap__free(&devices);
}

/* Adds messages about records that are read only without stacks from another file. */
static void twofiles__complain_unread(struct twofiles *t, const char *name)
{
	const struct {
		size_t nr;
		const char *one, *many;
	} unread[] = {
		{ t->gpu.memory.nr, "event of memory is", "events of memory are" },
		{ t->gpu.ops.nr, "operator, function or annotation is",
		  "operators, functions and annotations are" },
		{ t->gpu.syncs.nr, "record of a wait is", "records of waits are" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(unread); i++) {
		if (unread[i].nr)
			msgs__add(t->msgs, "%s: %zu %s read only without --cpu", name,
				  unread[i].nr, PLURAL(unread[i].nr, unread[i].one,
						       unread[i].many));
		t->out->odd |= unread[i].nr;
	}
}

/* Adds messages about odd input. Return: 0, or -EINVAL if the files contain no events. */
static int twofiles__complain(struct twofiles *t, const struct twofile_opts *opts)
{
	if (opts->cpu && !t->events.nr)
		return msgs__refuse(t->msgs, "%s: cannot find any stacks: expected lines "
				    "'timestamp_ns comm pid tid cpu frame;frame;...'", opts->cpu);
	gputrace__complain_unread(&t->gpu, opts->gpu, t->msgs);
	if (!t->gpu.calls.nr && !t->gpu.works.nr) {
		gputrace__complain_empty(&t->gpu, opts->gpu, t->msgs);
		return -EINVAL;
	}
	if (t->nr_strange)
		msgs__add(t->msgs, "%s: %" PRIu64 " %s: ignored", opts->cpu, t->nr_strange,
			  PLURAL(t->nr_strange, "line is not a stack", "lines are not stacks"));
	gputrace__complain(&t->gpu, opts->gpu, t->msgs);
	twofiles__complain_unread(t, opts->gpu);
	t->out->odd |= t->nr_strange || gputrace__is_odd(&t->gpu);
	t->out->damaged |= t->gpu.damage != NULL;
	if (opts->cpu && !t->launches.nr)
		msgs__add(t->msgs, "%s: cannot find API calls that match the stacks", opts->gpu);
	return 0;
}

struct gpu_reader {
	struct gputrace *trace;
	const char *path;
	struct input_file *input;
	int err;
};

static void *gpu_reader__run(void *arg)
{
	struct gpu_reader *r = arg;

	r->err = gputrace__read(r->trace, r->path, r->input);
	input_file__close(r->input);
	return NULL;
}

/* Reads both files, in parallel if there are two. Return: 0 or -ENOMEM. */
static int twofiles__read(struct twofiles *t, struct input_file *cpu, const char *path,
			  struct input_file *gpu)
{
	struct gpu_reader reader = { .trace = &t->gpu, .path = path, .input = gpu };
	bool alone = !cpu;
	pthread_t thread;
	int err = 0;

	if (!alone)
		alone = pthread_create(&thread, NULL, gpu_reader__run, &reader);
	if (alone)
		gpu_reader__run(&reader);
	if (cpu) {
		err = twofiles__read_stacks(t, cpu);
		input_file__close(cpu);
	}
	if (!alone)
		pthread_join(thread, NULL);
	return err ?: reader.err;
}

/* Fills in the statistics of the match. */
static void twofiles__summarize(const struct twofiles *t, const struct align *a)
{
	struct twofile *out = t->out;
	uint32_t i;

	out->offset_ns = a->offset_ns;
	out->jitter_ns = a->jitter_ns;
	out->drift_ppm = a->drift_ppm;
	out->nr_offsets = a->nr_offsets;
	memcpy(out->stretches, a->stretches, sizeof(out->stretches));
	out->nr_stretches = a->nr_stretches;
	out->was_set = a->was_set;
	out->nr_stacks = t->events.nr;
	out->nr_paths = t->stacks.nr;
	out->nr_launches = t->launches.nr;
	out->nr_calls = t->gpu.calls.nr;
	out->nr_works = t->gpu.works.nr;
	out->nr_stack_threads = t->cpu_lanes.nr;
	out->nr_launch_threads = t->gpu_lanes.nr;
	for (i = 0; i < t->gpu_lanes.nr; i++)
		out->nr_pairs += a->pair[i] != NO_INDEX;
	if (t->events.nr)
		out->stacks_ns = t->events.v[t->events.nr - 1].time_ns - t->events.v[0].time_ns;
}

/* Return: whether all stacks have the process id in place of a thread id. */
static bool twofiles__lacks_tids(const struct twofiles *t)
{
	uint32_t i, threads = 0;

	for (i = 0; i < t->cpu_lanes.nr; i++) {
		if (t->cpu_lanes.v[i].tid != t->cpu_lanes.v[i].pid)
			return false;
		threads++;
	}
	return threads && threads < t->gpu_lanes.nr;
}

/* Sets @text to the offsets of all stretches. Return: @text. */
static const char *twofile__stretches(const struct twofile *t, char *text, size_t size)
{
	const struct align_stretch *s = t->stretches;
	size_t len = 0;
	uint32_t i;

	text[0] = 0;
	for (i = 0; i < t->nr_stretches && len < size; i++, s++) {
		len += snprintf(text + len, size - len, "%s%s", i ? ", then " : "",
				s->known ? "" : "unknown");
		if (s->known && len < size)
			len += snprintf(text + len, size - len, "%+.6f ms", s->offset_ns / 1e6);
		if (len < size)
			len += snprintf(text + len, size - len, " for %" PRIu32 " %s", s->nr,
					PLURAL(s->nr, "stack", "stacks"));
	}
	return text;
}

/* Adds a message that says why launches are uncertain, and how to make them certain. */
static void twofiles__explain(const struct twofiles *t, const struct align *a,
			      const struct twofile_opts *opts)
{
	char text[ALIGN_STRETCHES * 64];

	if (t->out->was_set)
		msgs__add(t->msgs, "%s: a clock seems to have been set during the recording: the "
			  "best offset to the clock of %s is %s", opts->cpu, opts->gpu,
			  twofile__stretches(t->out, text, sizeof(text)));
	if (a->nr_offsets > 1)
		msgs__add(t->msgs,
			  "%s: several clock offsets fit equally well, %.6f ms and %.6f ms "
			  "for two: only launches that have one call path under all of them are "
			  "matched",
			  opts->cpu, a->offset_ns / 1e6, a->other_offset_ns / 1e6);
	else if (!a->nr_offsets && t->events.nr && t->launches.nr)
		msgs__add(t->msgs, "%s: no clock offset brings all its stacks near the calls in "
				   "%s: only stacks that name their kernel are "
				   "matched", opts->cpu, opts->gpu);
	if (!t->out->nr_uncertain)
		return;
	if (twofiles__lacks_tids(t))
		msgs__add(t->msgs, "%s: its stacks have the process's id in place of the thread's, "
				   "so stacks of several threads cannot be told apart: record the "
				   "thread's own id, the lower 32 bits of "
				   "bpf_get_current_pid_tgid() or tid in bpftrace",
			  opts->cpu);
	if (!t->out->nr_named)
		msgs__add(t->msgs,
			  "%s: no stack names the kernel that it launches: record programs "
			  "that are not stripped, with frames up to __device_stub__..., the caller "
			  "of cudaLaunchKernel",
			  opts->cpu);
}

static void twofiles__exit(struct twofiles *t)
{
	array_free(&t->frames);
	array_free(&t->gpu_lane_of);
	array_free(&t->cpu_lane_of);
	array_free(&t->gpu_lanes);
	array_free(&t->cpu_lanes);
	array_free(&t->launches);
	array_free(&t->events);
	array_free(&t->stacks);
	array_free(&t->paths);
	strpool__free(&t->path_keys);
	idmap__free(&t->procs);
	call_index__free(&t->index);
	strpool__free(&t->lines);
	strpool__free(&t->strings);
	free(t->kernels);
	kernel_names__exit(&t->names);
	free(t->launched);
	gputrace__exit(&t->gpu);
}

int twofile__read(struct twofile *out, struct import *im, const struct twofile_opts *opts,
		  struct input_file *cpu, struct input_file *gpu, struct msgs *msgs)
{
	struct align_opts align_opts = {
		.tolerance_ns = opts->tolerance_ns, .max_offset_ns = MAX_OFFSET_NS,
	};
	struct twofiles t = { .out = out, .im = im, .msgs = msgs };
	struct align a = { 0 };
	uint32_t i;
	int err;

	memset(out, 0, sizeof(*out));
	err = twofiles__read(&t, cpu, opts->gpu, gpu);
	t.launched = calloc(t.gpu.calls.nr + 1, sizeof(*t.launched));
	t.kernels = calloc(t.gpu.calls.nr + 1, sizeof(*t.kernels));
	if (!err && (!t.launched || !t.kernels))
		err = -ENOMEM;
	err = err ?: twofiles__index_calls(&t);
	err = err ?: twofiles__list_launches(&t);
	err = err ?: twofiles__complain(&t, opts);
	err = err ?: twofiles__align(&t, &a, &align_opts);
	if (err)
		goto out;
	twofiles__summarize(&t, &a);
	/* Make the processes first, because only the stacks contain their names. */
	for (i = 0; i < t.events.nr; i++)
		twofiles__proc(&t, t.events.v[i].pid, t.events.v[i].comm);
	twofiles__write_launches(&t, &a);
	twofiles__explain(&t, &a, opts);
	twofiles__write_others(&t);
	twofiles__write_works(&t);
	err = im->err;
out:
	align__exit(&a);
	twofiles__exit(&t);
	return err;
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * part / whole : 0;
}

void twofile__print(const struct twofile *t, FILE *f, bool summary)
{
	char text[ALIGN_STRETCHES * 64];

	if (t->nr_stacks)
		fprintf(f, "by time: launches %" PRIu64 " certain %" PRIu64 " uncertain %" PRIu64
			" without stack %" PRIu64 "; stacks %" PRIu64 " without launch %" PRIu64
			" uncertain %" PRIu64 "\n", t->nr_launches, t->nr_certain, t->nr_uncertain,
			t->nr_no_stack, t->nr_stacks, t->nr_no_launch, t->nr_uncertain_stacks);
	if (!summary)
		return;
	fprintf(f, "  %" PRIu64 " API calls and %" PRIu64 " device records in %.3f ms, %.3f ms of "
		"device time\n", t->nr_calls, t->nr_works, t->gpu_ns / 1e6, t->work_ns / 1e6);
	if (!t->nr_stacks)
		return;
	fprintf(f, "  %" PRIu64 " stacks in %.3f ms, of %" PRIu32 " threads; launches of %" PRIu32
		", %" PRIu32 " of them told apart\n", t->nr_stacks, t->stacks_ns / 1e6,
		t->nr_stack_threads, t->nr_launch_threads, t->nr_pairs);
	fprintf(f, "  %" PRIu32 " of %" PRIu32 " call paths name the kernel that they launch\n",
		t->nr_named, t->nr_paths);
	if (t->was_set || (t->nr_offsets == 1 && t->nr_stretches > 1))
		fprintf(f, "  clock of the stacks against the clock of the calls%s: %s; jitter "
			"%.1f us\n", t->was_set ? ", one of which seems to have been set" : "",
			twofile__stretches(t, text, sizeof(text)), t->jitter_ns / 1e3);
	else if (t->nr_offsets == 1)
		fprintf(f, "  clock of the stacks %+.6f ms against the clock of the calls, drift "
			"%+.1f ppm, jitter %.1f us\n", t->offset_ns / 1e6, t->drift_ppm,
			t->jitter_ns / 1e3);
	fprintf(f, "  certain %.2f %%, uncertain %.2f %%, without stack %.2f %% of the launches\n",
		percent(t->nr_certain, t->nr_launches), percent(t->nr_uncertain, t->nr_launches),
		percent(t->nr_no_stack, t->nr_launches));
}
