// SPDX-License-Identifier: GPL-3.0-or-later
#include "import/import.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "block.h"
#include "hash.h"
#include "model/leaf.h"

/* The importer assigns its own callback ids to API functions, in the driver API's domain. */
#define DOMAIN_IMPORT		1		/* the value of CUPTI_CB_DOMAIN_DRIVER_API */
#define BATCH_BYTES		(1u << 20)
#define LAUNCHES_MAX		1024
#define BLOCK_BYTES		(256u << 10)	/* bytes of records in a block; a longer record gets
						 * a block of its own */

struct import_stream {
	struct import_stream_key {
		uint32_t proc, api, device, context, stream;
	} key;
	uint32_t id;
	UT_hash_handle hh;
};

void import__init(struct import *im)
{
	struct xpu_file_header h = {
		.magic = XPU_FILE_MAGIC,
		.endian = XPU_FILE_ENDIAN,
		.version_major = XPU_VERSION_PLAIN,
		.version_minor = XPU_VERSION_PLAIN_MINOR,
		.header_bytes = sizeof(h),
		.clockid = 1,
	};

	memset(im, 0, sizeof(*im));
	im->first_ns = UINT64_MAX;
	im->err = array_reserve(&im->records, sizeof(h));
	if (im->err)
		return;
	memcpy(im->records.v, &h, sizeof(h));
	im->records.nr = sizeof(h);
}

/* Frees the data that is needed only while records are added. */
static void import__end_making(struct import *im)
{
	HASH_CLEAR(hh, im->streams);
	time_bounds__free(&im->bounds);
	arena__free(&im->arena);
	idmap__free(&im->threads);
	idmap__free(&im->procs);
	array_free(&im->words);
	array_free(&im->key);
	idmap__free(&im->api_ids);
	idmap__free(&im->string_ids);
	strpool__free(&im->texts);
	array_free(&im->by_proc);
	array_free(&im->samples);
	array_free(&im->range_events);
	array_free(&im->launch_ranges);
	array_free(&im->launches);
	array_free(&im->batch);
}

void import__exit(struct import *im)
{
	import__end_making(im);
	array_free(&im->records);
}

/*
 * Appends a record to the top level or, with @nested, to the batch. @fixed starts with space for
 * the record's header.
 */
static void import__put(struct import *im, bool nested, uint16_t type, uint16_t misc,
			const void *fixed, size_t fixed_bytes, const void *tail, size_t tail_bytes)
{
	size_t bytes = fixed_bytes + tail_bytes, padded = (bytes + 7) / 8 * 8;
	struct xpu_record hdr = { type, misc, padded };
	uint8_t *p;

	if (!im->err && padded > INT32_MAX)
		im->err = -E2BIG;
	if (!im->err)
		im->err = nested ? array_reserve(&im->batch, im->batch.nr + padded) :
				   array_reserve(&im->records, im->records.nr + padded);
	if (im->err)
		return;
	if (nested) {
		p = im->batch.v + im->batch.nr;
		im->batch.nr += padded;
	} else {
		p = im->records.v + im->records.nr;
		im->records.nr += padded;
	}
	memcpy(p, fixed, fixed_bytes);
	memcpy(p, &hdr, sizeof(hdr));
	if (tail_bytes)
		memcpy(p + fixed_bytes, tail, tail_bytes);
	memset(p + bytes, 0, padded - bytes);
}

#define PUT(im, type, misc, rec) \
	import__put(im, false, type, misc, &(rec), sizeof(rec), NULL, 0)
#define PUT_NESTED(im, type, misc, rec) \
	import__put(im, true, type, misc, &(rec), sizeof(rec), NULL, 0)

static void import__flush_batch(struct import *im)
{
	struct xpu_record_batch batch = {
		.time_ns = im->last_ns, .proc_id = im->batch_proc, .bytes = im->batch.nr,
	};

	if (im->batch.nr)
		import__put(im, false, XPU_RECORD_BATCH, 0, &batch, sizeof(batch), im->batch.v,
			    im->batch.nr);
	im->batch.nr = 0;
}

/* Starts a batch of process @proc, to which the next nested records are added. */
static void import__enter_batch(struct import *im, uint32_t proc)
{
	if (im->batch_proc != proc || im->batch.nr > BATCH_BYTES)
		import__flush_batch(im);
	im->batch_proc = proc;
}

