// SPDX-License-Identifier: GPL-3.0-or-later
/* nsys_importer.c - makes a recording from an export of Nsight Systems */
#include "import/nsys_importer.h"

#include <errno.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "import/gputrace.h"

static const char *nsys__thread_name(const struct nsys *n, uint64_t tid, uint32_t proc)
{
	uint32_t idx;

	if (idmap__get(&n->thread_names, tid, &idx))
		return n->string_values.v[idx];
	return n->procs.v[proc].name;
}

static const char *base_name(const char *path)
{
	return strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
}

/*
 * Return: whether a frame belongs to CUDA or to the profiler. callchain.c trims such frames from
 * our own stacks.
 */
static bool nsys_frame__is_cuda(const struct nsys_frame *f)
{
	static const char *const modules[] = {
		"libcuda.so", "libcudart", "libcupti", "libToolsInjection", "libnvidia",
	};
	const char *name;
	size_t i, len;

	for (i = 0; f->module && i < ARRAY_SIZE(modules); i++)
		if (!strncmp(base_name(f->module), modules[i], strlen(modules[i])))
			return true;
	return f->symbol && cuda_api__parse(f->symbol, strlen(f->symbol), &name, &len);
}

/* Finds a frame's name. Return: 0, with an empty *@name if the export has no name; or -ENOMEM. */
static int nsys__frame_name(struct nsys *n, const struct nsys_frame *f, struct span *name)
{
	bool named = f->symbol && !f->unresolved;
	const char *s;

	*name = (struct span){ 0 };
	if (!named && !f->module)
		return 0;
	if (named && !f->kernel)
		s = f->symbol;
	else if (named)
		s = strpool__internf(&n->strings, "%s_[k]", f->symbol);
	else	/* addresses in the recorded process are useless here */
		s = strpool__internf(&n->strings, "[%s]", base_name(f->module));
	if (!s)
		return -ENOMEM;
	*name = span__of(s);
	return 0;
}

uint32_t nsys_importer__proc(const struct nsys_importer *i, uint32_t proc)
{
	return i->n->procs.v[proc].import_proc;
}

uint32_t nsys_importer__thread(struct nsys_importer *i, uint64_t tid, uint32_t proc)
{
	const char *name = nsys__thread_name(i->n, tid, proc);
	uint32_t thread;
	int err;

	if (idmap__get(&i->threads, tid, &thread))
		return thread;
	thread = import__thread(i->im, nsys_importer__proc(i, proc), NSYS_TID(tid));
	err = idmap__put(&i->threads, tid, thread);
	i->im->err = i->im->err ?: err;
	if (name)
		import__comm(i->im, NSYS_PID(i->n->procs.v[proc].id), NSYS_TID(tid), 0, name);
	return thread;
}

void nsys_importer__names(struct nsys_importer *i, const struct nsys_frame *frames, uint32_t nr)
{
	struct span name;
	int err = 0;

	i->names.nr = 0;
	for (; nr && !err; nr--)
		err = nsys__frame_name(i->n, &frames[nr - 1], &name) ?: array_push(&i->names, name);
	i->im->err = i->im->err ?: err;
}

/* Return: the path of a call. Each pair of call chain and function has one path. */
static uint32_t nsys_importer__path(struct nsys_importer *i, const struct nsys_call *c)
{
	const struct nsys_chain *chain =
		c->callchain == NO_INDEX ? NULL : &i->n->chains.v[c->callchain];
	const struct nsys_frame *frames = chain ? &i->n->frames.v[chain->first] : NULL;
	uint32_t nr = chain ? chain->nr : 0, path = 0;
	const char *api = c->name, *key;
	size_t len = strlen(api);
	int err;

	cuda_api__parse(api, len, &api, &len);
	api = strpool__intern(&i->n->strings, api, len);
	/* Equal values give the same interned string, so its address identifies the value. */
	key = strpool__internf(&i->n->strings, "%" PRIu32 " %" PRIu32 " %p", c->callchain, c->proc,
			       (const void *)api);
	if (!api || !key) {
		i->im->err = -ENOMEM;
		return 0;
	}
	if (idmap__get(&i->paths, (uintptr_t)key, &path))
		return path;
	for (; nr && nsys_frame__is_cuda(frames); nr--)
		frames++;
	nsys_importer__names(i, frames, nr);
	path = import__path(i->im, nsys_importer__proc(i, c->proc), c->start_ns, api, i->names.v,
			    i->names.nr);
	err = idmap__put(&i->paths, (uintptr_t)key, path);
	i->im->err = i->im->err ?: err;
	return path;
}

