// SPDX-License-Identifier: GPL-3.0-or-later
#include "record/recorder.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "record/chains.h"
#include "base/host_clock.h"
#include "record/event_packer.h"
#include "record/launches.h"
#include "record/offcpu.h"
#include "record/recorder_parts.h"
#include "record/processes.h"
#include "record/samples.h"
#include "base/entry_table.h"
#include "record/threads.h"
#include "record/writer.h"

#define EXEC_NS		100000000	/* an exec takes at most this long */

/*
 * The interpreter that a process mapped last. Stored by pid, since pyfind reports pids, not images.
 */
struct found_python {
	UT_hash_handle hh;
	uint32_t pid;
	uint64_t time_ns;
	struct xpu_python python;
};

struct recorder {
	struct recorder_parts parts;
	struct launches *launches;
	struct samples *samples;
	struct offcpu *offcpu;
	struct found_python *found;
	struct recorder_listener listener;
	bool off_cpu;			/* account for off-CPU time */
	uint64_t lost[XPU_LOST_NR];
};

static void recorder__loss(void *ctx, uint32_t proc_id, struct xpu_loss *loss)
{
	struct recorder *rec = ctx;

	if (rec->listener.loss)
		rec->listener.loss(rec->listener.ctx, proc_id, loss);
}

struct recorder *recorder__new(struct writer *w, uint32_t sample_period_ns, bool ranges,
			       bool memory, const struct recorder_listener *listener)
{
	struct recorder *rec = calloc(1, sizeof(*rec));
	struct recorder_parts *parts;

	if (!rec)
		return NULL;
	rec->listener = *listener;
	parts = &rec->parts;
	parts->writer = w;
	parts->processes = processes__new(w, recorder__loss, rec);
	parts->chains = chains__new(w, parts->processes);
	parts->threads = threads__new(w, parts->processes);
	parts->events = event_packer__new(w, sample_period_ns);
	rec->launches = launches__new(parts, ranges, memory);
	rec->samples = samples__new(parts, sample_period_ns);
	rec->offcpu = offcpu__new(parts, rec->samples);
	if (parts->chains && parts->threads && parts->events && parts->processes &&
	    rec->launches && rec->samples && rec->offcpu)
		return rec;
	recorder__free(rec);
	return NULL;
}

void recorder__free(struct recorder *rec)
{
	if (!rec)
		return;
	table_free(rec->found, table_free_nothing);
	offcpu__free(rec->offcpu);
	samples__free(rec->samples);
	launches__free(rec->launches);
	processes__free(rec->parts.processes);
	event_packer__free(rec->parts.events);
	threads__free(rec->parts.threads);
	chains__free(rec->parts.chains);
	free(rec);
}

void recorder__attached(struct recorder *rec, uint64_t time_ns)
{
	processes__attached(rec->parts.processes, time_ns);
}

void recorder__detaching(struct recorder *rec, uint64_t time_ns)
{
	processes__detaching(rec->parts.processes, time_ns);
}

void recorder__flush(struct recorder *rec)
{
	event_packer__flush(rec->parts.events);
	recorder__lost(rec, XPU_LOST_MALFORMED, processes__nr_malformed(rec->parts.processes));
}

void recorder__drained(struct recorder *rec, uint64_t now_ns)
{
	processes__drained(rec->parts.processes, now_ns, rec->off_cpu);
}

void recorder__finish(struct recorder *rec)
{
	recorder__flush(rec);
	chains__finish(rec->parts.chains);
}

void recorder__cut(struct recorder *rec, uint64_t time_ns)
{
	struct xpu_record_cut *r;

	recorder__finish(rec);
	samples__cut(rec->samples);
	r = writer__reserve(rec->parts.writer, sizeof(*r));
	if (r)
		*r = (struct xpu_record_cut){
			.hdr = { XPU_RECORD_CUT, 0, sizeof(*r) }, .time_ns = time_ns,
		};
}

uint64_t recorder__nr_untold(const struct recorder *rec)
{
	return processes__nr_untold(rec->parts.processes);
}

/* ---- interpreters ---------------------------------------------------------------------------- */

