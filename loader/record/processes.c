// SPDX-License-Identifier: GPL-3.0-or-later
#include "record/processes.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/msg.h"
#include "record/recorder_stats.h"
#include "util.h"
#include "record/writer.h"

/*
 * The last records of a process arrive some microseconds after its exit: from other CPUs, which run
 * its other threads, and from the samples' ring, which is read after the main ring.
 */
#define SETTLE_NS	1000000000ull
#define SETTLE_ROUNDS	2		/* rounds of draining both rings */

#define MAX_COUNT	(1ull << 48)	/* largest valid count of one process */

struct processes {
	struct writer *writer;
	struct process *all;
	struct process *last;		/* the last process looked up; most lookups are for the same
					 * process */
	struct process *gone, **last_gone;	/* exited but not settled, in order of exit */
	struct process *kept, **last_kept;	/* settled, but with threads and stacks kept, in
						 * order of settling */
	uint32_t nr_kept;
	uint64_t round;
	uint64_t from_ns, until_ns;	/* launches between these times are recorded */
	uint64_t nr[NR_MAPS];		/* number of entries in each map, over all processes */
	uint64_t nr_malformed;
	uint64_t nr_messages;
	processes_loss_fn loss;
	void *ctx;
	struct recorder_stats past;	/* sums over settled processes */
};

static const struct limit {
	uint32_t process, all, floor;
} limits[NR_MAPS] = {
#define LIMIT_ROW(name, process, all, floor)	[MAP_##name] = { process, all, floor },
	LIMIT_ROWS(LIMIT_ROW)
#undef LIMIT_ROW
};

struct processes *processes__new(struct writer *w, processes_loss_fn loss, void *ctx)
{
	struct processes *ps = calloc(1, sizeof(*ps));

	if (!ps)
		return NULL;
	ps->writer = w;
	ps->until_ns = UINT64_MAX;
	ps->last_gone = &ps->gone;
	ps->last_kept = &ps->kept;
	ps->loss = loss;
	ps->ctx = ctx;
	return ps;
}

static void process__free_inside(struct process *p)
{
	int map;

	for (map = 0; map < NR_MAPS; map++)
		numbers__free(&p->maps[map]);
	array_free(&p->threads_ended.latest);
}

void processes__free(struct processes *ps)
{
	if (!ps)
		return;
	table_free(ps->all, process__free_inside);
	free(ps);
}

/* ---- tables of an image ---------------------------------------------------------------------- */

int processes__add(struct processes *ps, struct process *p, enum process_map map,
		   struct numbers_key key, uint64_t value)
{
	const struct limit *limit = &limits[map];
	uint32_t nr = p->maps[map].nr;
	int err;

	if (nr >= limit->process || (ps->nr[map] >= limit->all && nr >= limit->floor))
		return -ENOSPC;
	err = numbers__add(&p->maps[map], key, value);
	if (!err)
		ps->nr[map]++;
	return err;
}

void processes__remove(struct processes *ps, struct process *p, enum process_map map,
		       struct numbers_key key)
{
	uint32_t nr = p->maps[map].nr;

	numbers__remove(&p->maps[map], key);
	ps->nr[map] -= nr - p->maps[map].nr;
}

void processes__sift(struct processes *ps, struct process *p, enum process_map map,
		     bool (*keep)(void *ctx, const struct numbers_slot *slot), void *ctx)
{
	uint32_t nr = p->maps[map].nr;

	if (!numbers__sift(&p->maps[map], keep, ctx))
		ps->nr[map] -= nr - p->maps[map].nr;
}

void processes__forget(struct processes *ps, struct process *p, enum process_map map)
{
	ps->nr[map] -= p->maps[map].nr;
	numbers__free(&p->maps[map]);
}

void processes__add_malformed(struct processes *ps, struct process *p, uint64_t nr)
{
	p->nr_malformed += nr;
	ps->nr_malformed += nr;
}

uint64_t processes__nr_malformed(const struct processes *ps)
{
	return ps->nr_malformed;
}

/* ---- beginnings and ends of images ----------------------------------------------------------- */

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

