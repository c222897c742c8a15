// SPDX-License-Identifier: GPL-3.0-or-later
#include "import/trace.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "import/gputrace.h"
#include "import/nest.h"

#define YEAR_2000_NS	946684800000000000ull	/* earlier times are from another clock */

/* a thread in a file */
struct trace_thread {
	uint32_t pid;
	uint32_t tid_id;		/* index in tids */
	uint64_t tid;
	const char *name;		/* kept in gpu.names, or NULL */
	uint32_t thread;		/* thread in the recording; 0: not made yet */
};

/* the place of a call */
struct trace_place {
	uint32_t path, thread, range;	/* 0: unknown */
	bool wanted;			/* the place is needed, because the call allocates memory */
};

struct trace_file {
	struct trace *out;
	struct import *im;
	const char *path;
	struct msgs *msgs;
	struct input_file input;
	struct gputrace gpu;
	bool pids_known;		/* no other file has any of this file's pids */
	struct call_index index;	/* index of the outermost calls */
	bool *launched;			/* for each call: whether it has device work, or its
					 * function launches device work */
	struct trace_place *places;	/* by call; NULL: the file has no memory events */
	struct idmap procs;		/* maps pid to process of the recording */
	struct idmap devices;		/* maps (pid, device) of device work to its API */
	enum xpu_api api;		/* API of the first launch */
	struct idmap name_ids;		/* maps (pid, id in tids) to an index in gpu.thread_names */
	struct idmap thread_ids;	/* maps (pid, id in tids) to an index in threads */
	ARRAY(struct trace_thread) threads;
	struct strpool tids;
	struct paths frames, annotations;
	struct idmap paths;		/* maps (node of frames, function) to a path */
	struct idmap annotation_paths;	/* maps (node of annotations, function) to a path */
	ARRAY(struct span) names;
};

typedef ARRAY(uint32_t) uint32s_t;

struct traces {
	struct trace *out;
	struct import *im;
	struct trace_file *files;
	size_t nr;
};

/* ---- calls ----------------------------------------------------------------------------------- */

/*
 * Return: whether @a is the outer call of two nested calls with the same id. A driver call is
 * inside a runtime call.
 */
static bool gpu_call__is_outer(const struct gpu_call *a, const struct gpu_call *b)
{
	if (a->driver != b->driver)
		return b->driver;
	return a->start_ns < b->start_ns;
}

static int trace_file__index_calls(struct trace_file *f)
{
	struct gpu_call *calls = f->gpu.calls.v, swap;
	uint32_t i, other;
	int err;

	for (i = 0; i < f->gpu.calls.nr; i++) {
		err = call_index__add(&f->index, &calls[i], i, &other);
		if (err < 0)
			return err;
		f->launched[i] = calls[i].correlation_id && calls[i].kind != CALL_OTHER;
		if (other == NO_INDEX)
			continue;
		f->launched[other] |= f->launched[i];
		if (gpu_call__is_outer(&calls[i], &calls[other])) {
			swap = calls[other];
			calls[other] = calls[i];
			calls[i] = swap;
		}
	}
	return 0;
}

/* Return: whether another call with the same id contains this call. */
static bool trace_file__is_inner(const struct trace_file *f, uint32_t call)
{
	const struct gpu_call *c = &f->gpu.calls.v[call];
	uint32_t outer;

	return c->correlation_id &&
	       idmap__get(&f->index.calls, ID_KEY(c->pid, c->correlation_id), &outer) &&
	       outer != call;
}

/*
 * trace_file__find_call - find the call of device work by correlation id
 * @pid: process of the work; if 0, set to the process that has the id, unless several processes
 *	have it
 */
static uint32_t trace_file__find_call(const struct trace_file *f, uint32_t correlation_id,
				      uint32_t *pid)
{
	uint32_t call = correlation_id ?
			call_index__find(&f->index, *pid, correlation_id) : NO_INDEX;

	if (call != NO_INDEX)
		*pid = f->gpu.calls.v[call].pid;
	return call;
}

/*
 * Return: the API of the call @name. All calls of a PyTorch file have the same API, because calls
 * of a lower layer use the devices and queues of the upper layer.
 */
static enum xpu_api trace_file__api(const struct trace_file *f, const char *name)
{
	return f->gpu.linked ? gpu_api__of(name, strlen(name)) : f->api;
}

