// SPDX-License-Identifier: GPL-3.0-or-later
#include "waits/waits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WAIT_KEY(scope, id)	((uint64_t)(scope) << 32 | (id))

/*
 * Maximum number of pieces of work that run in one context at once, and of threads that wait for
 * one context at once; real programs have fewer. Each wait is compared with all work at its time,
 * so without a limit, a recording with all events at one time would take quadratic time.
 */
#define MAX_AT_ONCE	4096

struct stretch {
	uint64_t from_ns, to_ns;
};

struct piece {				/* a piece of device work */
	uint64_t start_ns, end_ns;
	uint32_t leaf;
	uint32_t stream;
	uint32_t not_for;		/* index of a wait inside this work's launch that is not
					 * for this work; or NO_INDEX */
};

struct wait_group {
	uint32_t proc, context;
	ARRAY(struct stretch) spans;	/* when any thread waited in this context; in order,
					 * disjoint */
	size_t recent;			/* index of the span found for the previous work; the next
					 * search begins here */
	ARRAY(struct piece) pieces;
};

struct share {
	uint64_t ns, part_ns;		/* the whole share, and its part that passes the filter */
};

/* A piece of work that overlaps a wait. */
struct candidate {
	uint64_t start_ns, end_ns;
	struct share share;
	uint32_t leaf;
	bool own;			/* the thread waited for this work */
};

/* The end times of the events in progress, to count these events. */
struct crowd {
	size_t nr;
	uint64_t end_ns[MAX_AT_ONCE];
};

/* Scratch memory of waits__share(). */
struct sharing {
	ARRAY(struct piece) live;	/* work that may overlap this wait or a later wait */
	ARRAY(struct candidate) candidates;	/* in order of start */
	ARRAY(uint32_t) active;		/* the candidates that run at the current instant */
	struct share idle, other;
	const struct waits_listener *listener;
	bool tells_when;
};

void waits__init(struct waits *w)
{
	memset(w, 0, sizeof(*w));
}

void waits__exit(struct waits *w)
{
	size_t i;

	for (i = 0; i < w->groups.nr; i++) {
		array_free(&w->groups.v[i].spans);
		array_free(&w->groups.v[i].pieces);
	}
	array_free(&w->by_thread);
	array_free(&w->groups);
	array_free(&w->list);
	idmap__free(&w->launches);
	idmap__free(&w->group_of);
}

static uint64_t wait__end_ns(const struct wait *wait)
{
	return wait->start_ns + wait->rec->duration_ns;
}

int waits__add(struct waits *w, uint32_t proc, uint64_t start_ns,
	       const struct xpu_record_wait *rec)
{
	uint32_t scope = SCOPE(proc, XPU_API(rec->hdr.misc));
	uint64_t key = WAIT_KEY(scope, rec->context), end_ns;
	bool by_stream = rec->hdr.misc & XPU_WAIT_STREAM;
	uint32_t group;
	int err;

	if (!start_ns || __builtin_add_overflow(start_ns, rec->duration_ns, &end_ns))
		return -EINVAL;
	if (!idmap__get(&w->group_of, key, &group)) {
		group = w->groups.nr;
		err = array_push(&w->groups, ((struct wait_group){ .proc = proc,
							    .context = rec->context }));
		err = err ?: idmap__put(&w->group_of, key, group);
		if (err)
			return err;
	}
	return array_push(&w->list, ((struct wait){
		.rec = rec,
		.start_ns = start_ns,
		.proc = proc,
		.group = group,
		.stream = by_stream ? rec->stream : NO_INDEX,
	}));
}

static int wait__cmp(const void *va, const void *vb)
{
	const struct wait *a = va, *b = vb;

	return cmp3(a->group, b->group) ?: cmp3(a->start_ns, b->start_ns) ?:
	       cmp3(a->rec->duration_ns, b->rec->duration_ns) ?: cmp3(a->rec, b->rec);
}

static int wait__cmp_thread(const void *va, const void *vb, void *ctx)
{
	const struct waits *w = ctx;
	const struct wait *a = &w->list.v[*(const uint32_t *)va];
	const struct wait *b = &w->list.v[*(const uint32_t *)vb];

	return cmp3(a->rec->thread_id, b->rec->thread_id) ?: cmp3(a->start_ns, b->start_ns) ?:
	       cmp3(a, b);
}