/*
 * Notes that an image is gone. @ended: the image ran to its end, so the recording has all its
 * records
 */
static void processes__gone(struct processes *ps, struct process *p, uint64_t time_ns, bool ended)
{
	if (p->gone)
		return;
	p->gone = true;
	p->ended = ended && processes__is_before_detach(ps, time_ns);
	p->gone_ns = time_ns;
	p->gone_round = ps->round;
	*ps->last_gone = p;
	ps->last_gone = &p->next_gone;
}

/* Frees @p, unless other images use its interpreter: then the last of these images frees @p. */
static void processes__drop(struct processes *ps, struct process *p)
{
	struct process *from = p->python_from;
	int map;

	p->dropped = true;
	for (map = 0; map < NR_MAPS; map++)
		processes__forget(ps, p, map);
	array_free(&p->threads_ended.latest);
	if (p->nr_python_to)
		return;
	if (ps->last == p)
		ps->last = NULL;
	table_remove(ps->all, p);
	/* @from uses no other image's interpreter, so the recursion ends here. */
	if (from && !--from->nr_python_to && from->dropped)
		processes__drop(ps, from);
}

static void process__stats(struct processes *ps, struct process *p, struct recorder_stats *stats);

/*
 * Adds the final counts of @p to the sums. @keep_threads: the account of off-CPU time will still
 * refer to the threads and stacks of @p
 */
static void processes__settle(struct processes *ps, struct process *p, bool keep_threads)
{
	int map;

	process__stats(ps, p, &ps->past);
	p->settled = true;
	if (!keep_threads) {
		processes__drop(ps, p);
		return;
	}
	for (map = 0; map < NR_MAPS; map++)
		if (map != MAP_THREADS && map != MAP_OFF_STACKS)
			processes__forget(ps, p, map);
	p->next_gone = NULL;
	*ps->last_kept = p;
	ps->last_kept = &p->next_gone;
	if (++ps->nr_kept <= LIMIT_ENDED)
		return;
	p = ps->kept;
	ps->kept = p->next_gone;
	ps->nr_kept--;
	processes__drop(ps, p);
}

void processes__drained(struct processes *ps, uint64_t now_ns, bool keep_threads)
{
	struct process *p;

	ps->round++;
	while ((p = ps->gone) && ps->round - p->gone_round > SETTLE_ROUNDS &&
	       now_ns > p->gone_ns && now_ns - p->gone_ns > SETTLE_NS) {
		ps->gone = p->next_gone;
		if (!ps->gone)
			ps->last_gone = &ps->gone;
		processes__settle(ps, p, keep_threads);
	}
}

void processes__look_for_ends(struct processes *ps, uint64_t now_ns)
{
	struct process *p;

	for (p = ps->all; p; p = p->hh.next)
		if (!p->gone && p->pid && kill(p->pid, 0) && errno == ESRCH)
			processes__gone(ps, p, now_ns, true);
}

void processes__start(struct processes *ps, const struct xpu_record_process *r)
{
	struct process *parent = r->parent_proc_id ? processes__get(ps, r->parent_proc_id) : NULL;
	struct process *p = processes__get(ps, r->proc_id);
	struct xpu_record_process new = *r;
	bool is_exec = r->hdr.misc == XPU_MISC_PROCESS_EXEC;

	if (parent && is_exec)
		processes__gone(ps, parent, r->time_ns, true);
	if (p) {
		p->pid = r->pid;
		p->start_ns = r->time_ns;
		memcpy(p->comm, r->comm, sizeof(p->comm) - 1);
		p->forked = !is_exec;
		p->attached = r->hdr.misc == XPU_MISC_PROCESS_ATTACH;
		if (parent && r->hdr.misc == XPU_MISC_PROCESS_FORK && !p->python_from) {
			p->python_from = parent->python_from ?: parent;
			p->python_from->nr_python_to++;
		}
	}
	/*
	 * A process that was alive at the detach may make launches that are not recorded, so a
	 * later exec must not count as the end of its image.
	 */
	if (is_exec && !processes__is_before_detach(ps, r->time_ns))
		new.parent_proc_id = 0;
	writer__append(ps->writer, &new.hdr);
}

