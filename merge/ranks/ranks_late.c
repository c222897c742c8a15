// SPDX-License-Identifier: GPL-3.0-or-later
/* ranks_late.c - for ranks.c: finds the paths that made ranks late */
#include "ranks/ranks.h"
#include "ranks/state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "escape.h"
#include "symbols/callchain.h"

/* the time of .rank on one path, in the laps that .blamed is blamed for */
struct late_sum {
	uint32_t blamed, rank;
	enum late_kind kind;
	const char *path, *leaf;	/* interned in r->strings */
	uint32_t leaf_idx;		/* any leaf with that name */
	uint64_t ns;
};

struct late {
	struct ranks *r;
	const struct model *m;
	ARRAY(struct late_sum) sums;
	struct hashes by_key;
	uint64_t secret;
	struct idmap laps;		/* has (blamed, rank) for each pair that shares laps */
	uint32_t *nr_others;		/* for each blamed rank: how many ranks share laps with
					 * it */
	uint32_t *blamed;		/* for each NCCL unit: the rank that is blamed for its
					 * lap */
	bool *starts;			/* for each unit: whether ranks were still starting, so that
					 * nobody is blamed for the wait */
	bool *last;			/* for each unit: whether others waited for it */
};

/* ---- whom to blame --------------------------------------------------------------------------- */

static bool unit__is_first(const struct ranks *r, const struct nccl_unit *u)
{
	uint32_t rank = r->by_proc[u->proc];

	return rank != NO_INDEX && u->launch_ns == r->ranks.v[rank].first_unit_ns;
}

/* Blames the laps of a meeting on the rank that began last. */
static void late__blame_meeting(struct late *l, const struct nccl_meeting *meeting)
{
	const struct nccl *n = nccl__of(l->m);
	const struct nccl_unit *last;
	bool first = false;
	uint32_t i;

	if (meeting->last == NO_INDEX || !meeting->wait_ns)
		return;
	for (i = 0; i < meeting->nr; i++)
		first |= unit__is_first(l->r, &n->units.v[n->met.v[meeting->first + i]]);
	last = &n->units.v[meeting->last];
	for (i = 0; i < meeting->nr; i++) {
		uint32_t unit = n->met.v[meeting->first + i];

		if (first)	/* nobody is blamed: ranks start one after the other */
			l->starts[unit] = true;
		else
			l->blamed[unit] = l->r->by_proc[last->proc];
	}
}

/* Blames the laps of sends and receives. */
static void late__blame_unit(struct late *l, uint32_t unit)
{
	const struct nccl *n = nccl__of(l->m);
	const struct nccl_unit *u = &n->units.v[unit];

	if (u->meeting != NO_INDEX || u->waited_for == NO_INDEX)
		return;
	if (unit__is_first(l->r, u) || unit__is_first(l->r, &n->units.v[u->waited_for])) {
		l->starts[unit] = true;
		return;
	}
	if (l->blamed[unit] == NO_INDEX)
		l->blamed[unit] = l->r->by_proc[n->units.v[u->waited_for].proc];
	/*
	 * Others waited for the unit u->waited_for. Blame the rank of this unit for its own lap,
	 * even if it waited for another rank.
	 */
	l->blamed[u->waited_for] = l->r->by_proc[n->units.v[u->waited_for].proc];
}

/*
 * Adds the wait of a unit to the waits that its culprit caused. If no rank is to blame, adds it to
 * the waits at the start. Return: 0 or -ENOMEM.
 */
