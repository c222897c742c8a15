// SPDX-License-Identifier: GPL-3.0-or-later
#include "ranks/ranks.h"
#include "ranks/state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/remap.h"

const char *late_kind__name(enum late_kind kind)
{
	static const char *const names[] = {
		[LATE_DEVICE] = "device", [LATE_NCCL] = "nccl", [LATE_CPU] = "cpu",
		[LATE_OFF_CPU] = "off_cpu", [LATE_HOST] = "host",
	};

	return names[kind];
}

/* ---- events ---------------------------------------------------------------------------------- */

static int sink__launch(void *ctx, const struct model *m, uint64_t key, const struct launch *l)
{
	struct ranks *r = ctx;

	(void)m;
	return array_push(&r->launches, ((struct ranks_launch){
		.time_ns = l->time_ns, .proc = JOIN_KEY_PROC(key), .thread = l->thread,
		.chain = l->chain, .blamed = NO_INDEX,
	}));
}

static int sink__work(void *ctx, const struct model *m, uint64_t key, const struct work *w,
		      const struct launch *l, uint32_t made, bool first)
{
	struct ranks *r = ctx;
	struct ranks_event e = {
		.start_ns = w->start_ns, .ns = w->duration_ns, .proc = JOIN_KEY_PROC(key),
		.thread = NO_INDEX, .leaf = w->leaf, .nccl = NO_INDEX,
		.chain = made != NO_INDEX ? made : l ? l->chain : NO_INDEX,
	};

	(void)first;
	/* For each piece of device work, ranks__work() is called before this function. */
	if (nccl__of(m)->kernels.nr > r->nr_nccl)
		e.nccl = nccl__of(m)->kernels.nr - 1;
	r->nr_nccl = nccl__of(m)->kernels.nr;
	return e.start_ns ? array_push(&r->events, e) : 0;
}

static int ranks__add_span(struct ranks *r, const struct model *m, const struct placed *p,
			   bool point)
{
	if (p->thread == NO_INDEX)
		return 0;
	return array_push(&r->events, ((struct ranks_event){
		.start_ns = p->time_ns, .ns = p->duration_ns, .proc = m->threads.v[p->thread].proc,
		.thread = p->thread, .chain = p->chain, .leaf = p->leaf, .nccl = NO_INDEX,
		.point = point,
	}));
}

static int sink__placed(void *ctx, const struct model *m, const struct placed *p)
{
	enum leaf_kind kind = m->leaves.v[p->leaf].kind;

	return kind == LEAF_CPU || kind == LEAF_GPU_WAIT ?
	       ranks__add_span(ctx, m, p, kind == LEAF_CPU) : 0;
}

static int sink__off(void *ctx, const struct model *m, const struct placed *p)
{
	return ranks__add_span(ctx, m, p, false);
}

static int event__cmp(const void *va, const void *vb, void *ctx)
{
	const struct ranks_event *a = va, *b = vb;

	(void)ctx;
	return cmp3(a->proc, b->proc) ?: cmp3(a->thread == NO_INDEX, b->thread == NO_INDEX) ?:
	       cmp3(a->start_ns, b->start_ns);
}

static int launch__cmp(const void *va, const void *vb, void *ctx)
{
	const struct ranks_launch *a = va, *b = vb;

	(void)ctx;
	return cmp3(a->proc, b->proc) ?: cmp3(a->time_ns, b->time_ns) ?: cmp3(a->thread, b->thread);
}

/*
 * Sorts events and launches. When recordings that are already sorted are joined, little is left to
 * sort.
 */
static void ranks__sort(void *ctx)
{
	struct ranks *r = ctx;

	array__sort(r->events.v, r->events.nr, sizeof(*r->events.v), event__cmp, NULL);
	array__sort(r->launches.v, r->launches.nr, sizeof(*r->launches.v), launch__cmp, NULL);
}

/* ---- recordings that are read separately ----------------------------------------------------- */

static int sink__apart(void *ctx, struct session_sink **sink)
{
	struct ranks *apart = ranks__new();

	(void)ctx;
	*sink = apart ? &apart->sink : NULL;
	return apart ? 0 : -ENOMEM;
}

static void sink__free_apart(struct session_sink *sink)
{
	ranks__free(sink->ctx);
}

