// SPDX-License-Identifier: GPL-3.0-or-later
#include "waits/off.h"

#include <errno.h>

#include "join/origin.h"
#include "join/tell.h"
#include "join/wanted.h"
#include "xpu_time.h"

/*
 * In older recordings, a duration may be negative by a few us, because the wakeup and the end of
 * the wait have timestamps from the clocks of two CPUs. A duration that is negative by less than
 * this limit counts as 0, and not as damage.
 */
#define CLOCKS_APART_NS	1000000000ull

static bool is_below_zero(uint64_t ns)
{
	return ns > -CLOCKS_APART_NS;
}

static void off_sum__mend(struct xpu_record_off_cpu *sum)
{
	if (is_below_zero(sum->sum_ns))
		sum->sum_ns = 0;
	/* The longest interval is then unknown; it was at least as long as the average. */
	if (is_below_zero(sum->max_ns) && sum->nr)
		sum->max_ns = sum->sum_ns / sum->nr;
}

/* Return: the amount by which *@ns is negative. Sets a negative *@ns to 0. */
static uint64_t take_debt(__u64 *ns)
{
	uint64_t debt_ns = is_below_zero(*ns) ? -*ns : 0;

	*ns += debt_ns;
	return debt_ns;
}

/*
 * Sets a thread's negative times to 0, and shortens the longest time by as much, so that the sum
 * stays the thread's lifetime.
 */
static void thread_time__mend(struct xpu_thread_time *t)
{
	uint64_t debt_ns = take_debt(&t->run_ns);
	__u64 *longest = &t->run_ns;
	int kind;

	for (kind = 0; kind < XPU_OFF_NR; kind++) {
		debt_ns += take_debt(&t->off_ns[kind]);
		if (t->off_ns[kind] > *longest)
			longest = &t->off_ns[kind];
	}
	*longest = xpu_ns_between(debt_ns, *longest);
}

/*
 * off__where - find which thread was off the CPU, and where
 * @at: the caller has set the time; this function sets the other members
 * @leaf: set to the leaf of the kind
 *
 * Return: 1; 0 if the record is invalid or does not pass the filter; or -errno.
 */
static int off__where(struct second_pass *p, uint32_t kind, uint32_t path_id, uint32_t thread_id,
		      struct launch *at, uint32_t *leaf)
{
	struct model *m = p->model;
	const char *name = off_kind__name(kind);
	uint32_t path, proc = NO_INDEX;
	int err;

	if (!name) {
		p->sums->loss.bad_refs++;
		return 0;
	}
	err = origin__read(p->found, m, path_id, thread_id, at, &proc, &path);
	if (err < 0)
		return err;
	p->sums->loss.bad_refs += err;
	err = path == NO_INDEX ? chains__of_label(&m->chains, proc, LABEL_NO_STACK, &at->chain) : 0;
	err = err ?: leaves__get(&m->leaves, LEAF_OFF_CPU, NO_INDEX, name, leaf);
	at->time_ns += p->found->shift_ns;
	if (!err && !p->opts->own_threads && thread_comm__is_ours(at->comm))
		return 0;
	return err ?: wanted__work(p->opts->filter, m, at->chain, at->thread, at->comm,
				   at->time_ns, NULL);
}

/* Passes a time span of a thread, which begins at @time_ns, to the sink of events. */
static int tell_time(struct second_pass *p, const struct launch *l, uint64_t time_ns,
		     uint32_t leaf, uint64_t ns)
{
	return tell__placed(p, &(struct placed){
		.time_ns = time_ns,
		.duration_ns = ns,
		.comm = l->comm,
		.chain = l->chain,
		.thread = l->thread,
		.leaf = leaf,
	});
}

/*
 * Adds off-CPU time to the sums over time. All other sums already have it, or get it from another
 * record.
 */
