// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * nsys_events.c - writes the timeline events of the tool nsys2json from an nsys export
 *
 * Kernels are on the track "Stream N" of "Device N". NVTX ranges and API calls are on the tracks of
 * their threads, under the device that their process used. A process that used several devices, or
 * no device, gets a track of its own. A range is projected onto the kernels that its own thread
 * launched inside the range, separately for each device.
 */
#include "import/nsys.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "json_out.h"
#include "import/json.h"

#define NESTED_MAX	256		/* maximum number of open ranges of a thread; deeper ranges
					 * own no kernels */

struct nsys_event {
	const char *pid, *tid;		/* interned names of the event's tracks */
	enum nsys_activity activity;
	uint32_t idx;			/* index in works, ranges, calls or projections */
	uint32_t seq;
};

/*
 * The time from the start of the first kernel to the end of the last kernel that a range caused on
 * one device.
 */
struct projection {
	uint32_t range, device;
	uint64_t start_ns, end_ns;
};

struct nsys_events {
	struct nsys *n;
	const struct nsys_events_opts *opts;
	ARRAY(struct nsys_event) events;
	ARRAY(struct projection) projections;
	struct idmap projection_ids;	/* maps (range, device) to a projection */
	bool *wanted;			/* for each range: whether it is written */
	ARRAY(struct nsys_color) colors;
	struct strpool strings;
};

/* In the order of enum nsys_activity. */
const char *const nsys_activity_names[] = { "kernel", "nvtx", "nvtx-kernel", "cuda-api", NULL };

enum nsys_activity nsys_activity__parse(const char *name)
{
	size_t i;

	for (i = 0; nsys_activity_names[i]; i++)
		if (!strcmp(nsys_activity_names[i], name))
			return 1u << i;
	return 0;
}

/* ---- options --------------------------------------------------------------------------------- */

static bool nsys_events__matches(const struct nsys_events_opts *opts, const char *name)
{
	size_t i;

	for (i = 0; i < opts->nr_prefixes; i++)
		if (!strncmp(name, opts->prefixes[i], strlen(opts->prefixes[i])))
			return true;
	return !opts->nr_prefixes;
}

static const char *decode(struct strpool *strings, struct span raw)
{
	char *buf = malloc(raw.len + 1);
	const char *s = NULL;

	if (buf)
		s = strpool__intern(strings, buf, json_string__decode(raw, buf));
	free(buf);
	return s;
}

static int nsys_events__read_colors(struct nsys_events *e)
{
	struct msgs *msgs = e->n->msgs;
	struct span key, value;
	struct json j;
	char why[128];
	int err;

	if (!e->opts->colors)
		return 0;
	json__init(&j, e->opts->colors, strlen(e->opts->colors));
	json__enter(&j, '{');
	while (!j.what && json__next_key(&j, &key) && json__string(&j, &value)) {
		struct nsys_color c = {
			.pattern = decode(&e->strings, key), .color = decode(&e->strings, value),
		};

		if (!c.pattern || !c.color)
			return -ENOMEM;
		err = regcomp(&c.regex, c.pattern, REG_EXTENDED | REG_NOSUB);
		if (err) {
			regerror(err, &c.regex, why, sizeof(why));
			return msgs__refuse(msgs, "--nvtx-color-scheme: '%s': %s", c.pattern, why);
		}
		err = array_push(&e->colors, c);
		if (err) {
			regfree(&c.regex);
			return err;
		}
	}
	if (!j.what)
		return 0;
	return msgs__refuse(msgs, "--nvtx-color-scheme: %s: it is JSON such as '{\"send\": "
			    "\"thread_state_iowait\"}'", j.what);
}

/* ---- projection ------------------------------------------------------------------------------ */

static int range__compare(const void *a, const void *b, void *ctx)
{
	const struct nsys_range *ranges = ctx;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;

	/* Ranges are sorted by time, outer ranges first. */
	return cmp3(ranges[i].tid, ranges[k].tid) ?: cmp3(i, k);
}

static int call__compare(const void *a, const void *b, void *ctx)
{
	const struct nsys_call *calls = ctx;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;

	return cmp3(calls[i].tid, calls[k].tid) ?: cmp3(i, k);
}