static int sink__absorb(void *ctx, const struct model *m, struct session_sink *sink,
			const struct remap *map)
{
	const struct ranks *apart = sink->ctx;
	struct ranks *r = ctx;
	size_t i;
	int err = 0;

	for (i = 0; i < apart->events.nr && !err; i++) {
		struct ranks_event e = apart->events.v[i];

		e.proc += map->proc;
		e.thread = remap__move(e.thread, map->thread);
		e.chain = remap__move(e.chain, map->chain);
		e.leaf = remap__find(map->leaves, e.leaf);
		e.nccl = remap__move(e.nccl, ranks_state__of(m)->absorbed);
		err = array_push(&r->events, e);
	}
	for (i = 0; i < apart->launches.nr && !err; i++) {
		struct ranks_launch l = apart->launches.v[i];

		l.proc += map->proc;
		l.thread = remap__move(l.thread, map->thread);
		l.chain = remap__move(l.chain, map->chain);
		err = array_push(&r->launches, l);
	}
	r->nr_nccl = nccl__of(m)->kernels.nr;
	return err;
}

struct ranks *ranks__new(void)
{
	struct ranks *r = calloc(1, sizeof(*r));

	if (r)
		r->sink = (struct session_sink){
			.ctx = r, .launch = sink__launch, .work = sink__work,
			.placed = sink__placed, .off = sink__off, .apart = sink__apart,
			.free_apart = sink__free_apart, .end = ranks__sort, .absorb = sink__absorb,
		};
	return r;
}

void ranks__free(struct ranks *r)
{
	if (!r)
		return;
	array_free(&r->ranks);
	array_free(&r->late);
	array_free(&r->compared);
	array_free(&r->stragglers);
	array_free(&r->collectives);
	array_free(&r->by_name);
	array_free(&r->waits);
	array_free(&r->others);
	array_free(&r->events);
	array_free(&r->launches);
	array_free(&r->path_texts);
	idmap__free(&r->paths);
	strpool__free(&r->strings);
	free(r->by_proc);
	free(r);
}

/* ---- ranks ----------------------------------------------------------------------------------- */

/* Return: the rank of a process in the largest communicator in which this rank is known, or -1. */
static int32_t proc__number(const struct nccl *n, uint32_t proc)
{
	int32_t rank = -1, nr_ranks = 0;

	array_each(&n->members, member) {
		if (member->proc == proc && member->rank >= 0 && member->nr_ranks > nr_ranks) {
			rank = member->rank;
			nr_ranks = member->nr_ranks;
		}
	}
	return rank;
}

static int rank__cmp_number(const void *va, const void *vb)
{
	const struct rank *a = va, *b = vb;

	return cmp3(a->number, b->number) ?: cmp3(a->proc, b->proc);
}

/* Return: the number that @how gives to a rank; or -1. */
static int64_t rank__number(const struct model *m, const struct rank *rank, enum rank_numbers how)
{
	uint32_t number;

	if (how == RANKS_BY_COMM)
		return proc__number(nccl__of(m), rank->proc);
	number = model__rank(m, rank->proc);
	return number == NO_INDEX ? -1 : (int64_t)number;
}

/* Numbers all ranks as @how says. Return: whether all ranks get different numbers. */
static bool ranks__try(struct ranks *r, const struct model *m, enum rank_numbers how)
{
	bool fits = r->ranks.nr != 0;
	size_t i;

	for (i = 0; i < r->ranks.nr && fits; i++) {
		int64_t number = rank__number(m, &r->ranks.v[i], how);

		fits = number >= 0;
		r->ranks.v[i].number = number;
	}
	if (!fits)
		return false;
	array_qsort(&r->ranks, rank__cmp_number);
	for (i = 1; i < r->ranks.nr; i++)
		fits &= r->ranks.v[i - 1].number != r->ranks.v[i].number;
	return fits;
}

static int rank__cmp_proc(const void *va, const void *vb)
{
	const struct rank *a = va, *b = vb;

	return cmp3(a->proc, b->proc);
}

/*
 * Numbers all ranks as their launcher does. If the launcher's numbers are unknown, uses the ranks
 * in the communicators; if these are unknown, too, uses the order of the ranks.
 */