static void recorder__python(struct recorder *rec, uint32_t proc_id,
			     const struct xpu_python *python)
{
	struct process *p = processes__get(rec->parts.processes, proc_id);

	if (!p)
		return;
	p->python = *python;
	p->has_python = true;
	if (rec->listener.python)
		rec->listener.python(rec->listener.ctx, proc_id, python);
}

void recorder__found_python(struct recorder *rec, uint32_t pid, uint64_t time_ns,
			    const struct xpu_python *python)
{
	const struct process *image = processes__living(rec->parts.processes, pid);
	struct found_python *f;

	table_get(rec->found, pid, pid, f);
	if (!f)
		return;
	f->time_ns = time_ns;
	f->python = *python;
	if (image)
		recorder__python(rec, image->proc_id, python);
}

/*
 * Gives a new image the interpreter that was found for its pid. An exec maps the interpreter's file
 * just before the image is reported. By the clock of another CPU, the mapping may also seem to come
 * just after the report.
 */
static void recorder__find_python(struct recorder *rec, const struct xpu_record_process *r)
{
	struct found_python *f;

	table_find(rec->found, pid, r->pid, f);
	if (f && (r->hdr.misc == XPU_MISC_PROCESS_ATTACH ||
		  (r->hdr.misc == XPU_MISC_PROCESS_EXEC &&
		   xpu_ns_apart(r->time_ns, f->time_ns) < EXEC_NS)))
		recorder__python(rec, r->proc_id, &f->python);
}

/* ---- the ring's records ---------------------------------------------------------------------- */

static void recorder__batch(struct recorder *rec, const struct xpu_record_batch *batch,
			    size_t size)
{
	const struct xpu_record_python *python = (const void *)batch->records;
	const struct xpu_record_alloc *alloc = (const void *)batch->records;
	struct xpu_record_batch *r;
	size_t bytes;

	if (batch->bytes > size - sizeof(*batch) || batch->bytes % 8) {
		launches__malformed(rec->launches, batch->proc_id);
		return;
	}
	if (batch->bytes >= sizeof(*python) && python->hdr.type == XPU_RECORD_PYTHON) {
		recorder__python(rec, batch->proc_id, &python->python);
		return;
	}
	if (batch->bytes >= sizeof(*alloc) && alloc->hdr.type == XPU_RECORD_ALLOC) {
		launches__take_alloc(rec->launches, batch->proc_id, batch->tid, batch->ns_tid,
				     alloc);
		return;
	}
	bytes = sizeof(*batch) + batch->bytes;
	r = writer__reserve(rec->parts.writer, bytes);
	if (r) {
		memcpy(r, batch, bytes);
		r->hdr.size = bytes;	/* the record in the ring may be longer */
	}
	processes__batch(rec->parts.processes, batch);
}

static void recorder__process(struct recorder *rec, const struct xpu_record_process *r)
{
	processes__start(rec->parts.processes, r);
	recorder__find_python(rec, r);
	if (rec->listener.process)
		rec->listener.process(rec->listener.ctx, r);
}

static void recorder__process_exit(struct recorder *rec, const struct xpu_record_process_exit *r)
{
	struct found_python *f;

	processes__exit(rec->parts.processes, r);
	table_find(rec->found, pid, r->pid, f);
	if (f)
		table_remove(rec->found, f);
	if (rec->listener.process_exit)
		rec->listener.process_exit(rec->listener.ctx, r);
}

/*
 * These macros check the size of a record's struct. Arrays after the struct are checked where they
 * are read.
 */
#define HAS(type)	(size >= sizeof(struct type))
#define IS(type)	(HAS(type) && r->size == sizeof(struct type))