static void import__flush_launches(struct import *im)
{
	struct xpu_record_launches rec = { .time_ns = im->launches_ns, .nr = im->launches.nr };
	size_t bytes = im->launches.nr * sizeof(*im->launches.v);
	size_t range_bytes = im->launch_ranges.nr * sizeof(*im->launch_ranges.v);
	char both[LAUNCHES_MAX * (sizeof(*im->launches.v) + sizeof(*im->launch_ranges.v))];

	if (im->launches.nr) {
		memcpy(both, im->launches.v, bytes);
		memcpy(both + bytes, im->launch_ranges.v, range_bytes);
		if (im->launches_in_ranges)
			import__put(im, false, XPU_RECORD_LAUNCHES, XPU_MISC_LAUNCHES_RANGES, &rec,
				    sizeof(rec), both, bytes + range_bytes);
		else
			import__put(im, false, XPU_RECORD_LAUNCHES, 0, &rec, sizeof(rec), both,
				    bytes);
	}
	im->launches.nr = im->launch_ranges.nr = 0;
	im->launches_in_ranges = false;
}

static void import__flush_range_events(struct import *im)
{
	struct xpu_record_ranges rec = {
		.time_ns = im->range_events_ns, .nr = im->range_events.nr,
	};

	if (im->range_events.nr)
		import__put(im, false, XPU_RECORD_RANGES, 0, &rec, sizeof(rec),
			    im->range_events.v,
			    im->range_events.nr * sizeof(*im->range_events.v));
	im->range_events.nr = 0;
}

static void import__flush_samples(struct import *im)
{
	struct xpu_record_samples rec = {
		.time_ns = im->samples_ns, .nr = im->samples.nr, .period_ns = im->sample_period_ns,
	};

	if (im->samples.nr)
		import__put(im, false, XPU_RECORD_SAMPLES, 0, &rec, sizeof(rec), im->samples.v,
			    im->samples.nr * sizeof(*im->samples.v));
	im->samples.nr = 0;
}

static void import__see_time(struct import *im, enum time_side side, uint64_t time_ns)
{
	im->first_ns = min_t(uint64_t, im->first_ns, time_ns ?: UINT64_MAX);
	im->last_ns = max_t(uint64_t, im->last_ns, time_ns);
	im->err = im->err ?: time_bounds__add(&im->bounds, side, time_ns);
}

static void import__see(struct import *im, uint64_t time_ns)
{
	import__see_time(im, SIDE_EVENTS, time_ns);
}

void import__see_other(struct import *im, uint64_t time_ns)
{
	im->err = im->err ?: time_bounds__add(&im->bounds, SIDE_EVENTS, time_ns);
}

void import__see_sample(struct import *im, uint64_t time_ns)
{
	import__see_time(im, SIDE_SAMPLES, time_ns);
}

/* Notes the start and end times of an event. An end that exceeds 64 bits counts as a bad time. */
static void import__see_both(struct import *im, uint64_t start_ns, uint64_t duration_ns)
{
	uint64_t end_ns;

	import__see(im, start_ns);
	if (!__builtin_add_overflow(start_ns, duration_ns, &end_ns))
		im->err = im->err ?: time_bounds__add(&im->bounds, SIDE_EVENTS, end_ns);
}

/*
 * import__id - find or make the id that a process has for a text
 * @ids: maps (process, text) to the id
 * @nr: how many ids the process has in @ids
 * @text: set to the kept copy, with a NUL
 *
 * Each text is kept once, and each process has an entry only for the texts that it uses, because a
 * file may have very many processes. Return: whether the id is new; *@id is 0 if memory is short.
 */
static bool import__id(struct import *im, struct idmap *ids, uint32_t proc, uint32_t *nr,
		       struct span s, const char **text, uint32_t *id)
{
	uint64_t key;

	*id = 0;
	if (im->err)
		return false;
	*text = strpool__intern(&im->texts, s.s, s.len);
	if (!*text) {
		im->err = -ENOMEM;
		return false;
	}
	key = ID_KEY(proc, strpool__id(*text));
	if (idmap__get(ids, key, id))
		return false;
	im->err = idmap__put(ids, key, *nr + 1);
	if (im->err)
		return false;
	*id = ++*nr;
	return true;
}

/*
 * Return: the id of a string, or 0 if memory is short. The first use defines the string for the
 * process.
 */
static uint32_t import__string(struct import *im, uint32_t proc, struct span s)
{
	struct xpu_record_string rec = { .bytes = s.len + 1 };
	const char *text;

	if (im->err || !import__id(im, &im->string_ids, proc, &im->by_proc.v[proc - 1].nr_strings,
				   s, &text, &rec.id))
		return im->err ? 0 : rec.id;
	import__enter_batch(im, proc);
	import__put(im, true, XPU_RECORD_STRING, 0, &rec, sizeof(rec), text, s.len + 1);
	return im->err ? 0 : rec.id;
}