static int off__when(struct second_pass *p, const struct launch *at, uint32_t leaf,
		     const struct filter_span *s)
{
	if (!p->sums->times.wanted || tell__leaves_out(p, leaf))
		return 0;
	return sums__place(p->sums, p->opts, at->chain, at->comm, at->thread, leaf, NO_INDEX) ?:
	       tell__spent(p, at->thread, leaf, s) ?:
	       times__thread(&p->sums->times, at->thread, at->comm, LEAF_OFF_CPU, s->from_ns,
			     s->to_ns, s->ns);
}

/* Passes on one interval, or the part of it that the filter keeps. */
static int off__interval(struct waits_state *w, struct second_pass *p, const struct launch *at,
			 uint32_t leaf, const struct filter_span *s)
{
	struct model *m = p->model;
	int err;

	err = tell__off(p, &(struct placed){
		.time_ns = s->from_ns,
		.duration_ns = s->to_ns - s->from_ns,
		.comm = at->comm,
		.chain = at->chain,
		.thread = at->thread,
		.leaf = leaf,
	});
	return err ?: idles__did(&w->idles, at->thread, IDLE_OFF_CPU, m->leaves.v[leaf].name,
				 at->chain, s->from_ns, s->to_ns);
}

/*
 * Return: how far the time in @part may be wrong. @whole is a sum of short times, whose timestamps
 * are unknown.
 */
static uint64_t off__unsure_ns(const struct filter_span *whole, const struct filter_span *part)
{
	uint64_t within_ns = part->to_ns - part->from_ns;
	uint64_t beyond_ns = whole->to_ns - whole->from_ns - within_ns;
	uint64_t most_ns = min_t(uint64_t, whole->ns, within_ns);
	uint64_t least_ns = xpu_ns_between(beyond_ns, whole->ns);

	return max_t(uint64_t, xpu_ns_between(part->ns, most_ns),
		     xpu_ns_between(least_ns, part->ns));
}

int off__sum(struct waits_state *w, struct second_pass *p, const struct xpu_record_off_cpu *rec)
{
	const struct session_opts *opts = p->opts;
	bool spans = rec->hdr.size >= sizeof(*rec) && rec->first_ns;
	uint64_t first_ns = spans ? rec->first_ns : rec->last_ns, shift_ns = p->found->shift_ns;
	struct filter_span s = {
		.from_ns = first_ns + shift_ns,
		.to_ns = (spans ? rec->end_ns : first_ns) + shift_ns, .nr = rec->nr,
	}, whole;
	struct xpu_record_off_cpu sum = *rec;
	struct launch at;
	uint32_t leaf;
	int err;

	if (s.to_ns < s.from_ns) {
		p->sums->loss.bad_refs++;
		return 0;
	}
	off_sum__mend(&sum);
	s.ns = max_t(uint64_t, sum.sum_ns, sum.max_ns);
	whole = s;
	if (!wanted__cut(opts->filter, p->model, &s))
		return 0;
	at = (struct launch){ .time_ns = s.from_ns - shift_ns };
	err = off__where(p, rec->hdr.misc, rec->path_id, rec->thread_id, &at, &leaf);
	if (err <= 0 || !rec->nr || tell__leaves_out(p, leaf))
		return min_t(int, err, 0);
	err = sums__place(p->sums, opts, at.chain, at.comm, at.thread, leaf, NO_INDEX) ?:
	      sums__add_sum(p->sums, s.nr, s.ns, min_t(uint64_t, sum.max_ns, s.ns)) ?:
	      tell_time(p, &at, at.time_ns, leaf, s.ns);
	if (err || !spans)
		return err;
	if (rec->nr > 1)
		w->off_unsure_ns += off__unsure_ns(&whole, &s);
	if (rec->nr == 1 && at.thread != NO_INDEX)
		err = off__interval(w, p, &at, leaf, &s);
	return err ?: off__when(p, &at, leaf, &s);
}