static void nsys_importer__calls(struct nsys_importer *i)
{
	struct nsys *n = i->n;
	uint32_t k, outer, work, nr_no_id = 0;

	for (k = 0; k < n->calls.nr && !i->im->err; k++) {
		const struct nsys_call *c = &n->calls.v[k];
		uint64_t key = ID_KEY(c->proc, c->correlation_id);
		bool launch = cuda_api__kind(c->name, strlen(c->name)) != CALL_OTHER;

		nr_no_id += launch && !c->correlation_id;
		if (!idmap__get(&n->call_ids, key, &outer) || outer != k)
			continue;
		if (!launch && !idmap__get(&n->work_ids, key, &work))
			continue;
		import__launch_in(i->im, c->start_ns, c->correlation_id, nsys_importer__path(i, c),
				  nsys_importer__thread(i, c->tid, c->proc), c->range);
		if (c->result && !idmap__get(&n->work_ids, key, &work))
			import__refused(i->im, nsys_importer__proc(i, c->proc), c->correlation_id,
					c->result);
	}
	if (nr_no_id)
		msgs__add(n->msgs, "%s: %" PRIu32 " %s without a correlation id ignored", n->path,
			  nr_no_id, PLURAL(nr_no_id, "launch", "launches"));
	n->db.unclean |= nr_no_id != 0;
}

/* ---- nodes of graphs ------------------------------------------------------------------------- */

static int call__by_thread(const void *a, const void *b, void *ctx)
{
	const struct nsys_call *calls = ctx;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;

	return cmp3(calls[i].tid, calls[k].tid) ?: cmp3(i, k);
}

static int nsys_importer__order_calls(struct nsys_importer *i)
{
	struct nsys *n = i->n;
	uint32_t k;

	i->calls = calloc(n->calls.nr + 1, sizeof(*i->calls));
	if (!i->calls)
		return -ENOMEM;
	for (k = 0; k < n->calls.nr; k++)
		i->calls[k] = k;
	if (n->calls.nr)
		array__sort(i->calls, n->calls.nr, sizeof(*i->calls), call__by_thread, n->calls.v);
	return 0;
}

uint32_t nsys_importer__call_at(const struct nsys_importer *i, uint64_t tid, uint64_t time_ns)
{
	enum { NESTED_MAX = 64 };	/* number of calls to search backward */
	const struct nsys *n = i->n;
	size_t lo = 0, hi = n->calls.nr, mid, nr;
	const struct nsys_call *c;
	uint32_t found = NO_INDEX;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		c = &n->calls.v[i->calls[mid]];
		if (c->tid < tid || (c->tid == tid && c->start_ns <= time_ns))
			lo = mid + 1;
		else
			hi = mid;
	}
	for (nr = 0; lo && nr < NESTED_MAX && n->calls.v[i->calls[lo - 1]].tid == tid; lo--, nr++)
		if (n->calls.v[i->calls[lo - 1]].end_ns >= time_ns)
			found = i->calls[lo - 1];
	return found;
}

static int nsys_importer__nodes(struct nsys_importer *i)
{
	struct nsys *n = i->n;
	uint32_t k, call;

	for (k = 0; k < n->nodes.nr && !i->im->err; k++) {
		const struct nsys_node *node = &n->nodes.v[k];
		uint32_t proc = nsys_importer__proc(i, node->proc);
		const struct nsys_call *c;
		bool launch;

		if (node->original) {
			import__graph_clone(i->im, proc, node->id, node->original);
			continue;
		}
		call = nsys_importer__call_at(i, node->tid, node->time_ns);
		c = call == NO_INDEX ? NULL : &n->calls.v[call];
		launch = c && cuda_api__kind(c->name, strlen(c->name)) != CALL_OTHER;
		import__graph_node(i->im, proc, node->time_ns, node->id,
				   launch ? c->correlation_id : 0,
				   c ? nsys_importer__path(i, c) : 0,
				   nsys_importer__thread(i, node->tid, node->proc));
	}
	return i->im->err;
}