static int late__count_wait(struct late *l, uint32_t unit)
{
	const struct nccl *n = nccl__of(l->m);
	const struct nccl_unit *u = &n->units.v[unit];
	uint32_t waiter = l->r->by_proc[u->proc], culprit = NO_INDEX;

	if (u->member == NO_INDEX || !u->paired || !u->wait_ns || waiter == NO_INDEX)
		return 0;
	if (!l->starts[unit] && u->waited_for != NO_INDEX)
		culprit = l->r->by_proc[n->units.v[u->waited_for].proc];
	if (culprit == NO_INDEX) {
		l->r->ranks.v[waiter].start_wait_ns += u->wait_ns;
		l->r->start_wait_ns += u->wait_ns;
	} else {
		l->r->ranks.v[culprit].nr_last += !l->last[u->waited_for];
		l->last[u->waited_for] = true;
		l->r->ranks.v[culprit].caused_ns += u->wait_ns;
		l->r->caused_ns += u->wait_ns;
	}
	return array_push(&l->r->waits, ((struct rank_wait){
		u->begin_ns + u->shift_ns, u->wait_ns, waiter, culprit,
		ranks__collective(l->r, l->m, u) }));
}

static int late__blame(struct late *l)
{
	const struct nccl *n = nccl__of(l->m);
	size_t i;
	int err = 0;

	l->blamed = malloc((n->units.nr + 1) * sizeof(*l->blamed));
	l->starts = calloc(n->units.nr + 1, sizeof(*l->starts));
	l->last = calloc(n->units.nr + 1, sizeof(*l->last));
	l->nr_others = calloc(l->r->ranks.nr + 1, sizeof(*l->nr_others));
	if (!l->blamed || !l->starts || !l->last || !l->nr_others)
		return -ENOMEM;
	for (i = 0; i < n->units.nr; i++)
		l->blamed[i] = NO_INDEX;
	for (i = 0; i < n->meetings.nr; i++)
		late__blame_meeting(l, &n->meetings.v[i]);
	for (i = 0; i < n->units.nr; i++)
		late__blame_unit(l, i);
	for (i = 0; i < n->units.nr && !err; i++)
		err = late__count_wait(l, i);
	return err;
}

/* ---- paths ----------------------------------------------------------------------------------- */

/* Return: how many frames of a call path, counted from the root, show where a thread was. */
static uint32_t stack__nr_shown(const struct stack *stack, bool whole)
{
	const struct frame *place = whole ? NULL : stack__place(stack);
	uint32_t nr = stack->nr;

	while (place && nr && stack->frames[nr - 1] != place)
		nr--;
	return nr ?: stack->nr;
}

static const char *late__make_path(struct ranks *r, const struct stack *stack, bool whole)
{
	uint32_t i, nr = stack ? stack__nr_shown(stack, whole) : 0;
	const char *path;
	char *text = NULL;
	bool failed;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	for (i = 0; i < nr; i++) {
		fputs(i ? ";" : "", f);
		escape__print(f, stack->frames[i]->name, ESCAPE_FOLDED);
	}
	/* Only lack of memory can make this fail, and fclose() may not report it. */
	failed = ferror(f);
	failed |= fclose(f) != 0;
	path = failed || !text ? NULL : strpool__intern(&r->strings, text, strlen(text));
	free(text);
	return path;
}

/*
 * Return: the frames of a chain, interned, or NULL. Without @whole, frames inside libraries and
 * Linux are left out.
 */
static const char *late__path(struct late *l, uint32_t chain, bool whole)
{
	const struct stack *stack = chain == NO_INDEX ? NULL : l->m->chains.v[chain].stack;
	uint64_t key = (uintptr_t)stack | whole;
	const char *path;
	uint32_t i;

	if (idmap__get(&l->r->paths, key, &i))
		return l->r->path_texts.v[i];
	path = late__make_path(l->r, stack, whole);
	if (!path || idmap__put(&l->r->paths, key, l->r->path_texts.nr) ||
	    array_push(&l->r->path_texts, path))
		return NULL;
	return path;
}

/* Return: the interned name of the work that ran, or that a thread waited for; or NULL. */
static const char *late__leaf(struct late *l, uint32_t leaf_idx)
{
	const struct leaf *leaf = &l->m->leaves.v[leaf_idx];
	char label[LEAF_LABEL_MAX];

	leaf__label(&l->m->gpus, leaf, false, label);
	return strpool__internf(&l->r->strings, "%s%s", label, leaf->name);
}