static void ranks__number(struct ranks *r, const struct model *m)
{
	size_t i;

	r->numbers = ranks__try(r, m, RANKS_BY_LABEL) ? RANKS_BY_LABEL :
		     ranks__try(r, m, RANKS_BY_COMM) ? RANKS_BY_COMM : RANKS_BY_ORDER;
	if (r->numbers == RANKS_BY_ORDER && r->ranks.nr)
		array_qsort(&r->ranks, rank__cmp_proc);
	for (i = 0; i < r->ranks.nr; i++) {
		if (r->numbers == RANKS_BY_ORDER)
			r->ranks.v[i].number = i;
		r->by_proc[r->ranks.v[i].proc] = i;
	}
}

/* Makes a rank of each process that used a device. Return: 0 or -ENOMEM. */
static int ranks__find(struct ranks *r, const struct model *m)
{
	size_t i;
	int err = 0;

	r->by_proc = malloc((m->machine.procs.nr + 1) * sizeof(*r->by_proc));
	if (!r->by_proc)
		return -ENOMEM;
	for (i = 0; i < m->machine.procs.nr; i++)
		r->by_proc[i] = NO_INDEX;
	for (i = 0; i < r->launches.nr; i++)
		r->by_proc[r->launches.v[i].proc] = 0;
	for (i = 0; i < r->events.nr; i++)
		if (r->events.v[i].thread == NO_INDEX)
			r->by_proc[r->events.v[i].proc] = 0;
	for (i = 0; i < m->machine.procs.nr && !err; i++)
		if (r->by_proc[i] != NO_INDEX)
			err = array_push(&r->ranks, ((struct rank){
				.proc = i, .first_unit_ns = UINT64_MAX }));
	if (!err)
		ranks__number(r, m);
	return err;
}

