// SPDX-License-Identifier: GPL-3.0-or-later
#include "join/session_off.h"

#include <string.h>

#include "join/session_leaf.h"
#include "join/session_nvtx.h"
#include "join/session_origin.h"
#include "join/session_sum.h"
#include "join/session_tables.h"
#include "xpu_time.h"

/*
 * Older recordings hold times that are less than nothing, by some us: a thread had been woken by
 * the clock of one CPU and begun to run by that of another one. These count as 0, and nothing is
 * lost with them. What is less than nothing by more than this is damaged.
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
	/* Which one was the longest is not known then; it was no shorter than the average. */
	if (is_below_zero(sum->max_ns) && sum->nr)
		sum->max_ns = sum->sum_ns / sum->nr;
}

/* Return: how much *@ns is less than nothing. It is 0 then. */
static uint64_t take_debt(__u64 *ns)
{
	uint64_t debt_ns = is_below_zero(*ns) ? -*ns : 0;

	*ns += debt_ns;
	return debt_ns;
}

/* The times of a thread add up to its life: the longest one pays for those that are less than 0. */
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
 * session__read_off - who was off the CPU, and where
 * @at: its time is known; the rest is filled in
 * @leaf: set to that of the kind
 *
 * Return: 1, 0 if the record makes no sense or the filter does not let it pass, or -errno.
 */
static int session__read_off(struct session *s, uint32_t kind, uint32_t path_id, uint32_t thread_id,
			     struct launch *at, uint32_t *leaf)
{
	const char *name = off_kind__name(kind);
	uint32_t path, proc = NO_INDEX;
	int err;

	if (!name) {
		s->loss.bad_refs++;
		return 0;
	}
	err = session__read_origin(s, path_id, thread_id, at, &proc, &path);
	if (err < 0)
		return err;
	s->loss.bad_refs += err;
	err = path == NO_INDEX ? session__label_chain(s, proc, LABEL_NO_STACK, &at->chain) : 0;
	if (!err)
		err = session__leaf(s, LEAF_OFF_CPU, NO_INDEX,
				    strpool__intern(&s->strings, name, strlen(name)), leaf);
	at->time_ns += s->shift_ns;
	return err ?: session__keeps(s, at->chain, at->thread, at->comm, at->time_ns, NULL);
}

/* Tells those who want single events of time of a thread, from @time_ns on. */
static int session__tell_time(struct session *s, const struct launch *l, uint64_t time_ns,
			      uint32_t leaf, uint64_t ns)
{
	return session__tell_placed(s, &(struct placed){
		.time_ns = time_ns,
		.duration_ns = ns,
		.comm = l->comm,
		.chain = l->chain,
		.thread = l->thread,
		.leaf = leaf,
	});
}

int session__off_cpu(struct session *s, const struct xpu_record_off_cpu *rec)
{
	struct xpu_record_off_cpu sum = *rec;
	struct work w = { .stream = NO_INDEX, .node = NO_INDEX };
	struct launch at = { .time_ns = rec->last_ns };
	uint32_t leaf;
	int err;

	off_sum__mend(&sum);
	w.duration_ns = sum.max_ns;
	err = session__read_off(s, rec->hdr.misc, rec->path_id, rec->thread_id, &at, &leaf);
	if (err <= 0 || !rec->nr || s->opts.without & 1u << LEAF_OFF_CPU)
		return min_t(int, err, 0);
	/* One for the longest, and then the others. */
	err = session__add(s, at.chain, at.comm, at.thread, leaf, &w);
	if (err)
		return err;
	session__add_more(s, at.chain, at.comm, leaf, rec->nr - 1,
			  xpu_ns_between(sum.max_ns, sum.sum_ns));
	return session__tell_time(s, &at, at.time_ns, leaf,
				  max_t(uint64_t, sum.sum_ns, sum.max_ns));
}

int session__off(struct session *s, const struct xpu_record_off *rec)
{
	struct launch at = { .time_ns = rec->start_ns };
	uint64_t end_ns;
	uint32_t leaf;
	int err;

	err = session__read_off(s, rec->hdr.misc, rec->path_id, rec->thread_id, &at, &leaf);
	if (err <= 0 || at.thread == NO_INDEX)
		return min_t(int, err, 0);
	if (is_below_zero(rec->duration_ns))
		return 0;
	if (__builtin_add_overflow(at.time_ns, rec->duration_ns, &end_ns)) {
		s->loss.bad_refs++;
		return 0;
	}
	return idles__did(&s->idles, at.thread, IDLE_OFF_CPU, s->leaves.v[leaf].name, at.chain,
			  at.time_ns, end_ns);
}

int session__wait_share(void *ctx, const struct wait *wait, uint32_t device_leaf,
			uint64_t ns)
{
	struct work share = { .duration_ns = ns, .stream = NO_INDEX, .node = NO_INDEX };
	struct launch l = { .time_ns = wait->rec->start_ns };
	uint32_t path, leaf, proc = wait->proc;
	struct session *s = ctx;
	int err;

	err = session__wait_leaf(s, device_leaf, &leaf);
	if (err)
		return err;
	err = session__read_origin(s, wait->rec->path_id, wait->rec->thread_id, &l, &proc, &path);
	if (err < 0)
		return err;
	s->loss.bad_refs += err;
	err = session__nvtx_chain(s, proc, wait->rec->range_id, &l.chain);
	if (err < 0)
		return err;
	s->loss.bad_refs += err;
	if (l.thread != NO_INDEX)
		s->threads.v[l.thread].gpu_wait_ns += ns;
	err = session__keeps(s, l.chain, l.thread, l.comm, wait->start_ns, NULL);
	if (err <= 0)
		return err;
	err = session__add(s, l.chain, l.comm, l.thread, leaf, &share);
	return err ?: session__tell_time(s, &l, wait->start_ns, leaf, ns);
}

int session__finish_accounts(struct session *s)
{
	struct session_tables *t = s->tables;
	size_t i, nr = t->first_account;
	int err = 0;

	for (i = 0; i < s->waits.list.nr && s->idles.wanted && !err; i++) {
		const struct wait *wait = &s->waits.list.v[i];
		struct launch l = { .time_ns = wait->rec->start_ns };
		uint32_t path, proc = wait->proc;

		if (!wait->counts)
			continue;
		err = session__read_origin(s, wait->rec->path_id, wait->rec->thread_id, &l, &proc,
					   &path);
		if (err >= 0 && l.thread != NO_INDEX)
			err = idles__did(&s->idles, l.thread, IDLE_WAITED, "", l.chain,
					 wait->start_ns, wait->start_ns + wait->rec->duration_ns);
		err = min_t(int, err, 0);
	}
	if (!err)
		err = idles__finish(&s->idles);
	for (i = nr; i < s->accounts.nr; i++) {
		struct thread_account *a = &s->accounts.v[i];

		if (!idmap__get(&t->threads, a->rec->thread_id, &a->thread) ||
		    xpu_ns_between(a->rec->end_ns, a->rec->start_ns) >= CLOCKS_APART_NS) {
			s->loss.bad_refs++;
			continue;
		}
		a->time = a->rec->time;
		thread_time__mend(&a->time);
		a->comm = session__thread_comm(s, &s->threads.v[a->thread], a->rec->end_ns - 1);
		err = session__keeps_thread(s, a);
		if (err < 0)
			return err;
		if (err)
			s->accounts.v[nr++] = *a;
		err = 0;
	}
	s->accounts.nr = nr;
	return err;
}
