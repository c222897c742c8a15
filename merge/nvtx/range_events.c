// SPDX-License-Identifier: GPL-3.0-or-later
#include "nvtx/range_events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "join/tell.h"
#include "join/wanted.h"
#include "read/reader.h"

static int range__wanted(struct second_pass *p, uint32_t thread_idx, uint32_t range,
			 uint64_t time_ns)
{
	struct model *m = p->model;
	struct thread *thread = &m->threads.v[thread_idx];
	const char *comm;
	int keeps;

	if (!filter__active(p->opts->filter))
		return 1;
	comm = model__thread_comm(m, thread, time_ns - p->found->shift_ns);
	keeps = wanted__range(p->opts->filter, m, range);
	return keeps <= 0 ? keeps : wanted__call(p->opts->filter, m, thread_idx, comm, time_ns);
}

/* ---- events become ranges -------------------------------------------------------------------- */

static int range__tell(struct second_pass *p, uint32_t thread, uint32_t range,
		       uint64_t start_ns, uint64_t end_ns, bool is_part)
{
	struct model *m = p->model;
	struct slice slice = {
		.start_ns = start_ns,
		.end_ns = end_ns,
		.key = JOIN_KEY(m->threads.v[thread].proc, 0),
		.name = ranges__name(&m->ranges, range),
		.thread = thread,
		.chain = NO_INDEX,
		.range = range,
		.kind = SLICE_RANGE,
		.is_part = is_part,
	};

	return tell__slice(p, &slice);
}

/* Passes an event to the features. Return: 0 or -ENOMEM. */
static inline int range__hooks(struct second_pass *p, enum range_event event, uint32_t thread,
			       uint32_t range, uint64_t time_ns)
{
	const struct hooks *hooks = &p->range_hooks;
	unsigned int i;
	int err = 0;

	for (i = 0; i < hooks->nr && !err; i++)
		err = hooks->v[i].feature->range(hooks->v[i].state, p, event, thread, range,
						   time_ns);
	return err;
}

/*
 * Closes a range at @time_ns. If the earlier files are not read, the range begins at the start of
 * this file at the earliest. @goes_on: the range is still open in the next file. A range is
 * counted, with its full duration, only in the file where it ends. Return: 0, -ENOMEM or the sink's
 * error.
 */
static int range__close(struct nvtx *n, struct second_pass *p, uint32_t thread,
			struct nvtx_thread *t, size_t place, uint64_t time_ns, bool goes_on)
{
	struct model *m = p->model;
	const struct input *in = model__input(m);
	struct open_range open = t->open.v[place];
	struct nvtx_name *name = nvtx__name(n, m->ranges.list.v[open.range].name);
	struct filter_span whole = { .from_ns = open.start_ns, .nr = 1 }, part;
	int keeps, err;

	if (!name)
		return -ENOMEM;
	/* Another thread may have ended the range, and read the clock earlier. */
	time_ns = max_t(uint64_t, time_ns, open.start_ns);
	err = range__hooks(p, RANGE_CLOSES, thread, open.range, time_ns);
	if (err)
		return err;
	t->open.nr--;
	memmove(&t->open.v[place], &t->open.v[place + 1], (t->open.nr - place) * sizeof(open));
	if (goes_on && in->next_is_here)
		return 0;
	whole.to_ns = time_ns;
	whole.ns = time_ns - open.start_ns;
	part = whole;
	if (open.carried && !in->previous_is_here) {
		part.from_ns = p->found->reader->header.start_mono_ns + p->found->shift_ns;
		part.from_ns = max_t(uint64_t, part.from_ns, open.start_ns);
		part.from_ns = min_t(uint64_t, part.from_ns, time_ns);
		part.ns = time_ns - part.from_ns;
	}
	if (!wanted__cut(p->opts->filter, m, &part))
		return 0;
	keeps = range__wanted(p, thread, open.range, part.from_ns);
	if (keeps <= 0)
		return keeps;
	name->nr_before += open.carried && !in->previous_is_here;
	name->nr_after += goes_on;
	part.nr = !goes_on && wanted__cut(p->opts->filter, m, &whole) && whole.nr;
	return stats__add_part(&name->ns, time_ns - open.start_ns, part.ns, part.nr) ?:
	       range__tell(p, thread, open.range, part.from_ns, part.to_ns,
			   part.ns != time_ns - open.start_ns || goes_on);
}

/*
 * Closes and opens ranges of the thread until its open ranges are those on the path of @range. One
 * event changes one range, or several ranges if events before it are missing.
 */
static int range__set(struct nvtx *n, struct second_pass *p, uint32_t thread,
		      struct nvtx_thread *t, uint32_t range, uint64_t time_ns,
		      bool carried)
{
	struct model *m = p->model;
	uint32_t path[MAX_RANGES], nr = ranges__path(&m->ranges, range, path), same = 0;
	int err = 0;

	while (same < nr && same < t->open.nr && t->open.v[same].range == path[same])
		same++;
	while (t->open.nr > same && !err)
		err = range__close(n, p, thread, t, t->open.nr - 1, time_ns, false);
	for (; same < nr && !err; same++)
		err = array_push(&t->open, ((struct open_range){ path[same], time_ns, carried })) ?:
		      range__hooks(p, RANGE_OPENS, thread, path[same], time_ns);
	return err;
}