static bool late_sum__is(const struct late_sum *a, const struct late_sum *b)
{
	return a->blamed == b->blamed && a->rank == b->rank && a->kind == b->kind &&
	       a->path == b->path && a->leaf == b->leaf;
}

static int late__add(struct late *l, const struct late_sum *new)
{
	uint32_t hash =
		hash__mix((uintptr_t) new->path ^ (uint64_t) new->kind << 60,
			  (uintptr_t) new->leaf ^ ID_KEY(new->blamed, new->rank) * 3, l->secret);
	uint32_t i;

	if (!hashes_find(&l->by_key, hash, i, late_sum__is(&l->sums.v[i], new)))
		return hashes_push(&l->by_key, hash, &l->sums, *new);
	l->sums.v[i].ns += new->ns;
	return 0;
}

static int late__add_event(struct late *l, const struct ranks_event *e, enum late_kind kind,
			   uint32_t blamed, uint64_t ns)
{
	struct late_sum sum = {
		.blamed = blamed, .rank = l->r->by_proc[e->proc], .kind = kind, .ns = ns,
		.path = late__path(l, e->chain, kind == LATE_DEVICE || kind == LATE_NCCL),
		.leaf = late__leaf(l, e->leaf), .leaf_idx = e->leaf,
	};

	return sum.path && sum.leaf ? late__add(l, &sum) : -ENOMEM;
}

/* ---- laps ------------------------------------------------------------------------------------ */

/* the end of a lap */
struct cut {
	uint64_t time_ns;
	uint32_t blamed;
};

typedef ARRAY(struct cut) cuts_t;

static int cut__cmp(const void *va, const void *vb, void *ctx)
{
	const struct cut *a = va, *b = vb;

	(void)ctx;
	return cmp3(a->time_ns, b->time_ns) ?: cmp3(a->blamed, b->blamed);
}

/*
 * On the host, a rank's lap ends when an NCCL kernel is launched; on the device, it ends when the
 * kernel begins.
 */
struct laps {
	cuts_t host, device;
};

/* Sorts indices of units by process. */
static int unit__cmp_proc(const void *va, const void *vb, void *ctx)
{
	const struct nccl *n = ctx;
	const uint32_t *a = va, *b = vb;

	return cmp3(n->units.v[*a].proc, n->units.v[*b].proc) ?: cmp3(*a, *b);
}

static int laps__fill(struct laps *w, struct late *l, const uint32_t *units, size_t nr)
{
	const struct nccl *n = nccl__of(l->m);
	uint32_t rank, blamed;
	size_t i;
	int err = 0;

	w->host.nr = w->device.nr = 0;
	for (i = 0; i < nr && !err; i++) {
		const struct nccl_unit *u = &n->units.v[units[i]];

		blamed = l->blamed[units[i]];
		rank = l->r->by_proc[u->proc];
		err = array_push(&w->host, ((struct cut){ u->launch_ns, blamed })) ?:
		      array_push(&w->device, ((struct cut){ u->begin_ns, blamed }));
		if (err || blamed == NO_INDEX)
			continue;
		err = idmap__add(&l->laps, ID_KEY(blamed, rank), 0);
		if (err > 0 && blamed != rank)
			l->nr_others[blamed]++;
		err = min_t(int, err, 0);
	}
	array__sort(w->host.v, w->host.nr, sizeof(*w->host.v), cut__cmp, NULL);
	array__sort(w->device.v, w->device.nr, sizeof(*w->device.v), cut__cmp, NULL);
	return err;
}