/* Return: the communication library to which a kernel belongs, judged by its name; or NULL. */
static const char *kernel__library(const char *name)
{
	static const struct {
		const char *part, *library;
	} libraries[] = {
		{ "ncclDevKernel", "NCCL" }, { "ncclKernel", "NCCL" },
		{ "ncclSymDevKernel", "NCCL" }, { "ncclSymkDevKernel", "NCCL" },
		{ "nvshmem", "NVSHMEM" }, { "mscclpp", "MSCCL++" }, { "msccl", "MSCCL" },
		{ "deep_ep", "DeepEP" }, { "cross_device_reduce", "vLLM's all-reduce" },
		{ "symm_mem", "PyTorch's symmetric memory" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(libraries); i++)
		if (strstr(name, libraries[i].part))
			return libraries[i].library;
	return NULL;
}

/* Sums up kernels that communicate without a known operation. Return: 0 or -ENOMEM. */
static int ranks__add_other(struct ranks *r, const struct model *m, uint32_t proc,
			    uint32_t leaf_idx, uint64_t ns, struct idmap *known)
{
	const struct leaf *leaf = &m->leaves.v[leaf_idx];
	uint32_t rank = r->by_proc[proc], i;
	const char *library;
	int err;

	if (leaf->kind != LEAF_KERNEL)
		return 0;
	if (!idmap__get(known, ID_KEY(rank, leaf_idx), &i)) {
		library = kernel__library(leaf->name);
		i = library ? r->others.nr : NO_INDEX;
		err = idmap__put(known, ID_KEY(rank, leaf_idx), i);
		if (!err && library)
			err = array_push(&r->others, ((struct other_kernel){
				rank, leaf_idx, library, 0, 0 }));
		if (err)
			return err;
	}
	if (i != NO_INDEX) {
		r->others.v[i].nr++;
		r->others.v[i].ns += ns;
	}
	return 0;
}

/* Sums up all events. @known: passed to ranks__add_other() */
static int ranks__sum_events(struct ranks *r, const struct model *m, struct idmap *known)
{
	uint64_t busy_to_ns = 0, end_ns;
	size_t i;
	int err = 0;

	array_each_while(&r->events, e, !err) {
		struct rank *rank;

		if (r->by_proc[e->proc] == NO_INDEX)
			continue;
		rank = &r->ranks.v[r->by_proc[e->proc]];
		if (e->thread != NO_INDEX) {
			if (m->leaves.v[e->leaf].kind == LEAF_GPU_WAIT)
				rank->gpu_wait_ns += e->ns;
			continue;
		}
		if (!rank->nr_works++)
			busy_to_ns = 0;
		end_ns = e->start_ns + e->ns;
		if (end_ns > busy_to_ns)
			rank->busy_ns += end_ns - max_t(uint64_t, busy_to_ns, e->start_ns);
		busy_to_ns = max_t(uint64_t, busy_to_ns, end_ns);
		if (e->nccl == NO_INDEX) {
			rank->own_ns += e->ns;
			err = ranks__add_other(r, m, e->proc, e->leaf, e->ns, known);
		}
	}
	for (i = 0; i < r->launches.nr; i++)
		r->ranks.v[r->by_proc[r->launches.v[i].proc]].nr_launches++;
	return err;
}

static int ranks__sum_units(struct ranks *r, const struct model *m, struct idmap *known)
{
	const struct nccl *n = nccl__of(m);
	int err = 0;

	array_each(&n->units, u) {
		struct rank *rank;

		if (u->member == NO_INDEX || r->by_proc[u->proc] == NO_INDEX)
			continue;
		rank = &r->ranks.v[r->by_proc[u->proc]];
		rank->nr_ops += u->nr_ops;
		if (u->nr_kernels)
			rank->first_unit_ns = min_t(uint64_t, rank->first_unit_ns, u->launch_ns);
		if (!u->paired) {
			rank->unpaired_ns += u->busy_ns;
			continue;
		}
		rank->nr_paired += u->nr_ops;
		rank->wait_ns += u->wait_ns;
		rank->transfer_ns += u->busy_ns - u->wait_ns;
	}
	array_each_while(&n->kernels, k, !err) {
		const struct nccl_unit *u = k->unit == NO_INDEX ? NULL : &n->units.v[k->unit];

		/* List kernels that have neither a known operation nor a partner. */
		if ((u && (u->paired || !u->by_stream)) || !k->kernel ||
		    r->by_proc[k->proc] == NO_INDEX)
			continue;
		if (!u)
			r->ranks.v[r->by_proc[k->proc]].unpaired_ns += k->duration_ns;
		err = ranks__add_other(r, m, k->proc, k->leaf, k->duration_ns, known);
	}
	return err;
}

/* ---- collectives ----------------------------------------------------------------------------- */

const char *ranks__unit_name(const struct model *m, const struct nccl_unit *u)
{
	return u->by_stream ? "by order in streams" : !u->nr_collectives ? "sends and receives" :
	       u->nr_ops > 1 ? "group" :
	       ranges__name(&m->ranges, nccl__of(m)->ops.v[u->first_op].range);
}

static int collective__cmp(const void *va, const void *vb)
{
	const struct rank_collective *a = va, *b = vb;

	return cmp3(a->comm, b->comm) ?: cmp3((uintptr_t)a->name, (uintptr_t)b->name);
}

static int collective__cmp_wait(const void *va, const void *vb)
{
	const struct rank_collective *a = va, *b = vb;

	return cmp3(b->wait_ns, a->wait_ns) ?: cmp3(b->transfer_ns, a->transfer_ns) ?:
	       cmp3(a->comm, b->comm) ?: strcmp(a->name, b->name);
}

/* Adds the collectives of a meeting. Return: 0 or -ENOMEM. */
static int ranks__add_meeting(struct ranks *r, const struct model *m,
			      const struct nccl_meeting *meeting)
{
	const struct nccl *n = nccl__of(m);
	const struct nccl_unit *u = &n->units.v[n->met.v[meeting->first]];
	struct rank_collective c = {
		.comm = u->comm, .name = ranks__unit_name(m, u), .nr_ranks = meeting->nr,
		.nr = u->nr_collectives, .wait_ns = meeting->wait_ns,
	};
	size_t i;

	for (i = u->first_op; i < u->first_op + u->nr_ops; i++)
		if (n->kinds.v[n->ops.v[i].range] == NCCL_COLLECTIVE)
			c.bytes += nccl_op__payload(&m->ranges, &n->ops.v[i])->bytes;
	for (i = 0; i < meeting->nr; i++) {
		u = &n->units.v[n->met.v[meeting->first + i]];
		c.transfer_ns += u->busy_ns - u->wait_ns;
		c.longest_wait_ns = max_t(uint64_t, c.longest_wait_ns, u->wait_ns);
	}
	return array_push(&r->collectives, c);
}

/*
 * Adds the sends and receives of a unit. @known: the ranks that have sends or receives, by
 * communicator
 */
static int ranks__add_sends(struct ranks *r, const struct model *m, const struct nccl_unit *u,
			    struct idmap *known)
{
	const struct nccl *n = nccl__of(m);
	struct rank_collective c = {
		.comm = u->comm, .name = ranks__unit_name(m, u), .wait_ns = u->wait_ns,
		.transfer_ns = u->busy_ns - u->wait_ns, .longest_wait_ns = u->wait_ns,
	};
	size_t i;
	int err = idmap__add(known, u->member, 0);

	if (err < 0)
		return err;
	c.nr_ranks = err > 0;
	for (i = u->first_op; i < u->first_op + u->nr_ops; i++) {
		if (n->kinds.v[n->ops.v[i].range] != NCCL_SEND)
			continue;
		c.nr++;
		c.bytes += nccl_op__payload(&m->ranges, &n->ops.v[i])->bytes;
	}
	return array_push(&r->collectives, c);
}

static void collective__add(struct rank_collective *to, const struct rank_collective *c, bool sends)
{
	to->nr += c->nr;
	to->bytes += c->bytes;
	to->wait_ns += c->wait_ns;
	to->transfer_ns += c->transfer_ns;
	to->nr_ranks = sends ? to->nr_ranks + c->nr_ranks :
		       max_t(uint32_t, to->nr_ranks, c->nr_ranks);
	to->longest_wait_ns = max_t(uint64_t, to->longest_wait_ns, c->longest_wait_ns);
}

/* Unites all collectives with the same name. */
static void ranks__merge_collectives(struct ranks *r, const char *sends)
{
	struct rank_collective *v = r->collectives.v;
	size_t i, nr = 0;

	if (!r->collectives.nr)
		return;
	qsort(v, r->collectives.nr, sizeof(*v), collective__cmp);
	for (i = 1; i < r->collectives.nr; i++) {
		if (collective__cmp(&v[nr], &v[i]))
			v[++nr] = v[i];
		else
			collective__add(&v[nr], &v[i], v[i].name == sends);
	}
	r->collectives.nr = nr + 1;
	qsort(v, r->collectives.nr, sizeof(*v), collective__cmp_wait);
}

static int by_name__cmp(const void *va, const void *vb, void *ctx)
{
	const struct rank_collective *v = ctx;
	const uint32_t *a = va, *b = vb;

	return collective__cmp(&v[*a], &v[*b]);
}

static int ranks__sum_collectives(struct ranks *r, const struct model *m)
{
	const struct nccl *n = nccl__of(m);
	const char *sends = "";
	struct idmap known = { 0 };
	size_t i;
	int err = 0;

	for (i = 0; i < n->meetings.nr && !err; i++)
		err = ranks__add_meeting(r, m, &n->meetings.v[i]);
	array_each_while(&n->units, u, !err) {
		if (!u->paired || u->meeting != NO_INDEX || u->member == NO_INDEX)
			continue;
		sends = ranks__unit_name(m, u);
		err = ranks__add_sends(r, m, u, &known);
	}
	idmap__free(&known);
	if (!err)
		ranks__merge_collectives(r, sends);
	for (i = 0; i < r->collectives.nr && !err; i++)
		err = array_push(&r->by_name, (uint32_t)i);
	if (!err)
		array__sort(r->by_name.v, r->by_name.nr, sizeof(*r->by_name.v), by_name__cmp,
			    r->collectives.v);
	return err;
}

uint32_t ranks__collective(const struct ranks *r, const struct model *m, const struct nccl_unit *u)
{
	const struct rank_collective key = { .comm = u->comm, .name = ranks__unit_name(m, u) };
	size_t low = 0, high = r->by_name.nr, mid;
	int cmp;

	while (low < high) {
		mid = low + (high - low) / 2;
		cmp = collective__cmp(&r->collectives.v[r->by_name.v[mid]], &key);
		if (!cmp)
			return r->by_name.v[mid];
		if (cmp < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return NO_INDEX;
}

int ranks__finish(struct ranks *r, const struct session *s)
{
	const struct model *m = &s->model;
	struct idmap known = { 0 };
	int err;

	r->s = s;
	ranks__sort(r);
	err = ranks__find(r, m) ?: ranks__sum_events(r, m, &known) ?:
	      ranks__sum_units(r, m, &known) ?: ranks__sum_collectives(r, m) ?:
	      ranks__find_late(r, m);
	idmap__free(&known);
	return err;
}