uint32_t import__process(struct import *im, uint32_t pid, const char *comm, uint64_t time_ns)
{
	struct xpu_record_process rec = {
		.time_ns = time_ns, .proc_id = im->by_proc.nr + 1, .pid = pid,
	};

	im->err = im->err ?: array_push(&im->by_proc, (struct import_proc){ .pid = pid });
	im->err = im->err ?: min_t(int, idmap__add(&im->procs, pid, rec.proc_id), 0);
	if (im->err)
		return 0;
	strncpy(rec.comm, comm, sizeof(rec.comm) - 1);
	PUT(im, XPU_RECORD_PROCESS, XPU_MISC_PROCESS_ROOT, rec);
	return rec.proc_id;
}

uint32_t import__thread(struct import *im, uint32_t proc, uint32_t tid)
{
	struct xpu_record_thread rec = {
		.thread_id = im->nr_threads + 1, .proc_id = proc, .tid = tid,
	};

	im->err = im->err ?:
		  min_t(int, idmap__add(&im->threads, ID_KEY(proc, tid), rec.thread_id), 0);
	if (im->err)
		return 0;
	PUT(im, XPU_RECORD_THREAD, 0, rec);
	return ++im->nr_threads;
}

uint32_t import__find_process(const struct import *im, uint32_t pid)
{
	uint32_t proc;

	return idmap__get(&im->procs, pid, &proc) ? proc : 0;
}

uint32_t import__find_thread(const struct import *im, uint32_t proc, uint32_t tid)
{
	uint32_t thread;

	return idmap__get(&im->threads, ID_KEY(proc, tid), &thread) ? thread : 0;
}

void import__clock(struct import *im, uint64_t mono_ns, uint64_t real_ns)
{
	struct xpu_file_header *h = (struct xpu_file_header *)im->records.v;

	if (im->err)
		return;
	h->start_mono_ns = mono_ns;
	h->start_real_ns = real_ns;
}

void import__info(struct import *im, uint32_t key, struct span text)
{
	struct xpu_record_info rec = { .key = key, .bytes = min_t(size_t, text.len, 4096) };

	import__put(im, false, XPU_RECORD_INFO, 0, &rec, sizeof(rec), text.s, rec.bytes);
}

void import__comm(struct import *im, uint32_t pid, uint32_t tid, uint64_t time_ns,
		  const char *comm)
{
	struct xpu_record_comm rec = { .time_ns = time_ns, .pid = pid, .tid = tid };

	strncpy(rec.comm, comm, sizeof(rec.comm) - 1);
	PUT(im, XPU_RECORD_COMM, 0, rec);
}

/* Return: the process's callback id for the name of an API function. */
static uint32_t import__api(struct import *im, uint32_t proc, const char *name)
{
	struct xpu_record_api rec = { .domain = XPU_WITH_API(im->api, DOMAIN_IMPORT) };
	const char *text;
	uint32_t id;

	if (im->err || !import__id(im, &im->api_ids, proc, &im->by_proc.v[proc - 1].nr_apis,
				   span__of(name), &text, &id))
		return im->err ? 0 : id;
	rec.cbid = id;
	rec.name = import__string(im, proc, span__of(name));
	import__enter_batch(im, proc);
	PUT_NESTED(im, XPU_RECORD_API, 0, rec);
	return rec.cbid;
}

/* Makes a call path. @api: the called function, or NULL if the path is for a sample */
static uint32_t import__chain(struct import *im, uint32_t proc, uint64_t time_ns, const char *api,
			      const struct span *frames, size_t nr)
{
	struct xpu_record_callchain rec = {
		.path_id = im->nr_paths + 1,
		.proc_id = proc,
		.time_ns = time_ns,
		.nr_frames = min_t(size_t, nr, XPU_MAX_FRAMES),
	};
	uint16_t flags = api ? 0 : XPU_CHAIN_CPU;
	size_t i;

	if (rec.nr_frames < nr)
		flags |= XPU_CHAIN_TRUNCATED;
	if (api) {
		rec.domain = XPU_WITH_API(im->api, DOMAIN_IMPORT);
		rec.cbid = import__api(im, proc, api);
	}
	im->words.nr = 0;
	for (i = 0; i < rec.nr_frames && !im->err; i++) {
		struct span name = frames[nr - 1 - i];
		uint64_t word = XPU_FRAME_NAMED;

		if (name.s)
			word |= import__string(im, proc, name);
		im->err = im->err ?: array_push(&im->words, word);
	}
	if (im->err)
		return 0;
	import__put(im, false, XPU_RECORD_CALLCHAIN, flags, &rec, sizeof(rec), im->words.v,
		    im->words.nr * sizeof(*im->words.v));
	return ++im->nr_paths;
}