/* Marks the calls that launch device work, and finds the API of the first launch. */
static void trace_file__mark_launches(struct trace_file *f)
{
	uint32_t i, pid, call;
	const char *name;

	for (i = 0; i < f->gpu.works.nr; i++) {
		pid = f->gpu.works.v[i].pid;
		call = trace_file__find_call(f, f->gpu.works.v[i].w.correlation_id, &pid);
		if (call != NO_INDEX)
			f->launched[call] = true;
	}
	for (i = 0; i < f->gpu.calls.nr && !f->launched[i]; i++)
		;
	name = i < f->gpu.calls.nr ? f->gpu.calls.v[i].name : "";
	f->api = f->gpu.api ?: gpu_api__of(name, strlen(name));
	for (i = 0; i < f->gpu.memory.nr; i++) {
		pid = f->gpu.memory.v[i].pid;
		call = trace_file__find_call(f, f->gpu.memory.v[i].correlation_id, &pid);
		if (call != NO_INDEX)
			f->places[call].wanted = !f->gpu.memory.v[i].freed ||
						 f->places[call].wanted;
	}
}

/*
 * ---- processes and threads --------------------------------------------------------------------
 */

/* Return: the index of @tid among the file's thread ids, or NO_INDEX if memory is short. */
static uint32_t trace_file__tid_id(struct trace_file *f, uint64_t tid)
{
	const char *s = strpool__intern(&f->tids, (const char *)&tid, sizeof(tid));

	return s ? strpool__id(s) : NO_INDEX;
}

/* Indexes names by process and thread. The name of the process itself has the thread NO_INDEX. */
static int trace_file__index_names(struct trace_file *f)
{
	uint32_t i, id;
	int err = 0;

	for (i = 0; i < f->gpu.thread_names.nr && err >= 0; i++) {
		const struct gpu_name *n = &f->gpu.thread_names.v[i];

		id = n->thread ? trace_file__tid_id(f, n->tid) : NO_INDEX;
		if (n->thread && id == NO_INDEX)
			return -ENOMEM;
		err = idmap__add(&f->name_ids, ID_KEY(n->pid, id), i);
	}
	return min_t(int, err, 0);
}

static const char *trace_file__name_of(const struct trace_file *f, uint32_t pid, uint32_t tid_id)
{
	uint32_t i;

	return idmap__get(&f->name_ids, ID_KEY(pid, tid_id), &i) ?
		f->gpu.thread_names.v[i].name : NULL;
}

/*
 * Return: the process of @pid. A process with a rank is named after its rank, because all ranks run
 * the same program.
 */
static uint32_t trace_file__proc(struct trace_file *f, uint32_t pid)
{
	char comm[XPU_COMM_LEN];
	uint32_t proc;

	if (idmap__get(&f->procs, pid, &proc))
		return proc;
	if (f->gpu.has_rank)
		snprintf(comm, sizeof(comm), "rank %" PRIu32, f->gpu.rank);
	else
		snprintf(comm, sizeof(comm), "%s",
			 trace_file__name_of(f, pid, NO_INDEX) ?: "");
	proc = import__process(f->im, pid, comm, 0);
	f->im->err = f->im->err ?: idmap__put(&f->procs, pid, proc);
	return proc;
}

/*
 * Gets a thread's name from PyTorch's form "thread 1234 (pt_autograd_0)": the part in parentheses,
 * unless it is the process's name.
 */
static void trace_thread__comm(const struct trace_file *f, const struct trace_thread *t,
			       char comm[XPU_COMM_LEN])
{
	const char *name = t->name, *process = trace_file__name_of(f, t->pid, NO_INDEX);
	const char *open = name ? strchr(name, '(') : NULL;
	size_t len = name ? strlen(name) : 0;

	comm[0] = 0;
	if (open && !strncmp(name, "thread ", 7) && name[len - 1] == ')') {
		name = open + 1;
		len = strlen(name) - 1;
		/* This is the process's name, not the thread's own name. */
		if (process && strlen(process) == len && !memcmp(name, process, len))
			return;
	} else if (name && !strncmp(name, "thread ", 7) && isdigit((unsigned char)name[7])) {
		return;
	}
	if (!name || !len)
		return;
	if (f->gpu.has_rank)
		snprintf(comm, XPU_COMM_LEN, "rank %" PRIu32 " %.*s", f->gpu.rank,
			 (int)min_t(size_t, len, XPU_COMM_LEN), name);
	else
		snprintf(comm, XPU_COMM_LEN, "%.*s", (int)min_t(size_t, len, XPU_COMM_LEN), name);
}

/* Return: the index of a thread of the file. */
static uint32_t trace_file__thread(struct trace_file *f, uint32_t pid, uint64_t tid)
{
	struct trace_thread new = { .pid = pid, .tid = tid };
	uint32_t thread;
	uint64_t key;

	if (f->im->err)
		return 0;
	new.tid_id = trace_file__tid_id(f, tid);
	if (new.tid_id == NO_INDEX) {
		f->im->err = -ENOMEM;
		return 0;
	}
	key = ID_KEY(pid, new.tid_id);
	if (idmap__get(&f->thread_ids, key, &thread))
		return thread;
	thread = f->threads.nr;
	f->im->err = idmap__put(&f->thread_ids, key, thread);
	f->im->err = f->im->err ?: array_push(&f->threads, new);
	return thread;
}