/* ---- ranges ---------------------------------------------------------------------------------- */

static uint32_t nsys_importer__sweep_id(struct nsys_importer *i, uint64_t tid)
{
	uint32_t id = i->sweep_tids.nr;

	if (i->im->err || idmap__get(&i->sweep_ids, tid, &id))
		return id;
	i->im->err = idmap__put(&i->sweep_ids, tid, id);
	i->im->err = i->im->err ?: array_push(&i->sweep_tids, tid);
	return id;
}

static uint32_t nsys_importer__root(void *ctx, uint32_t thread)
{
	struct nsys_importer *i = ctx;
	uint32_t proc = 0;
	int err = nsys__proc(i->n, i->sweep_tids.v[thread], &proc);

	i->im->err = i->im->err ?: err;
	return paths__root(&i->range_paths, proc);
}

static const char *nsys__domain(const struct nsys *n, uint32_t proc, uint32_t id)
{
	size_t k;

	for (k = 0; k < n->domains.nr; k++)
		if (n->domains.v[k].id == id &&
		    (n->domains.v[k].proc == proc || n->domains.v[k].proc == NO_INDEX))
			return n->domains.v[k].name;
	return "";
}

static uint32_t nsys_importer__enter(void *ctx, uint32_t node, const struct nest_range *range)
{
	struct nsys_importer *i = ctx;
	const struct nsys_range *r = &i->n->ranges.v[range->item];
	const char *domain = nsys__domain(i->n, r->proc, r->domain), *name = r->name;
	struct path_node *p;
	uint32_t parent;

	if (*domain)
		name = strpool__internf(&i->n->strings, "%s:%s", domain, name);
	if (!name) {
		i->im->err = -ENOMEM;
		return 0;
	}
	node = paths__child(&i->range_paths, node, name);
	if (!node)
		return 0;
	p = &i->range_paths.nodes.v[node];
	parent = i->range_paths.nodes.v[p->parent].value;
	if (!p->value)
		p->value = import__range(i->im, nsys_importer__proc(i, r->proc), parent,
					 span__of(r->name), span__of(domain));
	return node;
}

static void nsys_importer__range_event(void *ctx, const struct nest_range *range, bool opened,
				       uint64_t time_ns, uint32_t node, uint32_t place)
{
	struct nsys_importer *i = ctx;
	const struct nsys_range *r = &i->n->ranges.v[range->item];
	bool any_thread = r->kind == NSYS_RANGE_START_END;

	/* A range that was never closed stays open until the end. */
	if ((!opened && r->open) || i->range_paths.err)
		return;
	import__range_event(i->im, time_ns, nsys_importer__thread(i, r->tid, r->proc),
			    i->range_paths.nodes.v[node].value,
			    opened ? any_thread ? XPU_RANGE_START : XPU_RANGE_PUSH :
				     any_thread ? XPU_RANGE_END : XPU_RANGE_POP, place);
}