void processes__exit(struct processes *ps, const struct xpu_record_process_exit *r)
{
	struct process *p = processes__get(ps, r->proc_id);

	bool stopped = r->hdr.misc == XPU_MISC_EXIT_STOPPED;

	if (p)
		processes__gone(ps, p, r->time_ns, !stopped);
	if (p && stopped)
		p->stopped_ns = r->time_ns;
	if (processes__is_before_detach(ps, r->time_ns))
		writer__append(ps->writer, &r->hdr);
}

/*
 * Prints a line that the shim sends for the user. Limits the number of lines, because a hostile
 * target may send any number of lines.
 */
static void processes__message(struct processes *ps, struct process *p,
			       const struct xpu_record_message *m)
{
	p->failed = m->hdr.misc == XPU_MESSAGE_ERROR;
	if (p->nr_messages++ < LIMIT_MESSAGES && ps->nr_messages++ < LIMIT_ALL_MESSAGES)
		msg__from_target(p->pid, m->hdr.misc != XPU_MESSAGE_INFO, m->data, m->bytes - 1);
	else
		ps->past.nr_messages_hidden++;
}

/*
 * Reads the counters, which are the first record of a batch, and the second record if it is a
 * message. The other records are for the merger.
 */
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
	if (m->hdr.type == XPU_RECORD_MESSAGE && m->bytes &&
	    batch->bytes - r->size - sizeof(*m) >= m->bytes)
		processes__message(ps, p, m);
}

static bool process__is_awake(const struct process *p)
{
	return p->nr_batches && !p->gone && !(p->counters.hdr.misc & XPU_MISC_COUNTERS_LAST);
}

unsigned int processes__nr_awake(const struct processes *ps)
{
	const struct process *p;
	unsigned int nr = 0;

	for (p = ps->all; p; p = p->hh.next)
		nr += process__is_awake(p);
	return nr;
}

unsigned int processes__nr_late(struct processes *ps, uint64_t now_ns, bool tell)
{
	struct process *p;
	unsigned int nr = 0;

	for (p = ps->all; p; p = p->hh.next) {
		if (!process__is_awake(p) || !shim_thread__is_late(&p->shim, p->pid, now_ns))
			continue;
		if (tell && nr < LIMIT_MESSAGES)
			msg__warn("pid %u (%.*s) hardly ran after xpuload had detached: the "
				  "launches and device records that it had not sent are missing",
				  p->pid, XPU_COMM_LEN, p->comm);
		nr++;
	}
	return nr;
}

uint64_t processes__nr_untold(const struct processes *ps)
{
	const struct process *p;
	uint64_t nr = 0;

	for (p = ps->all; p; p = p->hh.next)
		nr += p->gone ? 0 : p->nr_untold;
	return nr;
}

/* ---- accounts -------------------------------------------------------------------------------- */

/*
 * Return: @now - @before, but 0 if the total fell, and at most MAX_COUNT. A shim's totals only
 * grow, and stay far below MAX_COUNT. Without these limits, a hostile target could make the sum
 * over all processes wrap around.
 */
static uint64_t beyond(uint64_t now, uint64_t before)
{
	return now <= before ? 0 : now - before < MAX_COUNT ? now - before : MAX_COUNT;
}

/* Notes the losses of a process, because the report names the processes that lost most. */
static void stats__blame(struct recorder_stats *stats, const struct recorder_blame *blame)
{
	struct recorder_blame *least = &stats->blamed[0], *b;

	stats->nr_blamed++;
	for (b = stats->blamed; b < stats->blamed + LIMIT_BLAMED; b++)
		if (b->nr < least->nr)
			least = b;
	if (blame->nr > least->nr)
		*least = *blame;
}

/*
 * Adds to @stats how much a shim's totals have grown from @first to @now. @first: the totals at the
 * beginning of the recording
 */