/* Return: index of the first lap that ends after @time_ns. */
static size_t cuts__after(const cuts_t *cuts, uint64_t time_ns)
{
	size_t low = 0, high = cuts->nr, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (cuts->v[mid].time_ns <= time_ns)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Adds device work to all laps in which it ran. */
static int laps__add_work(struct laps *w, struct late *l, const struct ranks_event *e)
{
	enum late_kind kind = e->nccl == NO_INDEX ? LATE_DEVICE : LATE_NCCL;
	uint64_t end_ns = e->start_ns + e->ns, from_ns, to_ns;
	size_t i = cuts__after(&w->device, e->start_ns);
	int err = 0;

	for (; i < w->device.nr && !err; i++) {
		from_ns = i ? w->device.v[i - 1].time_ns : w->device.v[0].time_ns;
		if (from_ns >= end_ns)
			break;
		from_ns = max_t(uint64_t, from_ns, e->start_ns);
		to_ns = min_t(uint64_t, end_ns, w->device.v[i].time_ns);
		if (w->device.v[i].blamed != NO_INDEX && to_ns > from_ns)
			err = late__add_event(l, e, kind, w->device.v[i].blamed, to_ns - from_ns);
	}
	return err;
}

/* ---- the time before launches ---------------------------------------------------------------- */

/* Return: index of the first launch of @launches[0..@nr) at or after @time_ns. */
static size_t launches__at(const struct ranks_launch *launches, size_t nr, uint64_t time_ns)
{
	size_t low = 0, high = nr, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (launches[mid].time_ns < time_ns)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static void launches__blame(struct ranks_launch *launches, size_t nr, const cuts_t *cuts)
{
	size_t i, cut = 0;

	for (i = 0; i < nr; i++) {
		while (cut < cuts->nr && cuts->v[cut].time_ns < launches[i].time_ns)
			cut++;
		/*
		 * Before the first operation, ranks start. After the last operation, nobody waits.
		 */
		launches[i].blamed = cut && cut < cuts->nr ? cuts->v[cut].blamed : NO_INDEX;
	}
}

/* Adds a thread's time before those launches that the thread itself made. */
static int launches__add_span(struct late *l, struct ranks_launch *launches, size_t nr,
			      const struct ranks_event *e)
{
	enum leaf_kind leaf = l->m->leaves.v[e->leaf].kind;
	enum late_kind kind = leaf == LEAF_CPU ? LATE_CPU : LATE_OFF_CPU;
	uint64_t end_ns = e->point ? e->start_ns : e->start_ns + e->ns, from_ns, ns;
	size_t i = launches__at(launches, nr, e->start_ns);
	int err = 0;

	if (!l->m->threads.v[e->thread].nr_launches)
		return 0;
	for (; i < nr && !err; i++) {
		from_ns = i ? launches[i - 1].time_ns : launches[i].time_ns;
		if (from_ns > end_ns || (from_ns == end_ns && !e->point))
			break;
		ns = e->point ? e->ns : min_t(uint64_t, end_ns, launches[i].time_ns) -
					max_t(uint64_t, from_ns, e->start_ns);
		if (launches[i].thread == e->thread && launches[i].blamed != NO_INDEX) {
			launches[i].told_ns += ns;
			if (leaf != LEAF_GPU_WAIT && ns)
				err = late__add_event(l, e, kind, launches[i].blamed, ns);
		}
		if (e->point)
			break;
	}
	return err;
}

/* Adds the unexplained time before launches. */
static int launches__add_rest(struct late *l, const struct ranks_launch *launches, size_t nr)
{
	struct late_sum sum;
	size_t i;
	int err = 0;

	for (i = 1; i < nr && !err; i++) {
		uint64_t ns = launches[i].time_ns - launches[i - 1].time_ns;

		if (launches[i].blamed == NO_INDEX || launches[i].told_ns >= ns)
			continue;
		sum = (struct late_sum){
			.blamed = launches[i].blamed, .rank = l->r->by_proc[launches[i].proc],
			.kind = LATE_HOST, .leaf_idx = NO_INDEX, .ns = ns - launches[i].told_ns,
			.path = late__path(l, launches[i].chain, true),
			.leaf = strpool__intern(&l->r->strings, "", 0),
		};
		err = sum.path && sum.leaf ? late__add(l, &sum) : -ENOMEM;
	}
	return err;
}

/* ---- one rank after the other ---------------------------------------------------------------- */

/* the sorted events and launches of one process */
struct rank_events {
	struct ranks_launch *launches;
	size_t nr_launches;
	const struct ranks_event *events;
	size_t nr_events;
};

static int late__process(struct late *l, struct laps *w, const struct rank_events *of)
{
	size_t i;
	int err = 0;

	launches__blame(of->launches, of->nr_launches, &w->host);
	for (i = 0; i < of->nr_events && !err; i++) {
		const struct ranks_event *e = &of->events[i];

		err = e->thread == NO_INDEX ? laps__add_work(w, l, e) :
		      launches__add_span(l, of->launches, of->nr_launches, e);
	}
	return err ?: launches__add_rest(l, of->launches, of->nr_launches);
}

static int late__processes(struct late *l)
{
	struct ranks *r = l->r;
	const struct nccl *n = nccl__of(l->m);
	uint32_t *units = calloc(n->units.nr + 1, sizeof(*units));
	size_t i, nr = 0, unit = 0, launch = 0, event = 0;
	struct laps w = { 0 };
	int err = units ? 0 : -ENOMEM;

	for (i = 0; i < n->units.nr && !err; i++)
		if (n->units.v[i].paired && n->units.v[i].nr_kernels)
			units[nr++] = i;
	if (!err)
		array__sort(units, nr, sizeof(*units), unit__cmp_proc, (void *)n);
	for (i = 0; i < l->m->machine.procs.nr && !err; i++) {
		struct rank_events of = {
			.launches = launch < r->launches.nr ? &r->launches.v[launch] : NULL,
			.events = event < r->events.nr ? &r->events.v[event] : NULL,
		};
		size_t first = unit;

		while (unit < nr && n->units.v[units[unit]].proc == i)
			unit++;
		for (; launch < r->launches.nr && r->launches.v[launch].proc == i; launch++)
			of.nr_launches++;
		for (; event < r->events.nr && r->events.v[event].proc == i; event++)
			of.nr_events++;
		if (unit == first || r->by_proc[i] == NO_INDEX)
			continue;
		err = laps__fill(&w, l, units + first, unit - first) ?:
		      late__process(l, &w, &of);
	}
	array_free(&w.host);
	array_free(&w.device);
	free(units);
	return err;
}

/* ---- the comparison -------------------------------------------------------------------------- */

static int late_sum__cmp(const void *va, const void *vb)
{
	const struct late_sum *a = va, *b = vb;

	return cmp3(a->blamed, b->blamed) ?: cmp3(a->kind, b->kind) ?:
	       cmp3((uintptr_t)a->path, (uintptr_t)b->path) ?:
	       cmp3((uintptr_t)a->leaf, (uintptr_t)b->leaf) ?: cmp3(a->ns, b->ns);
}

/*
 * Return: the median of @nr values: the sums of ranks that are not blamed, and 0 for each rank
 * without a sum.
 */
static uint64_t late_sums__median(const struct late_sum *sums, size_t nr_sums, uint32_t nr)
{
	uint64_t middle[2] = { 0 };
	uint32_t nr_zero = nr, place;
	size_t i;

	for (i = 0; i < nr_sums; i++)
		nr_zero -= sums[i].rank != sums[i].blamed;
	for (i = 0, place = nr_zero; i < nr_sums; i++) {
		if (sums[i].rank == sums[i].blamed)
			continue;
		if (place == (nr - 1) / 2)
			middle[0] = sums[i].ns;
		if (place == nr / 2)
			middle[1] = sums[i].ns;
		place++;
	}
	return middle[0] + (middle[1] - middle[0]) / 2;
}

static int late__compare(struct late *l)
{
	const struct late_sum *v = l->sums.v;
	size_t i, k, j;
	int err = 0;

	if (l->sums.nr)
		qsort(l->sums.v, l->sums.nr, sizeof(*v), late_sum__cmp);
	for (i = 0; i < l->sums.nr && !err; i = k) {
		struct late_path p = {
			v[i].blamed, v[i].kind, v[i].path, v[i].leaf, v[i].leaf_idx, 0, 0,
		};

		for (k = i;
		     k < l->sums.nr && v[k].blamed == v[i].blamed && v[k].kind == v[i].kind &&
		     v[k].path == v[i].path && v[k].leaf == v[i].leaf;
		     k++)
			;
		for (j = i; j < k; j++)
			if (v[j].rank == v[j].blamed)
				p.ns = v[j].ns;
		if (l->nr_others[p.rank])
			p.median_ns = late_sums__median(v + i, k - i, l->nr_others[p.rank]);
		err = array_push(&l->r->compared, p);
	}
	return err;
}

static int late_path__cmp(const void *va, const void *vb, void *ctx)
{
	const struct late_path *a = va, *b = vb;
	const struct rank *ranks = ctx;

	return cmp3(ranks[b->rank].caused_ns, ranks[a->rank].caused_ns) ?: cmp3(a->rank, b->rank) ?:
	       cmp3((int64_t)(b->ns - b->median_ns), (int64_t)(a->ns - a->median_ns)) ?:
	       cmp3(a->kind, b->kind) ?: strcmp(a->path, b->path) ?: strcmp(a->leaf, b->leaf);
}

static int straggler__cmp(const void *va, const void *vb, void *ctx)
{
	const struct rank *ranks = ctx;
	const uint32_t *a = va, *b = vb;

	return cmp3(ranks[*b].caused_ns, ranks[*a].caused_ns) ?: cmp3(*a, *b);
}

/*
 * Finds the stragglers. For the comparison, chooses the stragglers that caused the longest waits.
 * Return: 0 or -ENOMEM.
 */
static int late__choose(struct late *l)
{
	struct ranks *r = l->r;
	bool *chosen = calloc(r->ranks.nr + 1, sizeof(*chosen));
	int err = chosen ? 0 : -ENOMEM;
	size_t i;

	for (i = 0; i < r->ranks.nr && !err; i++)
		if (r->ranks.v[i].caused_ns)
			err = array_push(&r->stragglers, (uint32_t)i);
	array__sort(r->stragglers.v, r->stragglers.nr, sizeof(*r->stragglers.v), straggler__cmp,
		    r->ranks.v);
	for (i = 0; i < r->stragglers.nr && i < RANKS_MAX_CULPRITS && !err; i++)
		chosen[r->stragglers.v[i]] = true;
	for (i = 0; i < nccl__of(l->m)->units.nr && !err; i++)
		if (l->blamed[i] != NO_INDEX && !chosen[l->blamed[i]])
			l->blamed[i] = NO_INDEX;
	free(chosen);
	return err;
}

int ranks__find_late(struct ranks *r, const struct model *m)
{
	struct late l = { .r = r, .m = m, .secret = secret() };
	size_t i;
	int err = late__blame(&l) ?: late__choose(&l) ?: late__processes(&l) ?: late__compare(&l);

	array__sort(r->compared.v, r->compared.nr, sizeof(*r->compared.v), late_path__cmp,
		    r->ranks.v);
	for (i = 0; i < r->compared.nr && !err; i++)
		if (r->compared.v[i].ns > r->compared.v[i].median_ns)
			err = array_push(&r->late, r->compared.v[i]);
	array_free(&l.sums);
	hashes__free(&l.by_key);
	idmap__free(&l.laps);
	free(l.nr_others);
	free(l.blamed);
	free(l.starts);
	free(l.last);
	return err;
}