void recorder__record(struct recorder *rec, const void *data, size_t size)
{
	const struct xpu_record *r = data;

	switch (HAS(xpu_record) ? r->type : 0) {
	case XPU_RECORD_LAUNCH:
	case XPU_RECORD_LAUNCH_WAIT:
		if (HAS(xpu_ring_launch))
			launches__take(rec->launches, data, size);
		break;
	case XPU_RECORD_LOG:
		if (HAS(xpu_ring_log))
			launches__take_log(rec->launches, data, size);
		break;
	case XPU_RECORD_SAMPLE:
		if (HAS(xpu_ring_sample))
			samples__take(rec->samples, data, size);
		break;
	case XPU_RECORD_RING_CPU_REST:
		if (HAS(xpu_ring_cpu_rest))
			samples__take_rest(rec->samples, data);
		break;
	case XPU_RECORD_OFF_STACK:
		rec->off_cpu = true;
		if (HAS(xpu_ring_off_stack))
			offcpu__take_stack(rec->offcpu, data, size);
		break;
	case XPU_RECORD_RING_OFF:
		if (HAS(xpu_ring_off))
			offcpu__take_sum(rec->offcpu, data);
		break;
	case XPU_RECORD_RING_ACCOUNT:
		rec->off_cpu = true;
		if (HAS(xpu_ring_account))
			offcpu__take_account(rec->offcpu, data);
		break;
	case XPU_RECORD_BATCH:
		if (HAS(xpu_record_batch))
			recorder__batch(rec, data, size);
		break;
	case XPU_RECORD_PROCESS:
		if (IS(xpu_record_process))
			recorder__process(rec, data);
		break;
	case XPU_RECORD_PROCESS_EXIT:
		if (IS(xpu_record_process_exit))
			recorder__process_exit(rec, data);
		break;
	}
}

void recorder__living_thread(struct recorder *rec, const struct xpu_thread_state *t,
			     uint64_t end_ns)
{
	const struct process *p = processes__get(rec->parts.processes, t->proc_id);

	if (p && p->stopped_ns)
		end_ns = p->stopped_ns;
	offcpu__take_living(rec->offcpu, t, end_ns);
}

/* ---- threads --------------------------------------------------------------------------------- */

void recorder__thread_exit(struct recorder *rec, uint32_t pid, uint32_t tid, uint64_t time_ns)
{
	struct process *p = processes__living(rec->parts.processes, pid);
	uint32_t id = p ? threads__end(rec->parts.threads, p, tid, time_ns) : 0;

	if (!id)
		return;
	samples__end_thread(rec->samples, id);
	if (threads__sweep_is_due(p))
		launches__sweep(rec->launches, p);
}

/* ---- labels ---------------------------------------------------------------------------------- */

void recorder__label(struct recorder *rec, uint32_t proc_id, enum xpu_label label, const char *text)
{
	size_t bytes = strnlen(text, XPU_LABEL_TEXT_MAX - 1) + 1;
	size_t size = (sizeof(struct xpu_record_label) + bytes + 7) & ~7ul;
	struct xpu_record_label *r = writer__reserve(rec->parts.writer, size);

	if (!r)
		return;
	memset(r, 0, size);
	r->hdr = (struct xpu_record){ XPU_RECORD_PROCESS_LABEL, XPU_LABEL_BY_CGROUP, size };
	r->proc_id = proc_id;
	r->label = label;
	r->bytes = bytes;
	memcpy(r->data, text, bytes - 1);
}

/* ---- accounts -------------------------------------------------------------------------------- */

bool recorder__lost(struct recorder *rec, enum xpu_lost_kind kind, uint64_t total)
{
	struct xpu_record_lost *r;

	if (total <= rec->lost[kind])
		return false;
	r = writer__reserve(rec->parts.writer, sizeof(*r));
	if (r)
		*r = (struct xpu_record_lost){
			.hdr = { XPU_RECORD_LOST, 0, sizeof(*r) },
			.time_ns = clock__now(),
			.kind = kind,
			.count = total - rec->lost[kind],
		};
	rec->lost[kind] = total;
	return true;
}

void recorder__look_for_ends(struct recorder *rec)
{
	processes__look_for_ends(rec->parts.processes, clock__now());
}

unsigned int recorder__nr_awake(const struct recorder *rec)
{
	return processes__nr_awake(rec->parts.processes);
}

unsigned int recorder__nr_late(struct recorder *rec, uint64_t now_ns, bool tell)
{
	return processes__nr_late(rec->parts.processes, now_ns, tell);
}

uint64_t recorder__nr_launches(struct recorder *rec)
{
	struct recorder_stats stats = { 0 };

	processes__stats(rec->parts.processes, &stats);
	return stats.nr_launches;
}

void recorder__stats(struct recorder *rec, struct recorder_stats *stats)
{
	processes__stats(rec->parts.processes, stats);
	launches__stats(rec->launches, stats);
	samples__stats(rec->samples, stats);
	stats->nr_paths = chains__nr_launching(rec->parts.chains);
}