int off__span(struct waits_state *w, struct second_pass *p, const struct xpu_record_off *rec)
{
	struct filter_span s = {
		.from_ns = rec->start_ns + p->found->shift_ns, .ns = rec->duration_ns, .nr = 1,
	};
	struct launch at;
	uint32_t leaf;
	int err;

	if (is_below_zero(rec->duration_ns))
		return 0;
	if (__builtin_add_overflow(s.from_ns, s.ns, &s.to_ns)) {
		p->sums->loss.bad_refs++;
		return 0;
	}
	if (!wanted__cut(p->opts->filter, p->model, &s))
		return 0;
	at = (struct launch){ .time_ns = s.from_ns - p->found->shift_ns };
	err = off__where(p, rec->hdr.misc, rec->path_id, rec->thread_id, &at, &leaf);
	if (err <= 0 || at.thread == NO_INDEX)
		return min_t(int, err, 0);
	return off__interval(w, p, &at, leaf, &s) ?: off__when(p, &at, leaf, &s);
}

/*
 * Finds out which thread waited for a leaf, and where. @from_ns: start of the wait, or of its part
 * that passes the filter. *@nr_bad: number of undefined ids. Return: 1; 0 if the wait does not pass
 * the filter; or -errno.
 */
static int wait__where(struct second_pass *p, const struct wait *wait, uint32_t device_leaf,
		       uint64_t from_ns, struct launch *at, uint32_t *leaf, int *nr_bad)
{
	uint32_t path, proc = wait->proc;
	struct model *m = p->model;
	int err;

	*at = (struct launch){ .time_ns = wait->rec->start_ns };
	err = leaves__wait(&m->leaves, device_leaf, leaf);
	if (err)
		return err;
	*nr_bad = origin__read(p->found, m, wait->rec->path_id, wait->rec->thread_id, at, &proc,
			       &path);
	if (*nr_bad < 0)
		return *nr_bad;
	err = second_pass__in_range(p, proc, wait->rec->range_id, &at->chain);
	if (err < 0)
		return err;
	*nr_bad += err;
	return wanted__work(p->opts->filter, m, at->chain, at->thread, at->comm, from_ns, NULL);
}

struct wait_context {
	struct waits_state *state;
	struct second_pass *p;
};

/*
 * Adds a wait of a thread to the sums over time, under the leaf that the thread waited for.
 * waits__share() calls this function.
 */
static int wait__when(void *ctx, const struct wait *wait, uint32_t device_leaf,
		      const struct filter_span *when)
{
	struct second_pass *p = ((struct wait_context *)ctx)->p;
	struct filter_span s = *when;
	struct launch at;
	uint32_t leaf;
	int err, nr_bad;

	if (!wanted__cut(p->opts->filter, p->model, &s))
		return 0;
	err = wait__where(p, wait, device_leaf, s.from_ns, &at, &leaf, &nr_bad);
	if (err <= 0 || tell__leaves_out(p, leaf))
		return min_t(int, err, 0);
	return sums__place(p->sums, p->opts, at.chain, at.comm, at.thread, leaf, NO_INDEX) ?:
	       tell__spent(p, at.thread, leaf, &(struct filter_span){
			.from_ns = s.from_ns, .to_ns = s.to_ns, .ns = s.ns,
	       }) ?:
	       times__thread(&p->sums->times, at.thread, at.comm, LEAF_GPU_WAIT, s.from_ns, s.to_ns,
			     s.ns);
}

/*
 * Adds the share that one leaf has in a wait. The whole share is counted at the start of the wait.
 * waits__share() calls this function.
 */
static int wait__share(void *ctx, const struct wait *wait, uint32_t device_leaf, uint64_t ns,
		       uint64_t part_ns)
{
	struct filter_span s = { .from_ns = wait->start_ns, .ns = ns, .nr = 1 };
	struct wait_context *c = ctx;
	struct second_pass *p = c->p;
	struct model *m = p->model;
	struct launch at;
	uint32_t leaf;
	int err, nr_bad;

	if (__builtin_add_overflow(s.from_ns, wait->rec->duration_ns, &s.to_ns))
		s.to_ns = s.from_ns;
	if (!wanted__cut(p->opts->filter, m, &s) || (!part_ns && !s.nr))
		return 0;
	err = wait__where(p, wait, device_leaf, s.from_ns, &at, &leaf, &nr_bad);
	if (err >= 0)
		p->sums->loss.bad_refs += nr_bad;
	if (err > 0 && at.thread != NO_INDEX &&
	    waits_state__waited(c->state, at.thread, part_ns))
		return -ENOMEM;
	if (err <= 0 || tell__leaves_out(p, leaf))
		return min_t(int, err, 0);
	err = sums__place(p->sums, p->opts, at.chain, at.comm, at.thread, leaf, NO_INDEX) ?:
	      sums__add_sum(p->sums, s.nr, part_ns, part_ns);
	if (!err && s.nr)
		err = tell__spent(p, at.thread, leaf, &(struct filter_span){
			.from_ns = s.from_ns, .to_ns = s.from_ns, .nr = s.nr,
		});
	return err ?: tell_time(p, &at, s.from_ns, leaf, part_ns);
}