int waits__ready(struct waits *w)
{
	uint64_t key;
	size_t i;
	int err = 0;

	array_qsort(&w->list, wait__cmp);
	for (i = 0; i < w->list.nr; i++) {
		const struct wait *wait = &w->list.v[i];
		struct wait_group *g = &w->groups.v[wait->group];
		struct stretch span = { wait->start_ns, wait__end_ns(wait) };
		struct stretch *last = g->spans.nr ? &g->spans.v[g->spans.nr - 1] : NULL;

		key = WAIT_KEY(SCOPE(wait->proc, XPU_API(wait->rec->hdr.misc)),
			       wait->rec->correlation_id);
		if (wait->rec->hdr.misc & XPU_WAIT_LAUNCH)
			err = idmap__add(&w->launches, key, i);
		if (err < 0)
			return err;
		if (last && span.from_ns <= last->to_ns) {
			last->to_ns = max_t(uint64_t, last->to_ns, span.to_ns);
			continue;
		}
		err = array_push(&g->spans, span);
		if (err)
			return err;
	}
	err = 0;
	for (i = 0; i < w->list.nr && !err; i++)
		err = array_push(&w->by_thread, (uint32_t)i);
	if (!err && w->by_thread.nr)
		qsort_r(w->by_thread.v, w->by_thread.nr, sizeof(*w->by_thread.v), wait__cmp_thread,
			w);
	return err;
}

const struct wait *waits__at(const struct waits *w, uint32_t thread_id, uint64_t time_ns)
{
	size_t low = 0, high = w->by_thread.nr, mid;
	const struct wait *wait;

	/*
	 * Find the thread's last wait that began at or before @time_ns. Waits of one thread do not
	 * overlap.
	 */
	while (low < high) {
		mid = low + (high - low) / 2;
		wait = &w->list.v[w->by_thread.v[mid]];
		if (wait->rec->thread_id < thread_id ||
		    (wait->rec->thread_id == thread_id && wait->start_ns <= time_ns))
			low = mid + 1;
		else
			high = mid;
	}
	if (!low)
		return NULL;
	wait = &w->list.v[w->by_thread.v[low - 1]];
	return wait->rec->thread_id == thread_id && time_ns < wait__end_ns(wait) ? wait : NULL;
}

/* Return: whether any thread waited at some time in [start_ns, end_ns). */
static bool wait_group__waited(struct wait_group *g, uint64_t start_ns, uint64_t end_ns)
{
	size_t low = 0, high = g->spans.nr, mid;

	/*
	 * Find the first span that ends after the start. It is usually near the span that was found
	 * last.
	 */
	if (g->recent < high && g->spans.v[g->recent].to_ns <= start_ns) {
		low = g->recent + 1;
		if (low < high && g->spans.v[low].to_ns > start_ns)
			high = low;
	} else if (g->recent < high &&
		   (!g->recent || g->spans.v[g->recent - 1].to_ns <= start_ns)) {
		low = high = g->recent;
	}
	while (low < high) {
		mid = low + (high - low) / 2;
		if (g->spans.v[mid].to_ns > start_ns)
			high = mid;
		else
			low = mid + 1;
	}
	if (low == g->spans.nr)
		return false;
	g->recent = low;
	return g->spans.v[low].from_ns < end_ns;
}

int waits__work(struct waits *w, const struct wait_work *work)
{
	uint32_t group, launch = NO_INDEX;

	if (!w->list.nr)
		return 0;
	if (w->launches.nr &&
	    idmap__get(&w->launches, WAIT_KEY(work->scope, work->correlation_id), &launch))
		w->list.v[launch].stream = work->stream;
	if (!idmap__get(&w->group_of, WAIT_KEY(work->scope, work->context), &group) ||
	    !wait_group__waited(&w->groups.v[group], work->start_ns, work->end_ns))
		return 0;
	return array_push(&w->groups.v[group].pieces, ((struct piece){
		.start_ns = work->start_ns,
		.end_ns = work->end_ns,
		.leaf = work->leaf,
		.stream = work->stream,
		.not_for = work->kernel ? launch : NO_INDEX,
	}));
}