/* Return: the recording's thread for a thread of the file. */
static uint32_t trace_file__import_thread(struct trace_file *f, uint32_t thread)
{
	struct trace_thread *t;
	char comm[XPU_COMM_LEN];
	uint32_t proc;

	if (f->im->err)
		return 0;
	t = &f->threads.v[thread];
	if (t->thread)
		return t->thread;
	proc = trace_file__proc(f, t->pid);
	t->thread = import__thread(f->im, proc, t->tid);
	t->name = trace_file__name_of(f, t->pid, t->tid_id);
	trace_thread__comm(f, t, comm);
	/*
	 * The recording identifies a thread by pid and tid when it names the thread. If files share
	 * a pid, a thread of another rank might get the same name.
	 */
	if (*comm && f->pids_known)
		import__comm(f->im, t->pid, t->tid, 0, comm);
	return t->thread;
}

/* ---- operators, functions and annotations of threads ----------------------------------------- */

static uint32_t trace_file__root(void *ctx, uint32_t thread)
{
	struct trace_file *f = ctx;

	return paths__root(&f->frames, trace_file__proc(f, f->threads.v[thread].pid));
}

static uint32_t trace_file__frame(struct trace_file *f, uint32_t node, const char *s, size_t len)
{
	const char *name;

	while (len && *s == ' ') {
		s++;
		len--;
	}
	if (!len)
		return node;
	name = strpool__intern(&f->gpu.names, s, len);
	if (!name) {
		f->frames.err = -ENOMEM;
		return 0;
	}
	return paths__child(&f->frames, node, name);
}

/* Adds the frames of the outermost operator's @stack, which begins with the innermost frame. */
static uint32_t trace_file__stack(struct trace_file *f, uint32_t node, const char *stack)
{
	const char *end = stack + strlen(stack), *p;

	while (end > stack) {
		p = memrchr(stack, ';', end - stack);
		node = trace_file__frame(f, node, p ? p + 1 : stack, end - (p ? p + 1 : stack));
		end = p ?: stack;
	}
	return node;
}

/* Adds a frame for each module in "TOP(ResNet)::forward.layer1(Sequential)::forward". */
static uint32_t trace_file__modules(struct trace_file *f, uint32_t node, const char *modules)
{
	const char *p = modules, *from = modules;
	int depth = 0;

	for (;; p++) {
		depth += *p == '(';
		depth -= *p == ')' && depth;
		if (*p && (*p != '.' || depth))
			continue;
		node = trace_file__frame(f, node, from, p - from);
		if (!*p)
			return node;
		from = p + 1;
	}
}

static uint32_t trace_file__enter_op(void *ctx, uint32_t node, const struct nest_range *range)
{
	struct trace_file *f = ctx;
	const struct gpu_op *op = &f->gpu.ops.v[range->item];

	if (node && !f->frames.nodes.v[node].parent) {
		if (op->stack)
			node = trace_file__stack(f, node, op->stack);
		if (op->modules)
			node = trace_file__modules(f, node, op->modules);
	}
	return paths__child(&f->frames, node, op->name);
}

static uint32_t trace_file__annotation_root(void *ctx, uint32_t thread)
{
	struct trace_file *f = ctx;

	return paths__root(&f->annotations, trace_file__proc(f, f->threads.v[thread].pid));
}

/* Return: the range of a node; each range is made only once. */
static uint32_t trace_file__range(struct trace_file *f, uint32_t node)
{
	struct path_node *n;

	if (f->annotations.err || !node)
		return 0;
	n = &f->annotations.nodes.v[node];
	if (!n->parent)
		return 0;
	if (!n->value)
		n->value = import__range(f->im, n->proc, f->annotations.nodes.v[n->parent].value,
					 span__of(n->name), span__of(""));
	return n->value;
}

static uint32_t trace_file__enter_annotation(void *ctx, uint32_t node,
					     const struct nest_range *range)
{
	struct trace_file *f = ctx;

	node = paths__child(&f->annotations, node, f->gpu.ops.v[range->item].name);
	trace_file__range(f, node);
	return node;
}

static void trace_file__annotation_event(void *ctx, const struct nest_range *range, bool opened,
					 uint64_t time_ns, uint32_t node, uint32_t place)
{
	struct trace_file *f = ctx;
	bool mark = f->gpu.ops.v[range->item].mark;

	if (!mark || opened)
		import__range_event(f->im, time_ns, trace_file__import_thread(f, range->thread),
				    trace_file__range(f, node), mark ? XPU_RANGE_MARK :
				    opened ? XPU_RANGE_PUSH : XPU_RANGE_POP, mark ? 0 : place);
}