uint32_t import__path(struct import *im, uint32_t proc, uint64_t time_ns, const char *api,
		      const struct span *frames, size_t nr)
{
	return import__chain(im, proc, time_ns, api, frames, nr);
}

uint32_t import__cpu_path(struct import *im, uint32_t proc, uint64_t time_ns,
			  const struct span *frames, size_t nr)
{
	return import__chain(im, proc, time_ns, NULL, frames, nr);
}

uint32_t import__cpu_chain(struct import *im, uint32_t proc, uint64_t time_ns,
			   const uint64_t *words, size_t nr)
{
	struct xpu_record_callchain rec = {
		.path_id = im->nr_paths + 1,
		.proc_id = proc,
		.time_ns = time_ns,
		.nr_frames = min_t(size_t, nr, XPU_MAX_FRAMES),
	};
	uint16_t flags = XPU_CHAIN_CPU | (rec.nr_frames < nr ? XPU_CHAIN_TRUNCATED : 0);

	if (im->err)
		return 0;
	import__put(im, false, XPU_RECORD_CALLCHAIN, flags, &rec, sizeof(rec), words,
		    rec.nr_frames * sizeof(*words));
	return ++im->nr_paths;
}

void import__record(struct import *im, uint16_t type, uint16_t misc, const void *fixed,
		    size_t fixed_bytes, const void *tail, size_t tail_bytes)
{
	import__put(im, false, type, misc, fixed, fixed_bytes, tail, tail_bytes);
}

uint32_t import__stream(struct import *im, uint32_t proc, uint32_t device, uint32_t context,
			uint32_t stream)
{
	struct import_stream_key key = { proc, im->api, device, context, stream };
	struct xpu_record_stream rec = {
		.id = im->nr_streams + 1, .device = device, .context = context, .stream = stream,
	};
	struct import_stream *e;
	bool oom = false;

	HASH_FIND(hh, im->streams, &key, sizeof(key), e);
	if (e || im->err)
		return e ? e->id : 0;
	e = arena__alloc(&im->arena, sizeof(*e));
	if (e) {
		e->key = key;
		HASH_ADD(hh, im->streams, key, sizeof(key), e);
	}
	if (!e || oom) {
		im->err = -ENOMEM;
		return 0;
	}
	import__enter_batch(im, proc);
	PUT_NESTED(im, XPU_RECORD_STREAM, XPU_WITH_API(im->api, 0), rec);
	return e->id = ++im->nr_streams;
}

void import__device(struct import *im, uint32_t proc, uint32_t device, const char *name,
		    const uint8_t uuid[16])
{
	struct xpu_record_device rec = { .device = device };

	rec.name = import__string(im, proc, span__of(name));
	memcpy(rec.uuid, uuid, sizeof(rec.uuid));
	import__enter_batch(im, proc);
	PUT_NESTED(im, XPU_RECORD_DEVICE, XPU_WITH_API(im->api, 0), rec);
}

void import__launch(struct import *im, uint64_t time_ns, uint32_t correlation_id, uint32_t path,
		    uint32_t thread)
{
	import__launch_in(im, time_ns, correlation_id, path, thread, 0);
}

void import__launch_in(struct import *im, uint64_t time_ns, uint32_t correlation_id, uint32_t path,
		       uint32_t thread, uint32_t range)
{
	struct xpu_launch l = {
		.correlation_id = correlation_id, .path_id = path, .thread_id = thread,
	};
	int64_t delta;

	if (im->err)
		return;
	import__see(im, time_ns);
	delta = time_ns - im->launches_ns;
	if (im->launches.nr == LAUNCHES_MAX || delta > INT32_MAX || delta < INT32_MIN)
		import__flush_launches(im);
	if (!im->launches.nr) {
		im->launches_ns = time_ns;
		delta = 0;
	}
	l.delta_ns = delta;
	im->err = im->err ?: array_reserve(&im->launch_ranges, im->launches.nr + 1);
	im->err = im->err ?: array_push(&im->launches, l);
	im->err = im->err ?: array_push(&im->launch_ranges, range);
	im->launches_in_ranges |= range != 0;
}