static int piece__cmp(const void *va, const void *vb)
{
	const struct piece *a = va, *b = vb;

	return cmp3(a->start_ns, b->start_ns) ?: cmp3(a->end_ns, b->end_ns) ?:
	       cmp3(a->leaf, b->leaf) ?: cmp3(a->stream, b->stream);
}

static int candidate__cmp_leaf(const void *va, const void *vb)
{
	const struct candidate *a = va, *b = vb;

	return cmp3(a->leaf, b->leaf);
}

/*
 * Fills sh->candidates with the work that ran during @wait. Removes pieces that ended earlier from
 * sh->live.
 */
static int sharing__collect(struct sharing *sh, const struct wait *wait, uint32_t index)
{
	bool by_stream = wait->rec->hdr.misc & (XPU_WAIT_STREAM | XPU_WAIT_LAUNCH);
	uint64_t from_ns = wait->start_ns, to_ns = wait__end_ns(wait);
	size_t i, left = 0;
	int err;

	sh->candidates.nr = 0;
	for (i = 0; i < sh->live.nr; i++) {
		struct piece p = sh->live.v[i];

		if (p.end_ns <= from_ns)
			continue;	/* later waits do not begin earlier */
		sh->live.v[left++] = p;
		if (p.start_ns >= to_ns || p.not_for == index)
			continue;
		err = array_push(&sh->candidates, ((struct candidate){
			.start_ns = max_t(uint64_t, p.start_ns, from_ns),
			.end_ns = min_t(uint64_t, p.end_ns, to_ns),
			.leaf = p.leaf,
			.own = !by_stream || p.stream == wait->stream,
		}));
		if (err)
			return err;
	}
	sh->live.nr = left;
	return 0;
}

/*
 * Adds a time to the share of a leaf, or passes it to the listener's when(). Return: 0 or -errno.
 */
static int sharing__give(const struct sharing *sh, const struct wait *wait, struct share *share,
			 uint32_t leaf, struct filter_span s)
{
	const struct waits_listener *l = sh->listener;

	if (sh->tells_when)
		return s.ns ? l->when(l->ctx, wait, leaf, &s) : 0;
	share->ns += s.ns;
	if (filter__cut(l->filter, l->start_ns, &s))
		share->part_ns += s.ns;
	return 0;
}

/* Divides the wait's time, in steps between the starts and ends of work. */
static int sharing__sweep(struct sharing *sh, const struct wait *wait)
{
	uint64_t now_ns = wait->start_ns, to_ns = wait__end_ns(wait), next_ns, each_ns, rest_ns;
	struct filter_span s;
	bool others = wait->rec->hdr.misc & XPU_WAIT_OTHERS, all;
	struct candidate *c = sh->candidates.v;
	size_t i = 0, k, left;
	uint32_t nr_own, nr;
	int err = 0;

	sh->active.nr = 0;
	while (now_ns < to_ns && !err) {
		for (; i < sh->candidates.nr && c[i].start_ns <= now_ns; i++) {
			err = array_push(&sh->active, (uint32_t)i);
			if (err)
				return err;
		}
		next_ns = i < sh->candidates.nr ? c[i].start_ns : to_ns;
		for (k = left = nr_own = 0; k < sh->active.nr; k++) {
			const struct candidate *a = &c[sh->active.v[k]];

			if (a->end_ns <= now_ns)
				continue;
			sh->active.v[left++] = sh->active.v[k];
			next_ns = min_t(uint64_t, next_ns, a->end_ns);
			nr_own += a->own;
		}
		sh->active.nr = left;
		all = !nr_own && others;
		nr = all ? left : nr_own;
		s = (struct filter_span){ .from_ns = now_ns,
					  .to_ns = next_ns,
					  .ns = next_ns - now_ns };
		if (!left) {
			err = sharing__give(sh, wait, &sh->idle, WAIT_LEAF_IDLE, s);
		} else if (!nr) {
			err = sharing__give(sh, wait, &sh->other, WAIT_LEAF_OTHER, s);
		} else {
			each_ns = (next_ns - now_ns) / nr;
			rest_ns = (next_ns - now_ns) % nr;
			for (k = 0; k < left && !err; k++) {
				struct candidate *a = &c[sh->active.v[k]];

				if (!a->own && !all)
					continue;
				s.ns = each_ns + (rest_ns > 0);
				rest_ns -= rest_ns > 0;
				err = sharing__give(sh, wait, &a->share, a->leaf, s);
			}
		}
		now_ns = next_ns;
	}
	return err;
}