static void stats__add_counters(struct recorder_stats *stats,
				const struct xpu_record_counters *now,
				const struct xpu_record_counters *first)
{
	stats->nr_ranges_dropped += beyond(now->nr_dropped_ranges, first->nr_dropped_ranges);
	stats->nr_device_records += beyond(now->nr_kernels, first->nr_kernels) +
				    beyond(now->nr_memcpys, first->nr_memcpys) +
				    beyond(now->nr_memsets, first->nr_memsets);
	stats->nr_calls += beyond(now->nr_calls, first->nr_calls);
	stats->nr_bad_calls += beyond(now->nr_bad_calls, first->nr_bad_calls);
	stats->nr_bad_times += beyond(now->nr_bad_times, first->nr_bad_times);
	stats->nr_taken += beyond(now->nr_taken, first->nr_taken);
	stats->nr_unfinished += beyond(now->nr_unfinished, first->nr_unfinished);
}

static void process__stats(struct processes *ps, struct process *p, struct recorder_stats *stats)
{
	const struct xpu_record_counters *c = &p->counters, *f = &p->first;
	uint64_t tagged = beyond(c->nr_launches, f->nr_launches);
	struct recorder_blame blame = { .pid = p->pid };
	struct xpu_loss loss = { 0 };

	if (ps->loss)
		ps->loss(ps->ctx, p->proc_id, &loss);
	/*
	 * A shim defines a path's number before it logs a launch or a memory event with the
	 * number. So an undefined number is malformed, unless some of the process's launches or
	 * events were lost.
	 */
	if (p->nr_untold && !p->attached && !loss.nr_launches && !loss.nr_allocs) {
		processes__add_malformed(ps, p, p->nr_untold);
		p->nr_untold = 0;
	}
	memcpy(blame.comm, p->comm, sizeof(blame.comm));
	stats->nr_processes += p->forked;
	stats->nr_cuda_processes += p->nr_batches != 0;
	stats->nr_launches += p->nr_launches;
	if ((p->attached || !p->ended) && tagged > p->nr_launches) {
		stats->nr_at_edges += tagged - p->nr_launches;
		tagged = p->nr_launches;
	}
	blame.nr_missing = beyond(tagged, p->nr_launches + loss.nr_launches + loss.nr_unread +
				  p->nr_no_memory);
	blame.nr_lost = loss.nr_launches;
	blame.nr_batches = loss.nr_batches;
	blame.nr_waits = loss.nr_waits;
	blame.nr_unread = loss.nr_unread;
	blame.nr_untold = p->nr_untold;
	blame.nr_malformed = p->nr_malformed;
	blame.nr_beyond = p->nr_beyond;
	blame.nr_dropped_cupti = beyond(c->nr_dropped_cupti, f->nr_dropped_cupti);
	blame.nr_dropped_shim = beyond(c->nr_dropped_shim, f->nr_dropped_shim);
	blame.nr = blame.nr_missing + blame.nr_lost + blame.nr_untold + blame.nr_unread +
		   blame.nr_malformed + blame.nr_beyond + blame.nr_dropped_cupti +
		   blame.nr_dropped_shim + blame.nr_batches + blame.nr_waits;
	if (blame.nr)
		stats__blame(stats, &blame);
	stats->nr_tagged += tagged;
	stats->nr_missing += blame.nr_missing;
	stats->nr_malformed += p->nr_malformed;
	stats->nr_beyond += p->nr_beyond;
	stats->nr_untold += p->nr_untold;
	stats->nr_no_memory += p->nr_no_memory;
	stats->nr_ranges += p->nr_ranges;
	stats->nr_allocs += p->nr_allocs;
	if (!p->attached)
		stats->nr_allocs_missing += beyond(c->nr_allocs, p->nr_allocs + loss.nr_allocs);
	if (!p->attached)		/* otherwise some events are older than the recording */
		stats->nr_ranges_missing += beyond(c->nr_ranges, p->nr_ranges + loss.nr_ranges);
	stats->nr_dropped_cupti += blame.nr_dropped_cupti;
	stats->nr_dropped_shim += blame.nr_dropped_shim;
	stats->nr_errors += p->failed;
	stats__add_counters(stats, c, f);
}

void processes__stats(struct processes *ps, struct recorder_stats *stats)
{
	struct process *p;

	*stats = ps->past;
	for (p = ps->all; p; p = p->hh.next)
		if (!p->settled)
			process__stats(ps, p, stats);
}