void import__refused(struct import *im, uint32_t proc, uint32_t correlation_id, uint32_t result)
{
	struct xpu_record_refused rec = { .correlation_id = correlation_id, .result = result };

	import__enter_batch(im, proc);
	PUT_NESTED(im, XPU_RECORD_REFUSED, 0, rec);
}

void import__graph_node(struct import *im, uint32_t proc, uint64_t time_ns, uint64_t node_id,
			uint32_t correlation_id, uint32_t path, uint32_t thread)
{
	struct xpu_record_graph_node rec = {
		.time_ns = time_ns, .node_id = node_id, .proc_id = proc,
		.correlation_id = correlation_id, .path_id = path, .thread_id = thread,
	};

	PUT(im, XPU_RECORD_GRAPH_NODE, 0, rec);
}

void import__graph_clone(struct import *im, uint32_t proc, uint64_t node_id, uint64_t original_id)
{
	struct xpu_record_graph_clone rec = { .node_id = node_id, .original_id = original_id };

	import__enter_batch(im, proc);
	PUT_NESTED(im, XPU_RECORD_GRAPH_CLONE, 0, rec);
}

/* ---- ranges and waits ------------------------------------------------------------------------ */

/*
 * Return: the number of bytes of @s that, with a NUL, fit into @max bytes. Never splits a
 * character.
 */
static size_t span__fit(struct span s, size_t max)
{
	size_t len = s.len ? strnlen(s.s, s.len) : 0;

	if (len < max)
		return len;
	for (len = max - 1; len && (s.s[len] & 0xc0) == 0x80; len--)
		;
	return len;
}

uint32_t import__range(struct import *im, uint32_t proc, uint32_t parent, struct span name,
		       struct span domain)
{
	size_t name_len = span__fit(name, XPU_RANGE_NAME_MAX);
	size_t domain_len = span__fit(domain, XPU_RANGE_DOMAIN_MAX);
	struct xpu_record_range rec = {
		.id = im->nr_ranges + 1, .parent = parent, .name_bytes = name_len + 1,
		.domain_bytes = domain_len + 1,
	};
	char both[XPU_RANGE_NAME_MAX + XPU_RANGE_DOMAIN_MAX] = "";

	if (im->err)
		return 0;
	if (name_len)
		memcpy(both, name.s, name_len);
	both[name_len] = 0;
	if (domain_len)
		memcpy(both + name_len + 1, domain.s, domain_len);
	both[name_len + 1 + domain_len] = 0;
	import__enter_batch(im, proc);
	import__put(im, true, XPU_RECORD_RANGE, 0, &rec, offsetof(struct xpu_record_range, data),
		    both, name_len + domain_len + 2);
	return im->err ? 0 : ++im->nr_ranges;
}

void import__range_event(struct import *im, uint64_t time_ns, uint32_t thread, uint32_t range,
			 enum xpu_range_what what, uint32_t place)
{
	struct xpu_range_event e = {
		.range_id = range, .thread_id = thread, .what = what, .place = place,
	};
	int64_t delta;

	if (im->err)
		return;
	import__see(im, time_ns);
	delta = time_ns - im->range_events_ns;
	if (im->range_events.nr == LAUNCHES_MAX || delta > INT32_MAX || delta < INT32_MIN)
		import__flush_range_events(im);
	if (!im->range_events.nr) {
		im->range_events_ns = time_ns;
		delta = 0;
	}
	e.delta_ns = delta;
	im->err = im->err ?: array_push(&im->range_events, e);
}

void import__wait(struct import *im, const struct import_wait *w)
{
	struct xpu_record_wait rec = {
		.start_ns = w->start_ns,
		.duration_ns = w->duration_ns,
		.path_id = w->path,
		.thread_id = w->thread,
		.context = w->context,
		.stream = w->stream,
		.range_id = w->range,
	};

	import__see_both(im, w->start_ns, w->duration_ns);
	PUT(im, XPU_RECORD_WAIT, XPU_WITH_API(im->api, w->flags), rec);
}

