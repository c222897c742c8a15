// SPDX-License-Identifier: GPL-3.0-or-later
#include "import/epochs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MARGIN		16		/* ids may be out of order between threads by this many */
#define EARLY_NS	1000000		/* device work may begin this much before its call */
#define SKEW_NS		1000000000	/* the clocks of a file differ by at most this */
#define NR_FIRST	256		/* number of activity records used to compare clocks */

/* A call, including the driver calls that it makes, which share its id. */
struct outer {
	uint64_t start_ns, end_ns, tid;
	uint32_t proc, id, new_id;
	uint32_t epoch;
	uint32_t prev, next;		/* previous and next call with this id, or NO_INDEX */
	uint32_t before, after;		/* previous and next call of the process, or NO_INDEX */
	uint32_t nr_works, first_work;
	bool others_wait;		/* an earlier call with this id may still lack its work */
	bool driver;
	enum epoch_works works;
};

struct epoch_proc {
	uint32_t number;
	uint32_t epoch, last;		/* last: the latest call, or NO_INDEX; while device work is
					 * assigned, the next call */
	uint32_t max_id;		/* largest id of all calls */
	uint32_t max_in_epoch;		/* largest id of the calls in this epoch so far */
};

struct renumber {
	struct epochs *out;
	struct epoch_call *calls;
	struct epoch_work *works;
	size_t nr_calls, nr_works;
	uint32_t *call_order, *work_order;
	uint32_t *outer_of;		/* for each call: index in outers; NO_INDEX: it has no id */
	ARRAY(struct outer) outers;	/* by time */
	ARRAY(struct epoch_proc) procs;
	struct idmap proc_ids;		/* maps the number of a process to an index in procs */
	struct idmap latest;		/* maps (index in procs, id) to the latest call */
	struct idmap first;		/* maps (index in procs, id) to the first call */
	struct idmap owners;		/* maps an id to the only process whose calls have the
					 * id, as an index in procs; NO_INDEX: calls of several
					 * processes have the id. Empty if there is only one
					 * process */
	uint64_t steps;
	uint64_t again;			/* number of calls with the id of an earlier call */
	uint64_t early_ns;		/* device work may begin this much before its call */
};

static int call__compare(const void *a, const void *b, void *ctx)
{
	const struct epoch_call *calls = ctx;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;

	return cmp3(calls[i].start_ns, calls[k].start_ns) ?:
	       cmp3(calls[i].driver, calls[k].driver) ?: cmp3(i, k);
}

static int work__compare(const void *a, const void *b, void *ctx)
{
	const struct epoch_work *works = ctx;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;

	return cmp3(works[i].start_ns, works[k].start_ns) ?: cmp3(i, k);
}