/* Finds the ranges that were open at each call and at each mark. */
static int nsys_importer__ranges(struct nsys_importer *i)
{
	struct nsys *n = i->n;
	struct nest nest = {
		/*
		 * Marks do not count for the depth: a mark may be inside XPU_RANGE_DEPTH open
		 * ranges.
		 */
		.max_depth = XPU_RANGE_DEPTH, .root = nsys_importer__root,
		.enter = nsys_importer__enter, .event = nsys_importer__range_event, .ctx = i,
	};
	size_t nr_points = n->calls.nr, nr_ranges = 0, k;
	struct nest_range *ranges = calloc(n->ranges.nr + 1, sizeof(*ranges));
	struct nest_point *points = calloc(n->calls.nr + n->ranges.nr + 1, sizeof(*points));
	int err = ranges && points ? 0 : -ENOMEM;

	for (k = 0; k < n->calls.nr && !err; k++)
		points[k] = (struct nest_point){
			.time_ns = n->calls.v[k].start_ns, .item = k,
			.thread = nsys_importer__sweep_id(i, n->calls.v[k].tid),
		};
	for (k = 0; k < n->ranges.nr && !err; k++) {
		const struct nsys_range *r = &n->ranges.v[k];
		uint32_t thread = nsys_importer__sweep_id(i, r->tid);

		if (r->kind == NSYS_RANGE_MARK)
			points[nr_points++] = (struct nest_point){
				.time_ns = r->start_ns, .item = n->calls.nr + k, .thread = thread,
			};
		else
			ranges[nr_ranges++] = (struct nest_range){
				r->start_ns, r->open ? UINT64_MAX : r->end_ns, thread, k,
			};
	}
	if (!err && n->ranges.nr)
		err = i->im->err ?: nest__sweep(&nest, ranges, nr_ranges, points, nr_points);
	n->nr_too_deep = nest.nr_too_deep;
	for (k = 0; k < nr_points && n->ranges.nr && !err; k++) {
		struct nest_range mark = { .item = points[k].item - n->calls.nr };
		uint32_t node = points[k].node;

		err = i->im->err ?: i->range_paths.err;
		if (err || points[k].item < n->calls.nr) {
			if (!err)
				n->calls.v[points[k].item].range =
					i->range_paths.nodes.v[node].value;
			continue;
		}
		node = nsys_importer__enter(i, node, &mark);
		if (node)
			import__range_event(i->im, points[k].time_ns,
					    nsys_importer__thread(i, n->ranges.v[mark.item].tid,
								  n->ranges.v[mark.item].proc),
					    i->range_paths.nodes.v[node].value, XPU_RANGE_MARK, 0);
	}
	if (!err && n->nr_too_deep)
		msgs__add(n->msgs,
			  "%s: %" PRIu64 " NVTX ranges are within more than %d others: ignored",
			  n->path, n->nr_too_deep, XPU_RANGE_DEPTH);
	free(points);
	free(ranges);
	return err ?: i->im->err ?: i->range_paths.err;
}

/* ---- waits, devices, calls and work ---------------------------------------------------------- */

static void nsys_importer__waits(struct nsys_importer *i)
{
	struct nsys *n = i->n;
	uint32_t k, call, nr_nowhere = 0;

	for (k = 0; k < n->syncs.nr && !i->im->err; k++) {
		const struct nsys_sync *s = &n->syncs.v[k];
		struct import_wait w = {
			.start_ns = s->start_ns, .duration_ns = s->end_ns - s->start_ns,
			.context = s->context, .stream = s->stream,
			.flags = s->of_stream ? XPU_WAIT_STREAM : 0,
		};
		const struct nsys_call *c;

		/* The call determines which thread waited. */
		if (!s->correlation_id ||
		    !idmap__get(&n->call_ids, ID_KEY(s->proc, s->correlation_id), &call)) {
			nr_nowhere++;
			continue;
		}
		if (!w.duration_ns)
			continue;
		c = &n->calls.v[call];
		w.path = nsys_importer__path(i, c);
		w.thread = nsys_importer__thread(i, c->tid, c->proc);
		w.range = c->range;
		import__wait(i->im, &w);
	}
	if (nr_nowhere)
		msgs__add(n->msgs,
			  "%s: the call is missing for %" PRIu32 " %s for the device, so no "
			  "thread is known: ignored",
			  n->path, nr_nowhere, PLURAL(nr_nowhere, "wait", "waits"));
	n->db.unclean |= nr_nowhere != 0;
}

/* Parses "GPU-01234567-89ab-...", with or without "GPU-". Return: whether the text is a UUID. */
static bool uuid__parse(const char *s, uint8_t uuid[16])
{
	unsigned int nr = 0, digit;

	if (!s)
		return false;
	if (!strncmp(s, "GPU-", 4))
		s += 4;
	memset(uuid, 0, 16);
	for (; *s && nr < 32; s++) {
		if (*s == '-')
			continue;
		if (*s >= '0' && *s <= '9')
			digit = *s - '0';
		else if ((*s | 0x20) >= 'a' && (*s | 0x20) <= 'f')
			digit = (*s | 0x20) - 'a' + 10;
		else
			return false;
		uuid[nr / 2] |= digit << (nr % 2 ? 0 : 4);
		nr++;
	}
	return nr == 32;
}