static int sharing__tell(const struct sharing *sh, const struct wait *wait, uint32_t leaf,
			 const struct share *share)
{
	const struct waits_listener *l = sh->listener;

	return share->ns ? l->share(l->ctx, wait, leaf, share->ns, share->part_ns) : 0;
}

/* Divides the time of a wait whose candidates have been collected. */
static int sharing__share(struct sharing *sh, struct wait *wait)
{
	struct candidate *c = sh->candidates.v;
	size_t i, k;
	int err;

	sh->tells_when = false;
	sh->idle = sh->other = (struct share){ 0 };
	err = sharing__sweep(sh, wait);
	if (err)
		return err;
	wait->counts = !(wait->rec->hdr.misc & XPU_WAIT_WORK) ||
		       sh->other.ns + sh->idle.ns < wait->rec->duration_ns / 2;
	if (!wait->counts)
		return 0;
	sh->tells_when = sh->listener->when;
	if (sh->tells_when)
		err = sharing__sweep(sh, wait);
	if (sh->candidates.nr)
		qsort(c, sh->candidates.nr, sizeof(*c), candidate__cmp_leaf);
	for (i = 0; i < sh->candidates.nr && !err; i = k) {
		struct share sum = { 0 };

		for (k = i; k < sh->candidates.nr && c[k].leaf == c[i].leaf; k++) {
			sum.ns += c[k].share.ns;
			sum.part_ns += c[k].share.part_ns;
		}
		err = sharing__tell(sh, wait, c[i].leaf, &sum);
	}
	return err ?: sharing__tell(sh, wait, WAIT_LEAF_OTHER, &sh->other) ?:
	       sharing__tell(sh, wait, WAIT_LEAF_IDLE, &sh->idle);
}

/*
 * Adds an event; events come in order of their start. Return: false if too many events are in
 * progress.
 */
static bool crowd__enter(struct crowd *c, uint64_t start_ns, uint64_t end_ns)
{
	size_t i, left = 0;

	for (i = 0; i < c->nr; i++)
		if (c->end_ns[i] > start_ns)
			c->end_ns[left++] = c->end_ns[i];
	c->nr = left;
	if (left == MAX_AT_ONCE)
		return false;
	c->end_ns[c->nr++] = end_ns;
	return true;
}

/*
 * Adds to sh->live the pieces from index *@next that begin before @end_ns, and advances *@next.
 * Return: 0 or -ENOMEM.
 */
static int waits__add_works(struct waits *w, struct sharing *sh, struct crowd *works,
			    const struct wait_group *g, size_t *next, uint64_t end_ns)
{
	int err = 0;

	for (; *next < g->pieces.nr && !err && g->pieces.v[*next].start_ns < end_ns; ++*next) {
		const struct piece *p = &g->pieces.v[*next];

		if (crowd__enter(works, p->start_ns, p->end_ns))
			err = array_push(&sh->live, *p);
		else
			w->nr_crowded++;
	}
	return err;
}

int waits__share(struct waits *w, const struct waits_listener *listener)
{
	const struct wait_group *g = NULL;
	struct crowd works, waits;	/* the group's events in progress */
	struct sharing sh = { .listener = listener };
	size_t i, next = 0;
	int err = 0;

	works.nr = waits.nr = 0;
	for (i = 0; i < w->groups.nr; i++)
		array_qsort(&w->groups.v[i].pieces, piece__cmp);
	for (i = 0; i < w->list.nr && !err; i++) {
		struct wait *wait = &w->list.v[i];

		if (g != &w->groups.v[wait->group]) {
			g = &w->groups.v[wait->group];
			next = 0;
			sh.live.nr = works.nr = waits.nr = 0;
		}
		if (!crowd__enter(&waits, wait->start_ns, wait__end_ns(wait))) {
			w->nr_crowded++;
			continue;
		}
		err = waits__add_works(w, &sh, &works, g, &next, wait__end_ns(wait));
		err = err ?: sharing__collect(&sh, wait, i);
		err = err ?: sharing__share(&sh, wait);
	}
	array_free(&sh.active);
	array_free(&sh.candidates);
	array_free(&sh.live);
	return err;
}