/* Finds the ranges that are open at @points, and sets the points' nodes. */
static int trace_file__nest(struct trace_file *f, bool annotations, struct nest_point *points,
			    size_t nr)
{
	struct nest n = {
		.max_depth = annotations ? XPU_RANGE_DEPTH : XPU_MAX_FRAMES,
		.root = annotations ? trace_file__annotation_root : trace_file__root,
		.enter = annotations ? trace_file__enter_annotation : trace_file__enter_op,
		.event = annotations ? trace_file__annotation_event : NULL,
		.ctx = f,
	};
	ARRAY(struct nest_range) ranges = { 0 };
	uint32_t i;
	int err = 0;

	for (i = 0; i < f->gpu.ops.nr && !err; i++) {
		const struct gpu_op *op = &f->gpu.ops.v[i];
		struct nest_range r = { op->start_ns, op->end_ns, 0, i };

		if ((op->kind == OP_ANNOTATION) != annotations)
			continue;
		r.thread = trace_file__thread(f, op->pid, op->tid);
		err = array_push(&ranges, r);
	}
	err = err ?: f->im->err;
	err = err ?: nest__sweep(&n, ranges.v, ranges.nr, points, nr);
	f->out->nr_too_deep += n.nr_too_deep;
	array_free(&ranges);
	return err ?: f->frames.err ?: f->annotations.err ?: f->im->err;
}

/* ---- the imported recording ------------------------------------------------------------------ */

/* Return: the path that leads to a call of @api; each path is made only once. */
static uint32_t trace_file__path(struct trace_file *f, struct paths *from, struct idmap *known,
				 uint32_t node, const struct gpu_call *c)
{
	uint64_t key = ID_KEY(node, strpool__id(c->name));
	uint32_t path, i;
	size_t k;

	if (f->im->err || idmap__get(known, key, &path))
		return f->im->err ? 0 : path;
	f->names.nr = 0;
	for (i = node; from->nodes.v[i].parent && !f->im->err; i = from->nodes.v[i].parent)
		f->im->err = array_push(&f->names, span__of(from->nodes.v[i].name));
	for (k = 0; k < f->names.nr / 2; k++) {
		struct span s = f->names.v[k];

		f->names.v[k] = f->names.v[f->names.nr - 1 - k];
		f->names.v[f->names.nr - 1 - k] = s;
	}
	path = import__path(f->im, from->nodes.v[node].proc, c->start_ns, c->name, f->names.v,
			    f->names.nr);
	f->im->err = f->im->err ?: idmap__put(known, key, path);
	return path;
}

/*
 * Sets @w to the wait of @call, whose function waits. The wait is from the call's wait record. If
 * there is no record, and the process has one context, the wait is for this context.
 * Return: whether the context is known.
 */
static bool trace_file__waits(const struct trace_file *f, const struct idmap *syncs,
			      const struct idmap *contexts, uint32_t call, struct import_wait *w)
{
	const struct gpu_call *c = &f->gpu.calls.v[call];
	const struct gpu_sync *s;
	uint32_t i;

	if (idmap__get(syncs, c->correlation_id, &i) && c->correlation_id) {
		s = &f->gpu.syncs.v[i];
		w->context = s->context;
		w->stream = s->stream;
		w->flags = s->of_stream ? XPU_WAIT_STREAM : 0;
		return true;
	}
	/* If the process has several contexts, the context of the call is unknown. */
	w->flags = 0;
	return idmap__get(contexts, c->pid, &w->context) && w->context != NO_INDEX;
}

/* Notes that device work of process @pid has the context @context. Return: 0 or -ENOMEM. */
static int contexts__see(struct idmap *contexts, uint32_t pid, uint32_t context)
{
	int added = idmap__add(contexts, pid, context);
	uint32_t *known = added ? NULL : idmap__find(contexts, pid);

	if (known && *known != context)
		*known = NO_INDEX;
	return min_t(int, added, 0);
}

/* Finds the context of each process, by pid; NO_INDEX: the process has several contexts. */
static int trace_file__contexts(const struct trace_file *f, struct idmap *contexts)
{
	uint32_t i, pid, context;
	int err = 0;

	for (i = 0; i < f->gpu.works.nr && !err; i++) {
		pid = f->gpu.works.v[i].pid;
		trace_file__find_call(f, f->gpu.works.v[i].w.correlation_id, &pid);
		err = contexts__see(contexts, pid, f->gpu.works.v[i].context);
	}
	/* Device work of an unknown process may belong to any process. */
	if (!err && idmap__get(contexts, 0, &context))
		for (i = 0; i < f->index.pids.nr && !err; i++)
			err = contexts__see(contexts, f->index.pids.v[i], context);
	return err;
}