/*
 * Return: the GPU that the process knows as number @device. If the export has no such mapping,
 * @device is the GPU's own number.
 */
static const struct nsys_gpu *nsys__gpu(const struct nsys *n, uint32_t proc, uint32_t device)
{
	uint32_t pid = NSYS_PID(n->procs.v[proc].id);
	uint64_t id = device;
	size_t k;

	for (k = 0; k < n->devices.nr; k++)
		if (n->devices.v[k].device == device && n->devices.v[k].pid == pid)
			id = n->devices.v[k].gpu;
	for (k = 0; k < n->gpus.nr; k++)
		if (n->gpus.v[k].id == id)
			return &n->gpus.v[k];
	return NULL;
}

static void nsys_importer__devices(struct nsys_importer *i)
{
	const struct nsys *n = i->n;
	const struct nsys_gpu *g;
	struct idmap told = { 0 };
	uint8_t uuid[16];
	uint32_t k;
	int added;

	for (k = 0; k < n->works.nr && n->gpus.nr && !i->im->err; k++) {
		const struct nsys_work *w = &n->works.v[k];

		if (w->proc == NO_INDEX)
			continue;
		added = idmap__add(&told, ID_KEY(w->proc, w->device), 0);
		if (added < 0)
			i->im->err = added;
		g = added > 0 ? nsys__gpu(n, w->proc, w->device) : NULL;
		if (!g)
			continue;
		if (!uuid__parse(g->uuid, uuid))
			memset(uuid, 0, sizeof(uuid));
		import__device(i->im, nsys_importer__proc(i, w->proc), w->device, g->name, uuid);
	}
	idmap__free(&told);
}

/*
 * Imports all calls, except for driver calls inside another call. Such an inner call has the same
 * id as its outer call.
 */
static void nsys_importer__api(struct nsys_importer *i)
{
	const struct nsys *n = i->n;
	uint32_t k, outer;

	for (k = 0; k < n->calls.nr && !i->im->err; k++) {
		const struct nsys_call *c = &n->calls.v[k];
		const char *name = c->name;
		size_t len = strlen(name);

		if (c->correlation_id &&
		    idmap__get(&n->call_ids, ID_KEY(c->proc, c->correlation_id), &outer) &&
		    outer != k)
			continue;
		cuda_api__parse(name, len, &name, &len);
		name = strpool__intern(&i->n->strings, name, len);
		if (!name)
			i->im->err = -ENOMEM;
		nsys_importer__thread(i, c->tid, c->proc);
		import__call(i->im, nsys_importer__proc(i, c->proc), NSYS_TID(c->tid), c->start_ns,
			     c->end_ns - c->start_ns, c->correlation_id, name);
	}
}

/* Imports a migration. If pages moved between devices, the export does not name the devices. */
static void nsys_importer__migration(struct nsys_importer *i, uint32_t proc,
				     const struct nsys_work *w)
{
	uint16_t device = min_t(uint32_t, w->device, XPU_ALLOC_NO_DEVICE);

	import__migration(i->im, proc, w->migration, (struct xpu_record_migration){
		.start_ns = w->start_ns + !w->start_ns, .duration_ns = w->end_ns - w->start_ns,
		.address = w->address, .value = w->bytes,
		.source = w->migration == XPU_MIGRATION_TO_HOST ? device : XPU_ALLOC_NO_DEVICE,
		.target = w->migration == XPU_MIGRATION_TO_DEVICE ? device : XPU_ALLOC_NO_DEVICE,
	});
}