void import__alloc(struct import *im, uint32_t proc, uint64_t time_ns, struct xpu_alloc a)
{
	struct xpu_record_allocs rec = { .time_ns = time_ns, .proc_id = proc };
	struct xpu_alloc events[2] = {
		{ .what = XPU_ALLOC_START, .device = XPU_ALLOC_NO_DEVICE, .api = im->api },
	};
	bool first;

	if (im->err)
		return;
	import__see(im, time_ns);
	rec.order = ++im->by_proc.v[proc - 1].nr_allocs;
	/* The START event has the same number as the first event. */
	first = rec.order == 1;
	a.api = im->api;
	events[first] = a;
	rec.nr = 1 + first;
	import__put(im, false, XPU_RECORD_ALLOCS, 0, &rec, sizeof(rec), events,
		    rec.nr * sizeof(*events));
}

/* ---- calls, samples and device work ---------------------------------------------------------- */

void import__call(struct import *im, uint32_t proc, uint32_t tid, uint64_t start_ns,
		  uint64_t duration_ns, uint32_t correlation_id, const char *api)
{
	uint32_t cbid = import__api(im, proc, api);
	struct xpu_record_calls rec = { .time_ns = start_ns, .tid = tid, .nr = 1 };
	const struct xpu_call call = {
		.correlation_id = correlation_id,
		.duration_ns = duration_ns,
		.duration_high = min_t(uint64_t, duration_ns, XPU_CALL_MAX_NS) >> 32,
		/* If the function's number does not fit, store 0: unknown. */
		.cbid = (cbid == XPU_CALL_NUMBER(cbid) ? cbid : 0) | im->api << XPU_CALL_API_SHIFT,
	};

	if (im->err)
		return;
	import__see_both(im, start_ns, duration_ns);
	import__enter_batch(im, proc);
	import__put(im, true, XPU_RECORD_CALLS, 0, &rec, sizeof(rec), &call, sizeof(call));
}

void import__sample(struct import *im, uint64_t time_ns, uint32_t path, uint32_t thread,
		    uint32_t cpu, uint32_t period_ns)
{
	struct xpu_sample sample = { .path_id = path, .thread_id = thread, .cpu = cpu };
	int64_t delta;

	if (im->err)
		return;
	import__see_sample(im, time_ns);
	delta = time_ns - im->samples_ns;
	if (im->samples.nr == LAUNCHES_MAX || delta > INT32_MAX || delta < INT32_MIN ||
	    im->sample_period_ns != period_ns)
		import__flush_samples(im);
	if (!im->samples.nr) {
		im->samples_ns = time_ns;
		im->sample_period_ns = period_ns;
		delta = 0;
	}
	sample.delta_ns = delta;
	im->err = im->err ?: array_push(&im->samples, sample);
}

/*
 * Return: the id of a kernel's name with its launch shape, because the format has one id for both.
 */
static uint32_t import__shaped(struct import *im, uint32_t proc, struct span name,
			       const void *shape)
{
	struct xpu_record_string text = { .bytes = name.len + 1 };
	struct xpu_record_shape rec = { .name = 0 };
	const char *both;
	size_t i;

	im->key.nr = 0;
	for (i = 0; i < name.len && !im->err; i++)
		im->err = array_push(&im->key, name.s[i]);
	im->err = im->err ?: array_push(&im->key, 0);
	for (i = 0; i < sizeof(rec.shape) && !im->err; i++)
		im->err = array_push(&im->key, ((const char *)shape)[i]);
	if (im->err)
		return 0;
	if (!import__id(im, &im->string_ids, proc, &im->by_proc.v[proc - 1].nr_strings,
			(struct span){ im->key.v, im->key.nr }, &both, &text.id))
		return im->err ? 0 : text.id;
	rec.name = text.id;
	memcpy(&rec.shape, shape, sizeof(rec.shape));
	import__enter_batch(im, proc);
	import__put(im, true, XPU_RECORD_STRING, 0, &text, sizeof(text), both, name.len + 1);
	PUT_NESTED(im, XPU_RECORD_SHAPE, 0, rec);
	return im->err ? 0 : text.id;
}

void import__kernel(struct import *im, uint32_t proc, const struct import_work *w,
		    struct span name)
{
	struct xpu_record_kernel rec = {
		.start_ns = w->start_ns,
		.duration_ns = w->duration_ns,
		.correlation_id = w->correlation_id,
		.stream = w->stream,
		.graph_id = w->graph_id,
	};

	import__see_both(im, w->start_ns, w->duration_ns);
	rec.name = w->shape ? import__shaped(im, proc, name, w->shape) :
		   import__string(im, proc, name);
	import__enter_batch(im, proc);
	import__put(im, true, XPU_RECORD_KERNEL,
		    XPU_WITH_API(im->api, w->graph_node_id ? XPU_MISC_GRAPH_NODE : 0), &rec,
		    sizeof(rec), &w->graph_node_id, w->graph_node_id ? 8 : 0);
}