static uint32_t *order_new(size_t nr)
{
	uint32_t *order = calloc(nr + 1, sizeof(*order));
	size_t i;

	for (i = 0; order && i < nr; i++)
		order[i] = i;
	return order;
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* Return: whether @c has the id of call @o and is inside @o. Some files lack the ends of calls. */
static bool outer__has(const struct outer *o, const struct epoch_call *c)
{
	if (c->tid != o->tid)
		return false;
	if (c->driver && !o->driver)
		return c->start_ns < o->end_ns || o->end_ns <= o->start_ns;
	return c->start_ns <= o->end_ns && c->end_ns <= o->end_ns &&
	       (c->end_ns > c->start_ns || c->start_ns == o->start_ns);
}

static int renumber__proc(struct renumber *r, uint32_t number, uint32_t *proc)
{
	const struct epoch_proc none = { .number = number, .last = NO_INDEX };

	if (idmap__get(&r->proc_ids, number, proc))
		return 0;
	*proc = r->procs.nr;
	return idmap__put(&r->proc_ids, number, *proc) ?: array_push(&r->procs, none);
}

/* Fills in r->owners. Return: 0 or -ENOMEM. */
static int renumber__find_owners(struct renumber *r)
{
	uint32_t *owner;
	int added = 0;

	if (r->procs.nr < 2)
		return 0;
	array_each(&r->outers, o) {
		added = idmap__add(&r->owners, o->id, o->proc);
		if (added < 0)
			return added;
		owner = added ? NULL : idmap__find(&r->owners, o->id);
		if (owner && *owner != o->proc)
			*owner = NO_INDEX;
	}
	return 0;
}

/* Finds, for each call, the outermost call with the same id that contains it. */
static int renumber__outers(struct renumber *r)
{
	uint32_t i, proc, *known;
	int err = 0;

	for (i = 0; i < r->nr_calls && !err; i++) {
		const struct epoch_call *c = &r->calls[r->call_order[i]];
		struct outer o = {
			.start_ns = c->start_ns, .end_ns = c->end_ns, .tid = c->tid, .id = c->id,
			.driver = c->driver, .works = c->works, .prev = NO_INDEX, .next = NO_INDEX,
			.new_id = c->id,
		};

		r->outer_of[r->call_order[i]] = NO_INDEX;
		if (!c->id)
			continue;
		err = renumber__proc(r, c->proc, &proc);
		if (err)
			break;
		known = idmap__find(&r->latest, ID_KEY(proc, c->id));
		if (known && outer__has(&r->outers.v[*known], c)) {
			r->outers.v[*known].works = max_t(enum epoch_works, c->works,
							  r->outers.v[*known].works);
			r->outer_of[r->call_order[i]] = *known;
			continue;
		}
		o.proc = proc;
		o.before = r->procs.v[proc].last;
		o.after = NO_INDEX;
		if (o.before != NO_INDEX)
			r->outers.v[o.before].after = r->outers.nr;
		r->procs.v[proc].last = r->outer_of[r->call_order[i]] = r->outers.nr;
		r->procs.v[proc].max_id = max_t(uint32_t, r->procs.v[proc].max_id, c->id);
		if (known) {
			o.prev = *known;
			r->outers.v[*known].next = r->outers.nr;
			*known = r->outers.nr;
			r->again++;
		} else {
			err = idmap__put(&r->latest, ID_KEY(proc, c->id), r->outers.nr) ?:
			      idmap__put(&r->first, ID_KEY(proc, c->id), r->outers.nr);
		}
		err = err ?: array_push(&r->outers, o);
	}
	return err;
}

/*
 * Starts a new epoch, because a call of the current epoch already has the id of call @at. The new
 * epoch starts at the largest drop of the ids after the previous call with that id.
 */
static void renumber__cut(struct renumber *r, uint32_t at)
{
	struct outer *v = r->outers.v;
	uint32_t first = at, i;
	int64_t fall, furthest = INT64_MIN;

	for (i = at; i != v[at].prev && r->steps < 64 * r->outers.nr; i = v[i].before, r->steps++) {
		fall = (int64_t)v[v[i].before].id - v[i].id;
		if (fall > furthest) {
			furthest = fall;
			first = i;
		}
	}
	for (i = at;; i = v[i].before) {
		v[i].epoch++;
		if (i == first)
			break;
	}
	r->procs.v[v[at].proc].epoch++;
	r->out->nr_restarts++;
}

/* Gives each call its epoch and a unique id. */
static void renumber__epochs(struct renumber *r)
{
	uint32_t i, known;

	for (i = 0; i < r->outers.nr; i++) {
		struct outer *o = &r->outers.v[i];
		struct epoch_proc *p = &r->procs.v[o->proc];

		o->epoch = p->epoch;
		if (o->prev == NO_INDEX)
			continue;
		if (r->outers.v[o->prev].epoch == o->epoch)
			renumber__cut(r, i);
		do {
			o->new_id = ++p->max_id;
		} while (!o->new_id || idmap__get(&r->first, ID_KEY(o->proc, o->new_id), &known));
	}
}

/* ---- work ------------------------------------------------------------------------------------ */

/* Return: whether a call may still lack its device work. */
static bool outer__waits(const struct outer *o)
{
	return o->works == EPOCH_ANY_WORK || (o->works != EPOCH_NO_WORK && !o->nr_works);
}

/* Return: whether @o cannot have caused @work, because it caused another activity record. */
static bool outer__is_full(const struct renumber *r, const struct outer *o, uint32_t work)
{
	const struct epoch_work *w = &r->works[work], *first = &r->works[o->first_work];

	if (!o->nr_works || (o->works != EPOCH_ONE_WORK && o->works != EPOCH_ONE_KERNEL))
		return false;
	return r->again || (o->works == EPOCH_ONE_KERNEL && w->kernel && first->kernel &&
			    w->start_ns != first->start_ns);
}

static void renumber__unclear(struct renumber *r, uint32_t work)
{
	r->out->nr_unclear += r->works[work].id != 0;
	r->works[work].id = 0;
}

static void renumber__foreign(struct renumber *r, uint32_t work)
{
	r->out->nr_foreign++;
	r->works[work].id = 0;
}

static void renumber__give(struct renumber *r, uint32_t work, struct outer *o)
{
	/* If the call is full, its first activity record or this one belongs to a lost call. */
	if (outer__is_full(r, o, work)) {
		renumber__unclear(r, o->first_work);
		renumber__unclear(r, work);
		return;
	}
	if (!o->nr_works++)
		o->first_work = work;
	r->works[work].id = o->new_id;
}

/*
 * Finds the process of device work that does not name its process. Return: false if no process has
 * a call with the id of the work, or several processes have such a call.
 */
static bool renumber__owner(const struct renumber *r, const struct epoch_work *w, uint32_t *proc)
{
	if (w->proc)
		return idmap__get(&r->proc_ids, w->proc, proc);
	*proc = 0;
	return r->procs.nr == 1 || (idmap__get(&r->owners, w->id, proc) && *proc != NO_INDEX);
}

static void renumber__work(struct renumber *r, uint32_t work)
{
	struct epoch_work *w = &r->works[work];
	const struct epoch_proc *p;
	uint32_t at, proc;
	struct outer *o;
	bool lost;

	if (!w->id || !renumber__owner(r, w, &proc))
		return;
	p = &r->procs.v[proc];
	if (!idmap__get(&r->latest, ID_KEY(proc, w->id), &at)) {
		if (!idmap__get(&r->first, ID_KEY(proc, w->id), &at))
			return;
		/*
		 * The device work begins before its call: either the clocks differ a little, or the
		 * right call was lost.
		 */
		o = &r->outers.v[at];
		if (o->start_ns - w->start_ns <= r->early_ns)
			renumber__give(r, work, o);
		else
			renumber__foreign(r, work);
		return;
	}
	o = &r->outers.v[at];
	if (r->early_ns > EARLY_NS && o->next != NO_INDEX &&
	    r->outers.v[o->next].start_ns - w->start_ns <= r->early_ns) {
		renumber__unclear(r, work);
		return;
	}
	/*
	 * Ids rise: if the id of this epoch's next call is below the id of the work, this epoch has
	 * not reached the id of the work yet.
	 */
	lost = p->epoch > o->epoch &&
	       (p->epoch > o->epoch + 1 || (uint64_t)p->max_in_epoch + MARGIN >= w->id ||
		p->last == NO_INDEX || r->outers.v[p->last].epoch != p->epoch ||
		r->outers.v[p->last].id >= w->id);
	if (o->others_wait || (lost && outer__waits(o)))
		renumber__unclear(r, work);
	else if (lost)
		renumber__foreign(r, work);
	else
		renumber__give(r, work, o);
}

/*
 * Sets early_ns. If most of the file's first activity records begin before their calls, the
 * device's clock is behind.
 */
static void renumber__clocks(struct renumber *r)
{
	uint64_t furthest = 0, early;
	size_t i, nr = 0, nr_early = 0;
	uint32_t proc, at;

	r->early_ns = r->again ? EARLY_NS : SKEW_NS;
	for (i = 0; r->again && i < r->nr_works && nr < NR_FIRST; i++) {
		const struct epoch_work *w = &r->works[r->work_order[i]];

		if (!w->id || !renumber__owner(r, w, &proc) ||
		    !idmap__get(&r->first, ID_KEY(proc, w->id), &at))
			continue;
		nr++;
		early = r->outers.v[at].start_ns - min_t(uint64_t, r->outers.v[at].start_ns,
							 w->start_ns);
		if (early <= EARLY_NS || early > SKEW_NS)
			continue;
		nr_early++;
		furthest = max_t(uint64_t, furthest, early);
	}
	if (2 * nr_early > nr)
		r->early_ns = furthest + EARLY_NS;
}

/* Assigns device work to calls: goes through calls and activity records in time order. */
static int renumber__works(struct renumber *r)
{
	uint32_t i, at = 0, *latest;
	int err = 0;

	idmap__free(&r->latest);
	for (i = 0; i < r->procs.nr; i++)
		r->procs.v[i].epoch = 0;
	for (i = 0; i < r->nr_works && !err; i++) {
		uint32_t work = r->work_order[i];

		for (; at < r->outers.nr && !err; at++) {
			struct outer *o = &r->outers.v[at];
			struct epoch_proc *p = &r->procs.v[o->proc];

			if (o->start_ns > r->works[work].start_ns)
				break;
			if (o->epoch != p->epoch)
				p->max_in_epoch = 0;
			p->epoch = o->epoch;
			p->max_in_epoch = max_t(uint32_t, p->max_in_epoch, o->id);
			p->last = o->after;
			o->others_wait = o->prev != NO_INDEX &&
					 (r->outers.v[o->prev].others_wait ||
					  outer__waits(&r->outers.v[o->prev]));
			latest = idmap__find(&r->latest, ID_KEY(o->proc, o->id));
			if (latest)
				*latest = at;
			else
				err = idmap__put(&r->latest, ID_KEY(o->proc, o->id), at);
		}
		if (!err)
			renumber__work(r, work);
	}
	return err;
}

/* ---- the whole ------------------------------------------------------------------------------- */

int epochs__renumber(struct epochs *e, struct epoch_call *calls, size_t nr_calls,
		     struct epoch_work *works, size_t nr_works)
{
	struct renumber r = {
		.out = e, .calls = calls, .works = works, .nr_calls = nr_calls,
		.nr_works = nr_works, .call_order = order_new(nr_calls),
		.work_order = order_new(nr_works), .outer_of = order_new(nr_calls),
	};
	int err = r.call_order && r.work_order && r.outer_of ? 0 : -ENOMEM;
	size_t i;

	memset(e, 0, sizeof(*e));
	if (!err) {
		array__sort(r.call_order, nr_calls, sizeof(*r.call_order), call__compare, calls);
		err = renumber__outers(&r) ?: renumber__find_owners(&r);
	}
	if (!err) {
		array__sort(r.work_order, nr_works, sizeof(*r.work_order), work__compare, works);
		renumber__epochs(&r);
		renumber__clocks(&r);
		err = renumber__works(&r);
		for (i = 0; i < nr_calls && !err; i++)
			if (r.outer_of[i] != NO_INDEX)
				calls[i].id = r.outers.v[r.outer_of[i]].new_id;
	}
	idmap__free(&r.owners);
	idmap__free(&r.first);
	idmap__free(&r.latest);
	idmap__free(&r.proc_ids);
	array_free(&r.procs);
	array_free(&r.outers);
	free(r.outer_of);
	free(r.work_order);
	free(r.call_order);
	return err;
}

void epochs__complain(const struct epochs *e, const char *name, struct msgs *msgs)
{
	if (e->nr_restarts)
		msgs__add(msgs,
			  "%s: correlation ids restart %" PRIu64 " %s: the latest call before it "
			  "has the device work",
			  name, e->nr_restarts, PLURAL(e->nr_restarts, "time", "times"));
	if (e->nr_unclear)
		msgs__add(msgs,
			  "%s: %" PRIu64 " %s of several calls, because correlation ids restart: "
			  "[no launch]",
			  name, e->nr_unclear,
			  PLURAL(e->nr_unclear, "device record may be", "device records may be"));
	if (e->nr_foreign && !e->nr_restarts)
		msgs__add(msgs,
			  "%s: %" PRIu64 " %s long before the call with the same correlation id: "
			  "[no launch]",
			  name, e->nr_foreign,
			  PLURAL(e->nr_foreign, "device record begins", "device records begin"));
}