static void nsys_importer__works(struct nsys_importer *i)
{
	uint32_t k, unknown = 0, proc;

	for (k = 0; k < i->n->works.nr && !i->im->err; k++) {
		const struct nsys_work *from = &i->n->works.v[k];
		struct import_work w = {
			/*
			 * In the export, 0 is the start of the session. In a record, 0 means "no
			 * time".
			 */
			.start_ns = from->start_ns + !from->start_ns,
			.duration_ns = from->end_ns - from->start_ns,
			.correlation_id = from->correlation_id,
			.bytes = from->bytes,
			.copy_kind = from->copy_kind,
			.graph_id = from->graph_id,
			.graph_node_id = from->graph_node_id,
		};

		struct xpu_shape shape = {
			.registers = from->registers,
			.static_bytes = from->shared_bytes - from->dynamic_bytes,
			.dynamic_bytes = from->dynamic_bytes, .local_bytes = from->local_bytes,
		};

		memcpy(shape.grid, from->grid, sizeof(shape.grid));
		memcpy(shape.block, from->block, sizeof(shape.block));
		memcpy(shape.cluster, from->cluster, sizeof(shape.cluster));
		if (shape.grid[0] && shape.block[0])
			w.shape = &shape;
		/* The export has several processes, and does not name the process of this work. */
		if (from->proc == NO_INDEX && !unknown)
			unknown = import__process(i->im, 0, "", 0);
		proc = from->proc == NO_INDEX ? unknown : nsys_importer__proc(i, from->proc);
		if (from->migration) {
			nsys_importer__migration(i, proc, from);
			continue;
		}
		w.stream = import__stream(i->im, proc, from->device, from->context, from->stream);
		if (from->type == XPU_RECORD_KERNEL)
			import__kernel(i->im, proc, &w, span__of(from->full_name ?: from->name));
		else if (from->type == XPU_RECORD_MEMCPY)
			import__memcpy(i->im, proc, &w);
		else
			import__memset(i->im, proc, &w);
	}
}

/* Imports one sample. Its frames are compared as bytes, so their padding must be 0. */
static int nsys_importer__sample(struct nsys_importer *i, const struct nsys_sample *s,
				 const struct nsys_frame *frames, uint32_t nr, uint32_t period_ns)
{
	uint32_t path = 0, proc = 0;
	const char *bytes;
	int err = nsys__proc(i->n, s->tid, &proc);

	if (err)
		return err;
	if (nr) {
		bytes = strpool__intern(&i->n->strings, (const char *)frames, nr * sizeof(*frames));
		/* The address of this interned string identifies the stack within the process. */
		bytes = bytes ? strpool__internf(&i->n->strings, "%" PRIu32 " %p", proc,
						 (const void *)bytes) : NULL;
		if (!bytes)
			return -ENOMEM;
		if (!idmap__get(&i->paths, (uintptr_t)bytes, &path)) {
			nsys_importer__names(i, frames, nr);
			path = import__cpu_path(i->im, nsys_importer__proc(i, proc), s->time_ns,
						i->names.v, i->names.nr);
			err = idmap__put(&i->paths, (uintptr_t)bytes, path);
		}
	}
	import__sample(i->im, s->time_ns, path, nsys_importer__thread(i, s->tid, proc), s->cpu,
		       period_ns);
	return err ?: i->im->err;
}

static int gap__compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return cmp3(*x, *y);
}

/*
 * nsys__sample_period - find the period between samples of a running thread
 *
 * The export does not contain the period, and a thread that was off the CPU has longer gaps. The
 * median of all gaps is therefore used as the period.
 */
static int nsys__sample_period(const struct nsys *n, uint32_t *period_ns)
{
	uint64_t *gaps = calloc(n->samples.nr + 1, sizeof(*gaps));
	struct idmap threads = { 0 };
	ARRAY(uint64_t) last = { 0 };
	uint32_t thread;
	size_t nr = 0;
	int err = gaps ? 0 : -ENOMEM;

	array_each_while(&n->samples, s, !err) {
		if (idmap__get(&threads, s->tid, &thread)) {
			gaps[nr++] = s->time_ns - last.v[thread];
			last.v[thread] = s->time_ns;
			continue;
		}
		err = idmap__put(&threads, s->tid, last.nr);
		err = err ?: array_push(&last, s->time_ns);
	}
	if (nr)
		qsort(gaps, nr, sizeof(*gaps), gap__compare);
	*period_ns = nr ? min_t(uint64_t, gaps[nr / 2], 1000000000) : 1000000;
	array_free(&last);
	idmap__free(&threads);
	free(gaps);
	return err;
}