/* Adds messages about waits that are left out. @nr_unknown: number of waits of unknown contexts */
static void trace_file__complain_waits(struct trace_file *f, uint64_t nr_unknown)
{
	uint64_t nr_alone = 0;
	uint32_t call;

	array_each(&f->gpu.syncs, s)
		nr_alone += !idmap__get(&f->index.only, s->correlation_id, &call);
	if (nr_unknown)
		msgs__add(f->msgs, "%s: %" PRIu64 " %s for a context that the file does not name: "
			  "left out", f->path, nr_unknown,
			  PLURAL(nr_unknown, "call waits", "calls wait"));
	if (nr_alone)
		msgs__add(f->msgs, "%s: %" PRIu64 " %s no call in the file: left out", f->path,
			  nr_alone, PLURAL(nr_alone, "record of a wait has",
					   "records of waits have"));
	f->out->odd |= nr_unknown || nr_alone;
}

static int trace_file__write_calls(struct trace_file *f, const struct nest_point *frames,
				   const struct nest_point *annotations, size_t nr)
{
	struct idmap syncs = { 0 }, contexts = { 0 };
	struct trace *out = f->out;
	struct trace_place *place;
	uint32_t i, thread, path, waiting = NO_INDEX;
	uint64_t waits_until_ns = 0, nr_unknown = 0;
	size_t p;
	int err = trace_file__contexts(f, &contexts);

	for (i = 0; i < f->gpu.syncs.nr && !err; i++)
		if (idmap__add(&syncs, f->gpu.syncs.v[i].correlation_id, i) < 0)
			err = -ENOMEM;
	for (p = 0; p < nr && !err; p++) {
		const struct gpu_call *c = &f->gpu.calls.v[frames[p].item];
		bool launch = f->launched[frames[p].item];
		struct import_wait w = {
			.start_ns = c->start_ns, .duration_ns = c->end_ns - c->start_ns,
		};
		bool waits = gpu_api__waits(c->name);

		/* A waiting call that makes a lower-level waiting call is one wait. */
		if (waits && waiting == frames[p].thread && c->end_ns <= waits_until_ns)
			waits = false;
		if (waits) {
			waiting = frames[p].thread;
			waits_until_ns = c->end_ns;
			waits = trace_file__waits(f, &syncs, &contexts, frames[p].item, &w);
			nr_unknown += !waits;
		}
		f->im->api = trace_file__api(f, c->name);
		thread = trace_file__import_thread(f, frames[p].thread);
		if (f->gpu.has_durations)
			import__call(f->im, trace_file__proc(f, c->pid), (uint32_t)c->tid,
				     c->start_ns, c->end_ns - c->start_ns, c->correlation_id,
				     c->name);
		place = f->places ? &f->places[frames[p].item] : NULL;
		if (!launch && !waits && !(place && place->wanted))
			continue;
		if (f->im->err)
			break;
		w.range = trace_file__range(f, annotations[p].node);
		if (f->frames.nodes.v[frames[p].node].parent || !w.range) {
			path = trace_file__path(f, &f->frames, &f->paths, frames[p].node, c);
			out->nr_in_ops += launch && f->frames.nodes.v[frames[p].node].parent;
			out->nr_no_stack += launch && !f->frames.nodes.v[frames[p].node].parent;
		} else {
			path = trace_file__path(f, &f->annotations, &f->annotation_paths,
						annotations[p].node, c);
			out->nr_in_annotations += launch;
		}
		out->nr_launches += launch;
		if (launch)
			import__launch_in(f->im, c->start_ns, c->correlation_id, path, thread,
					  w.range);
		w.path = path;
		w.thread = thread;
		if (place)
			*place = (struct trace_place){ path, thread, w.range, true };
		if (waits && w.duration_ns)
			import__wait(f->im, &w);
		err = f->im->err;
	}
	trace_file__complain_waits(f, nr_unknown);
	idmap__free(&contexts);
	idmap__free(&syncs);
	return err ?: f->im->err;
}

/* Return: the process to use for device work whose process is unknown. */
static uint32_t trace_file__any_pid(const struct trace_file *f)
{
	return f->index.pids.nr ? f->index.pids.v[0] : 1;
}

static void trace_file__write_works(struct trace_file *f)
{
	uint32_t i, pid, proc, call;
	const char *name;

	for (i = 0; i < f->gpu.works.nr && !f->im->err; i++) {
		struct gpu_work *w = &f->gpu.works.v[i];

		pid = w->pid;
		call = trace_file__find_call(f, w->w.correlation_id, &pid);
		name = call == NO_INDEX ? NULL : f->gpu.calls.v[call].name;
		f->im->api = name ? trace_file__api(f, name) : w->api ?: f->api;
		if (call == NO_INDEX && !pid) {
			/*
			 * The device work is an orphan: its process is unknown, so use any process.
			 */
			pid = trace_file__any_pid(f);
			if (f->index.pids.nr > 1)
				w->w.correlation_id = 0;
		}
		proc = trace_file__proc(f, pid);
		if (idmap__add(&f->devices, ID_KEY(pid, w->device), f->im->api) < 0)
			f->im->err = -ENOMEM;
		w->w.stream = import__stream(f->im, proc, w->device, w->context, w->stream);
		gputrace__write_work(&f->gpu, f->im, proc, w);
		f->out->work_ns += w->w.duration_ns;
	}
}