void import__pmc(struct import *im, uint32_t proc, const struct import_work *w, const char *name,
		 double value)
{
	struct xpu_record_pmc rec = {
		.start_ns = w->start_ns, .correlation_id = w->correlation_id,
		.name = import__string(im, proc, span__of(name)),
	};

	memcpy(&rec.value, &value, sizeof(rec.value));
	import__enter_batch(im, proc);
	PUT_NESTED(im, XPU_RECORD_PMC, XPU_WITH_API(im->api, 0), rec);
}

static void import__memory(struct import *im, uint16_t type, uint32_t proc,
			   const struct import_work *w)
{
	struct xpu_record_memory rec = {
		.start_ns = w->start_ns,
		.duration_ns = w->duration_ns,
		.correlation_id = w->correlation_id,
		.stream = w->stream,
		.bytes = w->bytes,
		.copy_kind = w->copy_kind,
		.graph_id = w->graph_id,
	};

	import__see_both(im, w->start_ns, w->duration_ns);
	import__enter_batch(im, proc);
	import__put(im, true, type,
		    XPU_WITH_API(im->api, w->graph_node_id ? XPU_MISC_GRAPH_NODE : 0), &rec,
		    sizeof(rec), &w->graph_node_id, w->graph_node_id ? 8 : 0);
}

void import__memcpy(struct import *im, uint32_t proc, const struct import_work *w)
{
	import__memory(im, XPU_RECORD_MEMCPY, proc, w);
}

void import__memset(struct import *im, uint32_t proc, const struct import_work *w)
{
	import__memory(im, XPU_RECORD_MEMSET, proc, w);
}

void import__migration(struct import *im, uint32_t proc, uint16_t what,
		       struct xpu_record_migration m)
{
	if (im->err)
		return;
	import__see_both(im, m.start_ns, m.duration_ns);
	m.number = im->by_proc.v[proc - 1].nr_migrations++;
	import__enter_batch(im, proc);
	PUT_NESTED(im, XPU_RECORD_MIGRATION, what, m);
}

/* If some times are outliers, records when the recording began and ended. */
static void import__tell_bounds(struct import *im)
{
	uint64_t from_ns, to_ns;
	char text[48];

	if (!time_bounds__find(&im->bounds, &from_ns, &to_ns))
		return;
	snprintf(text, sizeof(text), "%" PRIu64 " %" PRIu64, from_ns, to_ns);
	import__info(im, XPU_INFO_TIMES, span__of(text));
	im->first_ns = max_t(uint64_t, im->first_ns, from_ns);
	im->last_ns = min_t(uint64_t, im->last_ns, to_ns);
}

int import__finish(struct import *im, struct reader *r, const char *name)
{
	struct xpu_record_end end;

	import__tell_bounds(im);
	end = (struct xpu_record_end){ .time_ns = im->last_ns };
	import__flush_launches(im);
	import__flush_range_events(im);
	import__flush_samples(im);
	import__flush_batch(im);
	PUT(im, XPU_RECORD_END, 0, end);
	import__end_making(im);
	return im->err ?: reader__open_mem(r, im->records.v, im->records.nr, name);
}

/* Return: how many of the @left bytes at @at form a block of complete records. */
static size_t block_bytes(const uint8_t *at, size_t left)
{
	size_t bytes = 0, size;

	for (; bytes < left; bytes += size) {
		size = ((const struct xpu_record *)(at + bytes))->size;
		if (bytes && bytes + size > BLOCK_BYTES)
			break;
	}
	return bytes;
}

/*
 * Return: whether each record fits into a block. Names in other tools' files may have any length.
 */
static bool fits_blocks(const uint8_t *at, size_t left)
{
	size_t size;

	for (; left; at += size, left -= size) {
		size = ((const struct xpu_record *)at)->size;
		if (size > XPU_BLOCK_MAX)
			return false;
	}
	return true;
}