static int nsys_events__project(struct nsys_events *e, uint32_t range, const struct nsys_work *w)
{
	struct projection new = {
		.range = range, .device = w->device, .start_ns = w->start_ns, .end_ns = w->end_ns,
	};
	struct projection *p;
	uint32_t idx;
	int err;

	if (idmap__get(&e->projection_ids, ID_KEY(range, w->device), &idx)) {
		p = &e->projections.v[idx];
		p->start_ns = min_t(uint64_t, p->start_ns, w->start_ns);
		p->end_ns = max_t(uint64_t, p->end_ns, w->end_ns);
		return 0;
	}
	err = idmap__put(&e->projection_ids, ID_KEY(range, w->device), e->projections.nr);
	return err ?: array_push(&e->projections, new);
}

/*
 * Attributes the kernels of one call to the @nr ranges in @open, which were open when the call
 * began.
 */
static int nsys_events__attribute(struct nsys_events *e, const struct nsys_call *c,
				  const uint32_t *open, uint32_t nr)
{
	struct nsys *n = e->n;
	uint32_t work, i;
	int err = 0;

	if (!nr || !idmap__get(&n->work_ids, ID_KEY(c->proc, c->correlation_id), &work))
		return 0;
	for (; work != NO_INDEX && !err; work = n->works.v[work].next) {
		struct nsys_work *w = &n->works.v[work];

		if (w->type != XPU_RECORD_KERNEL)
			continue;
		w->first_region = n->regions.nr;
		w->nr_regions = nr;
		for (i = 0; i < nr && !err; i++) {
			err = array_push(&n->regions, open[i]);
			err = err ?: nsys_events__project(e, open[i], w);
		}
	}
	return err;
}

static int nsys_events__project_all(struct nsys_events *e)
{
	struct nsys *n = e->n;
	uint32_t *ranges = calloc(n->ranges.nr + 1, sizeof(*ranges));
	uint32_t *calls = calloc(n->calls.nr + 1, sizeof(*calls));
	uint32_t open[NESTED_MAX], nr_open = 0, nr_ranges = 0, next = 0, i, k, kept, outer;
	uint64_t tid = 0;
	int err = ranges && calls ? 0 : -ENOMEM;

	for (i = 0; i < n->ranges.nr && !err; i++)
		if (e->wanted[i])
			ranges[nr_ranges++] = i;
	for (i = 0; i < n->calls.nr && !err; i++)
		calls[i] = i;
	if (!err && nr_ranges)
		qsort_r(ranges, nr_ranges, sizeof(*ranges), range__compare, n->ranges.v);
	if (!err && n->calls.nr)
		qsort_r(calls, n->calls.nr, sizeof(*calls), call__compare, n->calls.v);
	for (i = 0; i < n->calls.nr && !err; i++) {
		const struct nsys_call *c = &n->calls.v[calls[i]];

		if (c->tid != tid)
			nr_open = 0;
		tid = c->tid;
		for (; next < nr_ranges; next++) {
			const struct nsys_range *r = &n->ranges.v[ranges[next]];

			if (r->tid > tid || (r->tid == tid && r->start_ns > c->start_ns))
				break;
			if (r->tid != tid || r->end_ns <= c->start_ns)
				continue;
			if (nr_open < NESTED_MAX)
				open[nr_open++] = ranges[next];
		}
		for (k = kept = 0; k < nr_open; k++)
			if (n->ranges.v[open[k]].end_ns > c->start_ns)
				open[kept++] = open[k];
		nr_open = kept;
		/* If nested calls have the same id, only the outermost call counts. */
		if (idmap__get(&n->call_ids, ID_KEY(c->proc, c->correlation_id), &outer) &&
		    outer == calls[i])
			err = nsys_events__attribute(e, c, open, nr_open);
	}
	free(calls);
	free(ranges);
	return err;
}

/* ---- events ---------------------------------------------------------------------------------- */

static int nsys_events__add(struct nsys_events *e, enum nsys_activity activity, uint32_t idx,
			    const char *pid, const char *tid)
{
	struct nsys_event event = {
		.pid = pid, .tid = tid, .activity = activity, .idx = idx, .seq = e->events.nr,
	};

	return pid && tid ? array_push(&e->events, event) : -ENOMEM;
}

static const char *nsys_events__device(struct nsys_events *e, uint32_t device)
{
	return strpool__internf(&e->strings, "Device %" PRIu32, device);
}