static int gpu_memory__compare(const void *a, const void *b, void *ctx)
{
	const struct gpu_memory *x = a, *y = b;

	(void)ctx;
	/* At equal times, a free comes before an allocation, which may reuse its memory. */
	return cmp3(x->time_ns, y->time_ns) ?: cmp3(y->freed, x->freed) ?:
	       cmp3(x->address, y->address);
}

/*
 * Return: the element of @made for the last allocation of an address in a process; NULL if memory
 * is short. @made: indexed by id in @addresses
 */
static uint32_t *trace_file__made(const struct gpu_memory *m, uint32_t pid,
				  struct strpool *addresses, uint32s_t *made)
{
	const struct {
		uint64_t address;
		uint32_t pid, is_handle;
	} key = { m->address, pid, m->space == XPU_SPACE_PHYSICAL };
	const char *text = strpool__intern(addresses, (const char *)&key, sizeof(key));

	if (!text || (strpool__id(text) == made->nr && array_push(made, NO_INDEX)))
		return NULL;
	return &made->v[strpool__id(text)];
}

/* Writes allocations and frees. A free gets the space and the device of its allocation. */
static int trace_file__write_memory(struct trace_file *f)
{
	struct strpool addresses = { 0 };
	uint32s_t made = { 0 };
	uint32_t i, pid, call, *last;
	int err = 0;

	array__sort(f->gpu.memory.v, f->gpu.memory.nr, sizeof(*f->gpu.memory.v),
		    gpu_memory__compare, NULL);
	for (i = 0; i < f->gpu.memory.nr && !err; i++) {
		struct gpu_memory *m = &f->gpu.memory.v[i];
		struct trace_place place = { 0 };
		struct xpu_alloc a = {
			.what = m->freed ? XPU_ALLOC_FREED : XPU_ALLOC_MADE,
			.address = m->address, .bytes = m->bytes,
		};

		pid = m->pid;
		call = trace_file__find_call(f, m->correlation_id, &pid);
		pid = pid ?: trace_file__any_pid(f);
		last = trace_file__made(m, pid, &addresses, &made);
		if (!last) {
			err = -ENOMEM;
			break;
		}
		if (!m->freed) {
			*last = i;
		} else if (*last != NO_INDEX) {
			m->space = f->gpu.memory.v[*last].space;
			m->device = f->gpu.memory.v[*last].device;
			*last = NO_INDEX;
		}
		if (call != NO_INDEX && f->places[call].path)
			place = f->places[call];
		else
			place.thread = trace_file__import_thread(
				f, trace_file__thread(f, pid, m->tid));
		a.space = m->space;
		a.device = m->device;
		a.path_id = m->freed ? 0 : place.path;
		a.thread_id = place.thread;
		a.range_id = place.range;
		f->im->api = f->api;
		if (a.device != XPU_ALLOC_NO_DEVICE &&
		    idmap__add(&f->devices, ID_KEY(pid, a.device), f->api) < 0)
			err = -ENOMEM;
		import__alloc(f->im, trace_file__proc(f, pid), m->time_ns, a);
		err = err ?: f->im->err;
	}
	array_free(&made);
	strpool__free(&addresses);
	return err;
}

static void trace_file__write_devices(struct trace_file *f)
{
	static const uint8_t no_uuid[16];
	uint32_t i, k, pid, api;

	for (i = 0; i < f->gpu.devices.nr; i++)
		for (k = 0; !k || k < f->index.pids.nr; k++) {
			api = f->api;
			pid = k ? f->index.pids.v[k] : trace_file__any_pid(f);
			if (!idmap__get(&f->devices, ID_KEY(pid, f->gpu.devices.v[i].id), &api) &&
			    k)
				continue;
			f->im->api = api;
			import__device(f->im, trace_file__proc(f, pid), f->gpu.devices.v[i].id,
				       f->gpu.devices.v[i].name, no_uuid);
		}
}