int import__write(const struct import *im, FILE *f)
{
	struct xpu_file_header h = *(const struct xpu_file_header *)im->records.v;
	const uint8_t *at = im->records.v + sizeof(h);
	size_t left = im->records.nr - sizeof(h), bytes;
	const struct xpu_record_block *b;
	struct block_packer *p;
	int err = 0;

	if (!fits_blocks(at, left)) {
		fwrite(im->records.v, 1, im->records.nr, f);
		return 0;
	}
	p = block_packer__new(BLOCK_LEVEL_DEFAULT);
	if (!p)
		return -ENOMEM;
	h.version_major = XPU_VERSION_MAJOR;
	h.version_minor = XPU_VERSION_MINOR;
	file_header__seal(&h);
	fwrite(&h, 1, sizeof(h), f);
	for (; left && !err; at += bytes, left -= bytes) {
		bytes = block_bytes(at, left);
		b = block_packer__pack(p, at, bytes);
		if (b)
			fwrite(b, 1, b->hdr.size, f);
		else
			err = -ENOMEM;
	}
	block_packer__free(p);
	return err;
}

int import__load(const char *path, char **buf, size_t *size)
{
	ARRAY(char) bytes = { 0 };
	struct stat st;
	gzFile gz;
	int fd, nr, err = 0, gz_err;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	/* Refuse a device such as /dev/zero, whose input never ends. */
	if (fstat(fd, &st) || S_ISBLK(st.st_mode) || (S_ISCHR(st.st_mode) && !isatty(fd))) {
		close(fd);
		return -ENODEV;
	}
	/* gzdopen() also reads uncompressed files. */
	gz = gzdopen(fd, "rb");
	if (!gz) {
		close(fd);
		return -ENOMEM;
	}
	if (S_ISREG(st.st_mode) && st.st_size > 0) {
		bytes.v = huge__alloc((size_t)st.st_size + 1);
		bytes.cap = bytes.v ? (size_t)st.st_size + 1 : 0;
	}
	while (!err) {
		err = array_reserve(&bytes, bytes.nr + 1);
		if (err)
			break;
		nr = gzread(gz, bytes.v + bytes.nr, min_t(size_t, bytes.cap - bytes.nr, INT_MAX));
		gzerror(gz, &gz_err);
		if (nr < 0)
			err = gz_err == Z_ERRNO ? -errno :
			      gz_err == Z_MEM_ERROR ? -ENOMEM : -EBADMSG;
		if (!nr && gz_err == Z_BUF_ERROR)
			err = -EBADMSG;
		if (nr <= 0)
			break;
		bytes.nr += nr;
	}
	gzclose_r(gz);
	if (err) {
		array_free(&bytes);
		return err;
	}
	*buf = bytes.v;
	*size = bytes.nr;
	return 0;
}

const char *import__load_error(int err)
{
	switch (err) {
	case -EBADMSG:
		return "damaged or cut off: check it with gzip -t";
	case -ENODEV:
		return "it is a device: expected a file";
	default:
		return strerror(-err);
	}
}

/* Return: the word for a letter in the short name of a copy. */
static const char *memory__word(char letter, bool capitals)
{
	switch (letter) {
	case 'H':
		return capitals ? "HOST" : "Host";
	case 'D':
		return capitals ? "DEVICE" : "Device";
	case 'A':
		return capitals ? "ARRAY" : "Array";
	default:
		return capitals ? "PEER" : "Peer";
	}
}

/*
 * Return: whether the text is PTI's abbreviation of @name: "H2D" for host to device, or "M2D" if
 * host memory is not pinned. S (shared memory, which migrates) has no counterpart.
 */
static bool is_route(const char *s, size_t len, const char *name)
{
	size_t i;

	for (i = 1; i + 1 < len; i++)
		if (s[i] == '2' && (s[i - 1] == 'M' ? 'H' : s[i - 1]) == name[0] &&
		    (s[i + 1] == 'M' ? 'H' : s[i + 1]) == name[3] && strchr("HD", name[0]) &&
		    strchr("HD", name[3]) && (i == 1 || !isalnum((unsigned char)s[i - 2])) &&
		    (i + 2 == len || !isalnum((unsigned char)s[i + 2])))
			return true;
	return false;
}

uint8_t import__copy_kind(const char *s, size_t len)
{
	static const char *const to[] = { "-to-", "_TO_", "To" };
	const char *name;
	char words[32];
	size_t i, k;

	for (i = 1; i < NR_MEMCPY_KINDS; i++) {
		name = memcpy_kind__name(i);		/* for example "HtoD" */
		if (memmem(s, len, name, strlen(name)) || is_route(s, len, name))
			return i;
		for (k = 0; k < ARRAY_SIZE(to); k++) {
			snprintf(words, sizeof(words), "%s%s%s", memory__word(name[0], k == 1),
				 to[k], memory__word(name[3], k == 1));
			if (memmem(s, len, words, strlen(words)))
				return i;
		}
	}
	return 0;
}