int off__open_waits(struct waits_state *w, struct second_pass *p)
{
	const struct found *f = p->found;
	uint32_t thread;
	size_t i;
	int err;

	for (i = 0; i < w->wait_records.nr; i++) {
		const struct xpu_record_wait *rec = w->wait_records.v[i];

		err = -EINVAL;
		if (!found__has_time(f, rec->start_ns, rec->start_ns + rec->duration_ns)) {
			p->sums->loss.outside_waits++;
			continue;
		}
		if (idmap__get(&f->threads, rec->thread_id, &thread))
			err = waits__add(&w->waits, p->model->threads.v[thread].proc,
					 rec->start_ns + f->shift_ns, rec);
		if (err == -EINVAL)
			p->sums->loss.bad_refs++;
		else if (err)
			return err;
	}
	return waits__ready(&w->waits);
}

int off__share_waits(struct waits_state *w, struct second_pass *p)
{
	struct wait_context c = { w, p };

	return waits__share(&w->waits, &(struct waits_listener){
		.filter = p->opts->filter, .start_ns = p->model->start_ns, .share = wait__share,
		.when = p->sums->times.wanted ? wait__when : NULL, .ctx = &c,
	});
}

/* Gives w->idles the times in which threads waited for devices. */
static int off__idle_waits(struct waits_state *w, struct second_pass *p)
{
	uint32_t path, proc;
	int err;

	array_each(&w->waits.list, wait) {
		struct launch l = { .time_ns = wait->rec->start_ns };

		if (!wait->counts)
			continue;
		proc = wait->proc;
		err = origin__read(p->found, p->model, wait->rec->path_id, wait->rec->thread_id,
				   &l, &proc, &path);
		if (err >= 0 && l.thread != NO_INDEX)
			err = idles__did(&w->idles, l.thread, IDLE_WAITED, "", l.chain,
					 wait->start_ns, wait->start_ns + wait->rec->duration_ns);
		if (err < 0)
			return err;
	}
	return 0;
}

/* Adds the account of a thread's lifetime. Return: 0, -ENOMEM or the sink's error. */
static int off__account(struct waits_state *w, struct second_pass *p,
			const struct xpu_record_account *rec)
{
	struct thread_account a = { .rec = rec, .time = rec->time };
	struct model *m = p->model;
	int err;

	if (!idmap__get(&p->found->threads, rec->thread_id, &a.thread) ||
	    xpu_ns_between(rec->end_ns, rec->start_ns) >= CLOCKS_APART_NS) {
		p->sums->loss.bad_refs++;
		return 0;
	}
	thread_time__mend(&a.time);
	a.comm = model__thread_comm(m, &m->threads.v[a.thread], rec->end_ns - 1);
	if (!p->opts->own_threads && thread_comm__is_ours(a.comm))
		return 0;
	err = wanted__thread(p->opts->filter, m, a.thread, a.comm);
	if (err <= 0)
		return err;
	p->sums->nr_accounts++;
	return array_push(&w->accounts, a);
}

int off__finish(struct waits_state *w, struct second_pass *p)
{
	size_t i;
	int err = 0;

	if (w->idles.wanted)
		err = off__idle_waits(w, p);
	err = err ?: idles__finish(&w->idles);
	for (i = 0; i < w->account_records.nr && !err; i++)
		err = off__account(w, p, w->account_records.v[i]);
	return err;
}