static int trace_file__write(struct trace_file *f)
{
	ARRAY(struct nest_point) points = { 0 }, copies = { 0 };
	uint32_t i;
	int err = 0;

	/*
	 * Find operators for launches and waits only; other calls are only in the table of calls.
	 */
	for (i = 0; i < f->gpu.calls.nr && !err; i++) {
		const struct gpu_call *c = &f->gpu.calls.v[i];
		struct nest_point p = { .time_ns = c->start_ns, .item = i };

		if (trace_file__is_inner(f, i))
			continue;
		p.thread = trace_file__thread(f, c->pid, c->tid);
		err = array_push(&points, p);
		err = err ?: array_push(&copies, p);
	}
	err = err ?: f->im->err;
	err = err ?: trace_file__nest(f, false, points.v, points.nr);
	err = err ?: trace_file__nest(f, true, copies.v, copies.nr);
	/* Both arrays now have the same order. */
	err = err ?: trace_file__write_calls(f, points.v, copies.v, points.nr);
	array_free(&points);
	array_free(&copies);
	if (err)
		return err;
	trace_file__write_works(f);
	err = trace_file__write_memory(f);
	if (err)
		return err;
	trace_file__write_devices(f);
	f->out->nr_calls += f->gpu.calls.nr;
	f->out->nr_works += f->gpu.works.nr;
	f->out->nr_ops += f->gpu.ops.nr;
	return f->im->err;
}

/* ---- files ----------------------------------------------------------------------------------- */

static void trace_file__free(struct trace_file *f)
{
	array_free(&f->names);
	idmap__free(&f->annotation_paths);
	idmap__free(&f->paths);
	paths__free(&f->annotations);
	paths__free(&f->frames);
	strpool__free(&f->tids);
	array_free(&f->threads);
	idmap__free(&f->thread_ids);
	idmap__free(&f->name_ids);
	idmap__free(&f->devices);
	idmap__free(&f->procs);
	free(f->places);
	free(f->launched);
	call_index__free(&f->index);
	gputrace__exit(&f->gpu);
	input_file__close(&f->input);
}

/*
 * Leaves out operators and annotations whose times are far away from all other times, because they
 * would enclose the launches of many hours. Return: 0 or -ENOMEM.
 */
static int trace_file__leave_out(struct trace_file *f)
{
	struct time_bounds bounds = { 0 };
	struct gputrace *t = &f->gpu;
	uint64_t from_ns, to_ns;
	size_t i, nr = 0;
	int err = 0;

	for (i = 0; i < t->calls.nr && !err; i++)
		err = time_bounds__add(&bounds, SIDE_EVENTS, t->calls.v[i].start_ns);
	for (i = 0; i < t->works.nr && !err; i++)
		err = time_bounds__add(&bounds, SIDE_EVENTS, t->works.v[i].w.start_ns);
	for (i = 0; i < t->ops.nr && !err; i++)
		err = time_bounds__add(&bounds, SIDE_EVENTS, t->ops.v[i].start_ns) ?:
		      time_bounds__add(&bounds, SIDE_EVENTS, t->ops.v[i].end_ns);
	if (!err && time_bounds__find(&bounds, &from_ns, &to_ns)) {
		for (i = 0; i < t->ops.nr; i++)
			if (t->ops.v[i].start_ns >= from_ns && t->ops.v[i].end_ns <= to_ns)
				t->ops.v[nr++] = t->ops.v[i];
		if (nr < t->ops.nr)
			msgs__add(f->msgs, "%s: %zu %s timed outside of the recording: ignored",
				  f->path, t->ops.nr - nr,
				  PLURAL(t->ops.nr - nr, "operator or annotation",
					 "operators or annotations"));
		f->out->odd |= nr < t->ops.nr;
		t->ops.nr = nr;
	}
	time_bounds__free(&bounds);
	return err;
}

/* Reads the trace in @f->input. Return: 0; -EINVAL, after a message; or -ENOMEM. */
static int trace_file__read(struct trace_file *f)
{
	const struct gputrace *t = &f->gpu;
	int err = gputrace__read(&f->gpu, f->path, &f->input);

	input_file__close(&f->input);
	if (err)
		return err;
	gputrace__complain_unread(t, f->path, f->msgs);
	if (!t->calls.nr && !t->works.nr && !t->memory.nr && t->ops.nr && !t->damage)
		return msgs__refuse(f->msgs, "%s: cannot find GPU events, only what threads did: a "
				    "profile of the CPU alone", f->path);
	if (!t->calls.nr && !t->works.nr && !t->memory.nr) {
		gputrace__complain_empty(t, f->path, f->msgs);
		return -EINVAL;
	}
	gputrace__complain(t, f->path, f->msgs);
	f->out->damaged |= t->damage != NULL;
	f->out->odd |= gputrace__is_odd(t);
	f->launched = calloc(t->calls.nr + 1, sizeof(*f->launched));
	if (t->memory.nr)
		f->places = calloc(t->calls.nr + 1, sizeof(*f->places));
	if (!f->launched || (t->memory.nr && !f->places))
		return -ENOMEM;
	err = trace_file__leave_out(f) ?: trace_file__index_calls(f);
	err = err ?: trace_file__index_names(f);
	if (!err)
		trace_file__mark_launches(f);
	return err;
}