/* Imports CPU samples, one call chain at a time to save memory. */
static int nsys_importer__samples(struct nsys_importer *i)
{
	static const char table[] = "SAMPLING_CALLCHAINS";
	ARRAY(struct nsys_frame) frames = { 0 };
	struct nsys *n = i->n;
	uint32_t period_ns, at = NO_INDEX, k, next;
	sqlite3_stmt *stmt = NULL;
	bool *done = NULL;
	int err = 0;

	if (!n->samples.nr)
		return 0;
	err = nsys__sample_period(n, &period_ns);
	done = calloc(n->samples.nr, sizeof(*done));
	if (!done)
		err = -ENOMEM;
	err = err ?: database__select(&n->db, table,
				      "id symbol stackDepth module unresolved kernelMode", 3,
				      "ORDER BY 1, 3", &stmt);
	while (database__next(&n->db, &stmt, table, &err)) {
		struct nsys_frame frame;

		if (!idmap__get(&n->sample_ids, sqlite3_column_int64(stmt, 0), &next))
			continue;
		if (next != at) {
			if (at != NO_INDEX)
				err = nsys_importer__sample(i, &n->samples.v[at], frames.v,
							    frames.nr, period_ns);
			frames.nr = 0;
			at = next;
			done[at] = true;
		}
		if (err || frames.nr == NSYS_FRAMES_MAX)
			continue;
		nsys__frame(n, stmt, 5, &frame);
		err = array_push(&frames, frame);
	}
	if (!err && at != NO_INDEX)
		err = nsys_importer__sample(i, &n->samples.v[at], frames.v, frames.nr, period_ns);
	for (k = 0; k < n->samples.nr && !err; k++)
		if (!done[k])
			err = nsys_importer__sample(i, &n->samples.v[k], NULL, 0, period_ns);
	array_free(&frames);
	free(done);
	if (!err)
		msgs__add(n->msgs,
			  "%s: each of %zu CPU samples stands for %" PRIu32 " us, the median "
			  "time between two in one thread",
			  n->path, n->samples.nr, period_ns / 1000);
	return err;
}

static int nsys__name_unread(struct nsys *n)
{
	const char *names;
	int err = database__unread(&n->db, &n->strings, &names);

	if (names)
		msgs__add(n->msgs, "%s: the events of these tables are not read: %s", n->path,
			  names);
	return err;
}

int nsys__import(struct nsys *n, struct import *im)
{
	struct nsys_importer i = { .n = n, .im = im };
	int err;

	if (!n->works.nr)
		msgs__add(n->msgs, "%s: has no GPU work (nsys profile --trace=cuda records it)",
			  n->path);
	if (n->host)
		import__info(im, XPU_INFO_HOSTNAME, span__of(n->host));
	if (n->epoch_ns)
		import__clock(im, 0, n->epoch_ns);
	array_each(&n->procs, p) {
		p->import_proc = import__process(im, NSYS_PID(p->id), p->name ?: "", 0);
	}
	err = im->err ?: nsys_importer__order_calls(&i) ?: nsys_importer__ranges(&i);
	if (!err) {
		nsys_importer__calls(&i);
		err = nsys_importer__nodes(&i);
	}
	if (!err) {
		nsys_importer__waits(&i);
		nsys_importer__api(&i);
		nsys_importer__devices(&i);
		nsys_importer__works(&i);
		err = im->err ?: nsys_importer__samples(&i) ?: nsys_importer__switches(&i) ?:
		      nsys__name_unread(n);
	}
	free(i.calls);
	paths__free(&i.range_paths);
	idmap__free(&i.sweep_ids);
	array_free(&i.sweep_tids);
	array_free(&i.names);
	idmap__free(&i.paths);
	idmap__free(&i.threads);
	return err ?: im->err;
}