/* Return: the name of the track that shows a process's threads. */
static const char *nsys_events__proc(struct nsys_events *e, uint32_t proc)
{
	const struct nsys_proc *p = &e->n->procs.v[proc];

	if (p->nr_devices == 1)
		return nsys_events__device(e, p->device);
	return strpool__internf(&e->strings, "Process %" PRIu32, NSYS_PID(p->id));
}

static int nsys_events__collect(struct nsys_events *e, uint32_t activities)
{
	struct nsys *n = e->n;
	uint32_t i;
	int err = 0;

	for (i = 0; activities & NSYS_KERNEL && i < n->works.nr && !err; i++)
		err = nsys_events__add(e, NSYS_KERNEL, i,
				       nsys_events__device(e, n->works.v[i].device),
				       strpool__internf(&e->strings, "Stream %" PRIu32,
							n->works.v[i].stream));
	for (i = 0; activities & NSYS_NVTX && i < n->ranges.nr && !err; i++)
		if (e->wanted[i])
			err = nsys_events__add(e, NSYS_NVTX, i,
					       nsys_events__proc(e, n->ranges.v[i].proc),
					       strpool__internf(&e->strings, "NVTX Thread %" PRIu32,
								NSYS_TID(n->ranges.v[i].tid)));
	for (i = 0; activities & NSYS_CUDA_API && i < n->calls.nr && !err; i++)
		err = nsys_events__add(e, NSYS_CUDA_API, i,
				       nsys_events__proc(e, n->calls.v[i].proc),
				       strpool__internf(&e->strings, "CUDA API Thread %" PRIu32,
							NSYS_TID(n->calls.v[i].tid)));
	for (i = 0; activities & NSYS_NVTX_KERNEL && i < e->projections.nr && !err; i++) {
		const struct projection *p = &e->projections.v[i];

		err = nsys_events__add(e, NSYS_NVTX_KERNEL, i, nsys_events__device(e, p->device),
				       strpool__internf(&e->strings,
							"NVTX Kernel Thread %" PRIu32,
							NSYS_TID(n->ranges.v[p->range].tid)));
	}
	return err;
}

static int nsys_event__compare(const void *a, const void *b)
{
	const struct nsys_event *x = a, *y = b;

	return strcmp(x->pid, y->pid) ?: strcmp(x->tid, y->tid) ?: cmp3(x->seq, y->seq);
}

static void print_us(struct json_out *j, const char *key, uint64_t ns)
{
	json_out__key(j, key);
	json_out__thousandths(j, ns);
}

static void print_u64(struct json_out *j, const char *key, uint64_t n)
{
	json_out__key(j, key);
	json_out__u64(j, n);
}

static void print_string(struct json_out *j, const char *key, const char *s)
{
	json_out__key(j, key);
	json_out__string(j, s);
}

static void print_dim3(struct json_out *j, const char *key, const uint32_t dim[3])
{
	unsigned int i;

	json_out__key(j, key);
	json_out__open(j, '[');
	for (i = 0; i < 3; i++)
		json_out__u64(j, dim[i]);
	json_out__close(j, ']');
}

static void print_work_args(const struct nsys_events *e, struct json_out *j,
			    const struct nsys_work *w)
{
	const struct nsys *n = e->n;
	uint32_t i;

	if (w->type != XPU_RECORD_KERNEL) {
		print_u64(j, "bytes", w->bytes);
	} else {
		if (w->full_name && w->full_name != w->name)
			print_string(j, "demangled", w->full_name);
		print_dim3(j, "grid", w->grid);
		print_dim3(j, "block", w->block);
		print_u64(j, "registersPerThread", w->registers);
		print_u64(j, "sharedMemory", w->shared_bytes);
	}
	print_u64(j, "correlationId", w->correlation_id);
	if (!w->nr_regions)
		return;
	json_out__key(j, "NVTXRegions");
	json_out__open(j, '[');
	for (i = 0; i < w->nr_regions; i++)
		json_out__string(j, n->ranges.v[n->regions.v[w->first_region + i]].name);
	json_out__close(j, ']');
}