/* Return: whether the two files have a pid in common. */
static bool trace_files__share_pid(const struct trace_file *a, const struct trace_file *b)
{
	uint32_t known;
	size_t i;

	for (i = 0; i < a->index.pids.nr; i++)
		if (idmap__get(&b->index.pid_ids, a->index.pids.v[i], &known))
			return true;
	return false;
}

static int traces__write(struct traces *t)
{
	uint64_t first_ns = UINT64_MAX;
	size_t i, k;
	int err = 0;

	for (i = 0; i < t->nr; i++) {
		struct trace_file *f = &t->files[i];

		first_ns = min_t(uint64_t, first_ns, gputrace__first_ns(&f->gpu));
		array_each(&f->gpu.memory, m)
			first_ns = min_t(uint64_t, first_ns, m->time_ns);
		f->pids_known = true;
		for (k = 0; k < t->nr; k++)
			f->pids_known &= k == i || !trace_files__share_pid(f, &t->files[k]);
		for (k = 0; k < i; k++)
			if (f->gpu.has_rank && t->files[k].gpu.has_rank &&
			    f->gpu.rank == t->files[k].gpu.rank)
				msgs__add(f->msgs,
					  "%s and %s have the same rank, %" PRIu32 ": both "
					  "are counted",
					  t->files[k].path, f->path, f->gpu.rank);
	}
	if (first_ns != UINT64_MAX && first_ns > YEAR_2000_NS)
		import__clock(t->im, first_ns, first_ns);
	for (i = 0; i < t->nr && !err; i++)
		err = trace_file__write(&t->files[i]);
	t->out->nr_files = t->nr;
	if (!err && t->out->nr_too_deep)
		msgs__add(t->files->msgs, "%" PRIu64 " %s nested deeper than %d annotations or %d "
			  "operators: left out", t->out->nr_too_deep,
			  PLURAL(t->out->nr_too_deep, "operator or annotation is",
				 "operators or annotations are"), XPU_RANGE_DEPTH, XPU_MAX_FRAMES);
	return err ?: t->im->err;
}

static int trace__load(struct trace_file *f)
{
	int err = input_file__open(&f->input, f->path);

	if (!err || err == -ENOMEM)
		return err;
	return msgs__refuse(f->msgs, "%s: cannot be read: %s", f->path, import__load_error(err));
}

int trace__read(struct trace *out, struct import *im, const char *const *names, size_t nr,
		struct msgs *msgs)
{
	struct traces t = { .out = out, .im = im };
	struct trace_file *f;
	size_t i, k;
	int err = 0;

	memset(out, 0, sizeof(*out));
	t.files = calloc(nr + !nr, sizeof(*t.files));
	if (!t.files)
		return -ENOMEM;
	for (i = 0; i < nr && !err; i++) {
		for (k = 0; k < i && !rocprof_csv__same_set(names[k], names[i]); k++)
			;
		if (k < i)	/* file i was read as part of the set of file k */
			continue;
		im->file = names[i];
		f = &t.files[t.nr++];
		*f = (struct trace_file){ .out = out, .im = im, .path = names[i], .msgs = msgs };
		err = trace__load(f);
		err = err ?: trace_file__read(f);
	}
	if (!err) {
		im->file = NULL;
		err = traces__write(&t);
	}
	for (i = 0; i < t.nr; i++)
		trace_file__free(&t.files[i]);
	free(t.files);
	return err;
}

int trace__read_mem(struct trace *out, struct import *im, const char *buf, size_t size,
		    struct msgs *msgs)
{
	struct trace_file f = {
		.out = out, .im = im, .path = "memory", .msgs = msgs,
		.input = { .buf = buf, .size = size },
	};
	struct traces t = { .out = out, .im = im, .files = &f, .nr = 1 };
	int err;

	memset(out, 0, sizeof(*out));
	err = trace_file__read(&f);
	err = err ?: traces__write(&t);
	trace_file__free(&f);
	return err;
}

void trace__print(const struct trace *t, FILE *f, bool summary)
{
	if (t->nr_ops)
		fprintf(f, "by nesting: launches %" PRIu64 " in operators or functions %" PRIu64
			" in annotations only %" PRIu64 " in nothing %" PRIu64 "\n", t->nr_launches,
			t->nr_in_ops, t->nr_in_annotations, t->nr_no_stack);
	if (summary)
		fprintf(f, "  %" PRIu64 " API calls, %" PRIu64 " device records and %" PRIu64
			" operators, functions and annotations in %" PRIu64 " %s, %.3f ms of "
			"device time\n", t->nr_calls, t->nr_works, t->nr_ops, t->nr_files,
			t->nr_files == 1 ? "file" : "files", t->work_ns / 1e6);
}
