// SPDX-License-Identifier: GPL-3.0-or-later
#include "processes.h"

#include <stdlib.h>
#include <string.h>

#include "msg.h"
#include "recorder.h"
#include "writer.h"

struct processes {
	struct writer *writer;
	struct process *all;
	struct process *last;		/* most come several times in a row */
	uint64_t from_ns, until_ns;	/* launches between these are all heard of */
};

struct processes *processes__new(struct writer *w)
{
	struct processes *ps = calloc(1, sizeof(*ps));

	if (!ps)
		return NULL;
	ps->writer = w;
	ps->until_ns = UINT64_MAX;
	return ps;
}

static void process__free_inside(struct process *p)
{
	array_free(&p->paths);
}

void processes__free(struct processes *ps)
{
	if (!ps)
		return;
	table_free(ps->all, process__free_inside);
	free(ps);
}

void processes__attached(struct processes *ps, uint64_t time_ns)
{
	ps->from_ns = time_ns;
}

void processes__detaching(struct processes *ps, uint64_t time_ns)
{
	ps->until_ns = time_ns;
}

bool processes__is_after_attach(const struct processes *ps, const struct process *p,
				uint64_t time_ns)
{
	return !p->attached || time_ns >= ps->from_ns;
}

bool processes__is_before_detach(const struct processes *ps, uint64_t time_ns)
{
	return time_ns < ps->until_ns;
}

struct process *processes__get(struct processes *ps, uint32_t proc_id)
{
	struct process *p = ps->last;

	if (p && p->proc_id == proc_id)
		return p;
	table_get(ps->all, proc_id, proc_id, p);
	if (p)
		ps->last = p;
	return p;
}

struct process *processes__living(const struct processes *ps, pid_t pid)
{
	struct process *p, *image = NULL;

	for (p = ps->all; p; p = p->hh.next)
		if (p->pid == (uint32_t)pid && !p->gone &&
		    (!image || p->proc_id > image->proc_id))
			image = p;
	return image;
}

static void processes__gone(const struct processes *ps, struct process *p, uint64_t time_ns)
{
	p->gone = true;
	p->ended = processes__is_before_detach(ps, time_ns);
}

void processes__start(struct processes *ps, const struct xpu_record_process *r)
{
	struct process *parent = r->parent_proc_id ? processes__get(ps, r->parent_proc_id) : NULL;
	struct process *p = processes__get(ps, r->proc_id);
	struct xpu_record_process new = *r;
	bool is_exec = r->hdr.misc == XPU_MISC_PROCESS_EXEC;

	if (parent && is_exec)
		processes__gone(ps, parent, r->time_ns);
	if (p) {
		p->pid = r->pid;
		p->forked = !is_exec;
		p->attached = r->hdr.misc == XPU_MISC_PROCESS_ATTACH;
		if (parent && r->hdr.misc == XPU_MISC_PROCESS_FORK)
			p->python_from = parent->python_from ?: parent->proc_id;
	}
	/* Who was there at the detach launched more than there is here: that has no end, either. */
	if (is_exec && !processes__is_before_detach(ps, r->time_ns))
		new.parent_proc_id = 0;
	writer__append(ps->writer, &new.hdr);
}

void processes__exit(struct processes *ps, const struct xpu_record_process_exit *r)
{
	struct process *p = processes__get(ps, r->proc_id);

	if (p && r->hdr.misc == XPU_MISC_EXIT_STOPPED) {
		p->gone = true;		/* and not ended: it has more than there is here */
		p->stopped_ns = r->time_ns;
	} else if (p) {
		processes__gone(ps, p, r->time_ns);
	}
	if (processes__is_before_detach(ps, r->time_ns))
		writer__append(ps->writer, &r->hdr);
}

/* The counters are the first record of a batch, a message the second. The rest is the merger's. */
void processes__batch(struct processes *ps, const struct xpu_record_batch *batch)
{
	struct process *p = processes__get(ps, batch->proc_id);
	const struct xpu_record_message *m;
	const struct xpu_record *r;

	if (!p || batch->bytes < sizeof(p->counters))
		return;
	r = (const struct xpu_record *)batch->records;
	if (r->type != XPU_RECORD_COUNTERS || r->size < sizeof(p->counters) || r->size % 8)
		return;
	memcpy(&p->counters, r, sizeof(p->counters));
	if (!p->nr_batches++ && p->attached)
		p->first = p->counters;

	if (batch->bytes < sizeof(*m) || batch->bytes - sizeof(*m) < r->size)
		return;
	m = (const struct xpu_record_message *)(batch->records + r->size);
	if (m->hdr.type != XPU_RECORD_MESSAGE || !m->bytes ||
	    batch->bytes - r->size - sizeof(*m) < m->bytes)
		return;
	/* It comes from the target: one line, whatever it says. */
	msg__from_target(p->pid, m->hdr.misc != XPU_MESSAGE_INFO, m->data, m->bytes - 1);
	p->failed = m->hdr.misc == XPU_MESSAGE_ERROR;
}

unsigned int processes__nr_awake(const struct processes *ps)
{
	const struct process *p;
	unsigned int nr = 0;

	for (p = ps->all; p; p = p->hh.next)
		nr += p->nr_batches && !p->gone &&
			!(p->counters.hdr.misc & XPU_MISC_COUNTERS_LAST);
	return nr;
}

static void process__stats(const struct process *p, struct recorder_stats *stats)
{
	const struct xpu_record_counters *c = &p->counters, *f = &p->first;
	uint64_t tagged = c->nr_launches - f->nr_launches;

	stats->nr_processes += p->forked;
	stats->nr_cuda_processes += p->nr_batches != 0;
	stats->nr_launches += p->nr_launches;
	if ((p->attached || !p->ended) && tagged > p->nr_launches) {
		stats->nr_at_edges += tagged - p->nr_launches;
		tagged = p->nr_launches;
	}
	stats->nr_tagged += tagged;
	stats->nr_ranges += p->nr_ranges;
	if (!p->attached)		/* else some were not for us */
		stats->nr_ranges_logged += c->nr_ranges;
	stats->nr_ranges_dropped += c->nr_dropped_ranges - f->nr_dropped_ranges;
	stats->nr_device_records += c->nr_kernels - f->nr_kernels +
		c->nr_memcpys - f->nr_memcpys + c->nr_memsets - f->nr_memsets;
	stats->nr_calls += c->nr_calls - f->nr_calls;
	stats->nr_bad_calls += c->nr_bad_calls - f->nr_bad_calls;
	stats->nr_dropped_cupti += c->nr_dropped_cupti - f->nr_dropped_cupti;
	stats->nr_dropped_shim += c->nr_dropped_shim - f->nr_dropped_shim;
	stats->nr_bad_times += c->nr_bad_times - f->nr_bad_times;
	stats->nr_unfinished += c->nr_unfinished - f->nr_unfinished;
	stats->nr_errors += p->failed;
}

void processes__stats(const struct processes *ps, struct recorder_stats *stats)
{
	const struct process *p;

	for (p = ps->all; p; p = p->hh.next)
		process__stats(p, stats);
}
