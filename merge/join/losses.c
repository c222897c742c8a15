// SPDX-License-Identifier: GPL-3.0-or-later
#include "join/losses.h"

#include "read/reader.h"

#define MAX_COUNT	(1ull << 48)	/* limit on each count of a process, because a process may
					 * lie */

/*
 * Return: how many records are missing; never less than 0, because the shim's last total may be
 * older than the last records. The result is limited, so that a false number from one process
 * cannot make the total wrap around.
 */
static uint64_t missing(uint64_t sent, uint64_t first, uint64_t arrived)
{
	if (sent <= first || sent - first <= arrived)
		return 0;
	return min_t(uint64_t, sent - first - arrived, MAX_COUNT);
}

/* Return: the sum of three counters, without overflow. */
static uint64_t count3(uint64_t a, uint64_t b, uint64_t c)
{
	return min_t(uint64_t, a, MAX_COUNT) + min_t(uint64_t, b, MAX_COUNT) +
	       min_t(uint64_t, c, MAX_COUNT);
}

#define SINCE(sent, member)	missing((sent)->last->member, (sent)->first->member, 0)

/* Counts the records that a process sent and that did not arrive. */
static void losses__missing(struct loss *l, const struct sent *sent, const struct arrived *a)
{
	const struct xpu_record_counters *last = sent->last, *first = sent->first;
	uint64_t nr_missing, first_ranges = sent->carried ? first->nr_ranges : 0;

	/* The shim notices only after a short delay that probes were attached or detached. */
	nr_missing = missing(last->nr_launches, first->nr_launches, a->nr_launches);
	if (a->attach_span && !sent->lost)
		l->at_edges += nr_missing;
	else
		l->missing_launches += nr_missing;
	l->missing_works += missing(count3(last->nr_kernels, last->nr_memcpys, last->nr_memsets),
				    count3(first->nr_kernels, first->nr_memcpys, first->nr_memsets),
				    a->nr_works);
	l->missing_calls += missing(last->nr_calls, first->nr_calls, a->nr_calls);
	/* Do not count the batch that has the baseline: counting begins after it. */
	l->missing_batches += missing(last->nr_batches, first->nr_batches, sent->nr_batches -
				      (sent->baseline != 0 && !sent->carried));
	if ((a->nr_ranges || first_ranges) && !a->attach_span)
		l->missing_ranges += missing(last->nr_ranges, first_ranges, a->nr_ranges);
	if (a->nr_allocs && !a->attach_span)
		l->missing_allocs += missing(last->nr_allocs, sent->carried ? first->nr_allocs : 0,
					     a->nr_allocs);
}

/*
 * Adds one process's losses. @known: every sent record has arrived by now, or is lost. Return: how
 * many pieces of device work had not ended.
 */
static uint64_t losses__process(struct loss *l, const struct sent *sent, const struct arrived *a,
				bool outlived, bool known)
{
	uint64_t nr_unfinished = SINCE(sent, nr_unfinished);

	if (known)
		losses__missing(l, sent, a);
	l->bad_calls += SINCE(sent, nr_bad_calls);
	l->dropped_cupti += SINCE(sent, nr_dropped_cupti);
	l->dropped_shim += SINCE(sent, nr_dropped_shim);
	l->taken += SINCE(sent, nr_taken);
	if (a->nr_ranges)	/* otherwise only another recording requested ranges */
		l->dropped_ranges += SINCE(sent, nr_dropped_ranges);
	if (outlived)
		l->unfinished_at_detach += nr_unfinished;
	return nr_unfinished;
}

/* Return: whether range events may be missing in a process that has range events. */
static bool lost_ranges(const struct second_pass *p, const struct sent *sent,
			const struct arrived *a)
{
	return a->nr_ranges &&
	       (p->nr_damages || SINCE(sent, nr_dropped_ranges) ||
		(!a->attach_span && missing(sent->last->nr_ranges, 0, a->nr_ranges)));
}

/*
 * Return: whether no later file has more records. If this file was cut off, for example by a full
 * disk, another file may still follow, unless this is the first file.
 */
static bool is_last_file(const struct second_pass *p)
{
	const struct input *in = model__input(p->model);
	uint64_t begin_ns;

	return in->ended ? !in->continues :
	       reader__file_number(p->found->reader, &begin_ns) == 1;
}

void losses__settle(struct second_pass *p)
{
	static const struct arrived none;
	const struct found *f = p->found;
	struct loss *l = &p->sums->loss;
	uint64_t nr_unfinished = 0, apart, gaps;
	size_t i;

	for (i = 0; i < max_t(size_t, f->sent.nr, p->arrived.nr); i++) {
		const struct sent *sent = found__sent(f, f->first_proc + i);

		nr_unfinished += losses__process(l, sent,
						 i < p->arrived.nr ? &p->arrived.v[i] : &none,
						 second_pass__outlived(p, f->first_proc + i),
						 sent->final || is_last_file(p));
	}
	for (i = 0; i < p->arrived.nr; i++)
		p->arrived.v[i].lost_ranges = lost_ranges(p, found__sent(f, f->first_proc + i),
							  &p->arrived.v[i]);
	l->unfinished = nr_unfinished - l->unfinished_at_detach;
	/*
	 * Device work that was unfinished at the exit or at the detach has no valid times either,
	 * but is counted separately.
	 */
	l->bad_times -= min_t(uint64_t, l->bad_times, nr_unfinished);
	apart = l->nr_captured + l->nr_refused + l->nr_no_bytes + l->at_detach;
	l->nr_launches = p->join->nr_launches - apart;
	l->nr_matched = p->join->nr_matched;
	l->nr_pending = p->join->nr_pending - apart;
	l->nr_duplicates = p->join->nr_duplicates;
	l->nr_works = p->join->nr_works;
	l->nr_orphans = p->join->nr_orphans - l->before_attach - l->after_detach;
	l->crowded += p->model->machine.nr_crowded;
	/*
	 * Do not count gaps that lost events left. Lost batches may explain all gaps, because it is
	 * unknown how many events they had.
	 */
	gaps = l->recorder[XPU_LOST_BATCH] || l->missing_batches ? l->alloc_gaps :
	       max_t(uint64_t, l->recorder[XPU_LOST_ALLOC], l->missing_allocs);
	l->alloc_gaps -= min_t(uint64_t, l->alloc_gaps, gaps);
}