/* Closes the range at @place. The ranges opened after it stay open, but their paths change. */
static int range__end(struct nvtx *n, struct second_pass *p, uint32_t thread,
		      struct nvtx_thread *t, uint32_t place, uint32_t range, uint64_t time_ns)
{
	struct model *m = p->model;
	const struct range *ranges = m->ranges.list.v;
	uint32_t path[MAX_RANGES], nr = ranges__path(&m->ranges, range, path), i;
	int err;

	if (place < t->open.nr && t->open.nr == nr + 1) {
		err = range__close(n, p, thread, t, place, time_ns, false);
		if (err)
			return err;
		for (i = place; i < nr; i++)
			if (ranges[t->open.v[i].range].name == ranges[path[i]].name)
				t->open.v[i].range = path[i];
	}
	return range__set(n, p, thread, t, range, time_ns, false);
}

static struct nvtx_thread *range__thread(struct nvtx *n, uint32_t thread)
{
	static const struct nvtx_thread none;

	while (n->threads.nr <= thread)
		if (array_push(&n->threads, none))
			return NULL;
	return &n->threads.v[thread];
}

static int range__event(struct nvtx *n, struct second_pass *p, const struct xpu_range_event *e,
			uint64_t time_ns, bool carried)
{
	struct model *m = p->model;
	uint32_t thread, range;
	struct arrived *arrived;
	struct nvtx_thread *t;
	int err;

	if (!idmap__get(&p->found->threads, e->thread_id, &thread)) {
		p->sums->loss.bad_refs++;
		return 0;
	}
	t = range__thread(n, thread);
	err = t ? nvtx__range(n, m, m->threads.v[thread].proc, e->range_id, &range) : -ENOMEM;
	if (err < 0)
		return err;
	p->sums->loss.bad_refs += err;
	err = second_pass__arrived(p, m->threads.v[thread].proc, &arrived);
	if (err)
		return err;
	arrived->nr_ranges += !carried;
	if (!found__has_time(p->found, time_ns - p->found->shift_ns,
			     time_ns - p->found->shift_ns)) {
		p->sums->loss.outside_ranges++;
		return 0;
	}
	n->last_ns = max_t(uint64_t, n->last_ns, time_ns);
	switch (e->what) {
	case XPU_RANGE_MARK:
		if (range == NO_RANGE)
			return 0;
		err = range__hooks(p, RANGE_IS_MARK, thread, range, time_ns);
		err = err ?: range__wanted(p, thread, range, time_ns);
		return err <= 0 ? err : range__tell(p, thread, range, time_ns, time_ns, false);
	case XPU_RANGE_POP:
	case XPU_RANGE_END:
		err = range__end(n, p, thread, t, e->place, range, time_ns);
		break;
	default:
		err = range__set(n, p, thread, t, range, time_ns, carried);
		break;
	}
	if (err || !p->opts->by_range)
		return err;
	if (t->changes.nr)	/* another thread may have read the clock earlier, as in
				 * range__close() */
		time_ns = max_t(uint64_t, time_ns, t->changes.v[t->changes.nr - 1].time_ns);
	return array_push(&t->changes, ((struct range_change){ time_ns, range }));
}

int range_events__open(struct nvtx *n, struct second_pass *p)
{
	uint64_t time_ns;
	int err = 0;
	size_t i;
	int64_t nr_bad = nvtx__resolve_parents(n, p->model);

	if (nr_bad < 0)
		return nr_bad;
	p->sums->loss.bad_refs += nr_bad;
	for (i = 0; i < n->records.nr && !err; i++) {
		const struct xpu_record_ranges *rec = n->records.v[i];
		uint32_t k;

		for (k = 0; k < rec->nr && !err; k++) {
			time_ns = rec->time_ns + (int64_t)rec->events[k].delta_ns +
				  p->found->shift_ns;
			err = range__event(n, p, &rec->events[k], time_ns,
					   rec->hdr.misc & XPU_MISC_RANGES_CARRIED);
		}
	}
	return err;
}

int range_events__close(struct nvtx *n, struct second_pass *p)
{
	struct model *m = p->model;
	const struct input *in = model__input(m);
	size_t i = p->found->first_thread;
	int err = 0;

	for (; i < n->threads.nr && !err; i++) {
		const struct proc *proc = &m->machine.procs.v[m->threads.v[i].proc];
		struct nvtx_thread *t = &n->threads.v[i];
		uint64_t end_ns = max_t(uint64_t, n->last_ns, p->sums->last_ns);
		bool goes_on = in->continues && !proc->exited;

		if (proc->exited && proc->exit_ns)
			end_ns = proc->exit_ns + p->found->shift_ns;
		if (goes_on)
			end_ns = in->end_ns + p->found->shift_ns;
		while (t->open.nr && !err) {
			struct range *last = &m->ranges.list.v[t->open.v[t->open.nr - 1].range];
			struct nvtx_name *name = nvtx__name(n, last->name);

			if (!name)
				return -ENOMEM;
			name->nr_unclosed += !goes_on;
			err = range__close(n, p, i, t, t->open.nr - 1, end_ns, goes_on);
		}
		array_free(&t->changes);
	}
	return err;
}