static void print_color(const struct nsys_events *e, struct json_out *j, const char *name)
{
	size_t i;

	for (i = 0; i < e->colors.nr; i++) {
		if (regexec(&e->colors.v[i].regex, name, 0, NULL, 0))
			continue;
		print_string(j, "cname", e->colors.v[i].color);
		break;
	}
}

static void print_event(const struct nsys_events *e, struct json_out *j,
			const struct nsys_event *event)
{
	const struct nsys *n = e->n;
	const struct nsys_work *w = NULL;
	const struct nsys_call *c = NULL;
	const struct nsys_range *r = NULL;
	uint64_t start_ns, end_ns;
	const char *name, *category;

	switch (event->activity) {
	case NSYS_KERNEL:
		w = &n->works.v[event->idx];
		name = w->name;
		start_ns = w->start_ns;
		end_ns = w->end_ns;
		category = "cuda";
		break;
	case NSYS_CUDA_API:
		c = &n->calls.v[event->idx];
		name = c->name;
		start_ns = c->start_ns;
		end_ns = c->end_ns;
		category = "cuda_api";
		break;
	case NSYS_NVTX:
		r = &n->ranges.v[event->idx];
		name = r->name;
		start_ns = r->start_ns;
		end_ns = r->end_ns;
		category = "nvtx";
		break;
	default:
		r = &n->ranges.v[e->projections.v[event->idx].range];
		name = r->name;
		start_ns = e->projections.v[event->idx].start_ns;
		end_ns = e->projections.v[event->idx].end_ns;
		category = "nvtx-kernel";
	}
	json_out__open(j, '{');
	print_string(j, "name", name);
	print_string(j, "ph", "X");
	print_string(j, "cat", category);
	print_us(j, "ts", start_ns);
	print_us(j, "dur", end_ns - start_ns);
	print_string(j, "tid", event->tid);
	print_string(j, "pid", event->pid);
	json_out__key(j, "args");
	json_out__open(j, '{');
	if (w) {
		print_work_args(e, j, w);
	} else if (c) {
		print_u64(j, "correlationId", c->correlation_id);
	} else if (r->open && event->activity == NSYS_NVTX) {
		json_out__key(j, "open");
		json_out__literal(j, "true");
	}
	json_out__close(j, '}');
	if (event->activity == NSYS_NVTX)
		print_color(e, j, name);
	json_out__close(j, '}');
}

int nsys__write_events(struct nsys *n, FILE *f, const struct nsys_events_opts *opts)
{
	uint32_t activities = opts->activities ?: NSYS_KERNEL | NSYS_NVTX_KERNEL;
	struct nsys_events e = { .n = n, .opts = opts };
	struct json_out j;
	size_t i;
	int err = nsys_events__read_colors(&e);

	if (err)
		goto out;
	if (!n->has_nvtx && activities & (NSYS_NVTX | NSYS_NVTX_KERNEL))
		msgs__add(n->msgs, "%s: NVTX was not traced: no ranges", n->path);
	e.wanted = calloc(n->ranges.nr + 1, sizeof(*e.wanted));
	if (!e.wanted) {
		err = -ENOMEM;
		goto out;
	}
	for (i = 0; i < n->ranges.nr; i++)
		e.wanted[i] = n->ranges.v[i].kind == NSYS_RANGE_PUSH_POP &&
			      nsys_events__matches(opts, n->ranges.v[i].name);
	if (activities & NSYS_NVTX_KERNEL)
		err = nsys_events__project_all(&e);
	err = err ?: nsys_events__collect(&e, activities);
	if (err)
		goto out;
	array_qsort(&e.events, nsys_event__compare);
	err = json_out__init(&j, f, ESCAPE_JSON);
	if (err)
		goto out;
	j.spaced = true;
	json_out__open(&j, '[');
	for (i = 0; i < e.events.nr; i++) {
		json_out__line(&j, 0);
		print_event(&e, &j, &e.events.v[i]);
	}
	json_out__end_line(&j);
	json_out__close(&j, ']');
	json_out__end_line(&j);
	json_out__exit(&j);
out:
	for (i = 0; i < e.colors.nr; i++)
		regfree(&e.colors.v[i].regex);
	array_free(&e.colors);
	array_free(&e.events);
	array_free(&e.projections);
	idmap__free(&e.projection_ids);
	free(e.wanted);
	strpool__free(&e.strings);
	return err;
}
