// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * nccl_pair.c - the second half of nccl.h: pairs the operations of all recordings, and finds waits
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/model.h"
#include "ranks/nccl.h"

#define MAX_ENDS	(1u << 20)	/* maximum number of stored differences between clocks */

/* ---- the unit of a kernel -------------------------------------------------------------------- */

#define STREAM_SEVERAL	(NO_INDEX - 1)

static int comm__cmp(const void *va, const void *vb)
{
	const uint64_t *a = va, *b = vb;

	return cmp3(*a, *b);
}

/* Lists the ids of all communicators, each once. Return: 0 or -ENOMEM. */
static int nccl__comms(const struct nccl *n, uint64_t **comms, size_t *nr)
{
	size_t i, k = 0;
	uint64_t *v = calloc(n->units.nr + 1, sizeof(*v));

	if (!v)
		return -ENOMEM;
	for (i = 0; i < n->units.nr; i++)
		v[i] = n->units.v[i].comm;
	qsort(v, n->units.nr, sizeof(*v), comm__cmp);
	for (i = 0; i < n->units.nr; i++)
		if (!k || v[k - 1] != v[i])
			v[k++] = v[i];
	*comms = v;
	*nr = k;
	return 0;
}

static uint32_t comm__index(const uint64_t *comms, size_t nr, uint64_t comm)
{
	const uint64_t *at = bsearch(&comm, comms, nr, sizeof(*comms), comm__cmp);

	return at - comms;
}

/* Finds, for each stream, the only communicator that launches on it. Return: 0 or -ENOMEM. */
static int nccl__streams(const struct nccl *n, const uint64_t *comms, size_t nr,
			 struct idmap *streams)
{
	uint32_t comm, *there;
	int err;

	array_each(&n->kernels, k) {
		if (k->loose || k->unit != k->last_unit)
			continue;
		comm = comm__index(comms, nr, n->units.v[k->unit].comm);
		err = idmap__add(streams, k->stream, comm);
		if (err < 0)
			return err;
		there = idmap__find(streams, k->stream);
		if (there && *there != comm)
			*there = STREAM_SEVERAL;
	}
	return 0;
}

/*
 * Assigns each kernel of a group with several communicators to one communicator, by the kernel's
 * stream.
 */
static int nccl__share_groups(struct nccl *n)
{
	struct idmap streams = { 0 };
	uint64_t *comms = NULL;
	size_t nr;
	int err = nccl__comms(n, &comms, &nr) ?: nccl__streams(n, comms, nr, &streams);

	array_each_while(&n->kernels, k, !err) {
		uint32_t unit, comm, first = k->unit;

		if (first == k->last_unit)
			continue;
		k->unit = NO_INDEX;
		if (!idmap__get(&streams, k->stream, &comm) || comm == STREAM_SEVERAL)
			comm = NO_INDEX;
		for (unit = first; unit <= k->last_unit && comm != NO_INDEX; unit++)
			if (n->units.v[unit].comm == comms[comm])
				k->unit = unit;
		if (k->unit == NO_INDEX && k->kernel) {
			n->counts.nr_kernels_shared++;
			n->counts.shared_ns += k->duration_ns;
		}
	}
	free(comms);
	idmap__free(&streams);
	return err;
}

/* ---- kernels without operations -------------------------------------------------------------- */

static int kernel__cmp_launch(const void *va, const void *vb, void *ctx)
{
	const struct nccl *n = ctx;
	const uint32_t *ia = va, *ib = vb;
	const struct nccl_kernel *a = &n->kernels.v[*ia], *b = &n->kernels.v[*ib];

	return cmp3(a->proc, b->proc) ?: cmp3(a->launch_ns, b->launch_ns) ?: cmp3(*ia, *ib);
}

/* One process's calls without kernels, and kernels without calls. */
struct apart {
	uint64_t comm;
	uint32_t nr_units, nr_kernels;
	bool differ;			/* several communicators lack kernels, or the only
					 * communicator that lacks kernels also has units with
					 * kernels */
};

/* Marks the units that have kernels. Return: an allocated array. */
static bool *nccl__have_kernels(const struct nccl *n)
{
	bool *have = calloc(n->units.nr + 1, sizeof(*have));
	uint32_t unit;
	size_t i;

	for (i = 0; have && i < n->kernels.nr; i++) {
		const struct nccl_kernel *k = &n->kernels.v[i];

		for (unit = k->unit; !k->loose && unit <= k->last_unit; unit++)
			have[unit] = true;
	}
	return have;
}

static int unit__cmp_call(const void *va, const void *vb, void *ctx)
{
	const struct nccl *n = ctx;
	const uint32_t *ia = va, *ib = vb;
	const struct nccl_unit *a = &n->units.v[*ia], *b = &n->units.v[*ib];

	return cmp3(a->proc, b->proc) ?: cmp3(a->start_ns, b->start_ns) ?: cmp3(*ia, *ib);
}

typedef ARRAY(uint32_t) indices;

/* Lists the loose kernels and the units without kernels, and counts both by process. */
static int nccl__list_apart(const struct nccl *n, struct apart *apart, indices *units,
			    indices *kernels)
{
	bool *have = nccl__have_kernels(n);
	int err = have ? 0 : -ENOMEM;
	size_t i;

	for (i = 0; i < n->units.nr && !err; i++) {
		struct apart *a = &apart[n->units.v[i].proc];

		if (have[i])
			continue;
		a->differ |= a->nr_units++ && a->comm != n->units.v[i].comm;
		a->comm = n->units.v[i].comm;
		err = array_push(units, (uint32_t)i);
	}
	for (i = 0; i < n->units.nr && !err; i++) {
		struct apart *a = &apart[n->units.v[i].proc];

		a->differ |= have[i] && a->nr_units && a->comm == n->units.v[i].comm;
	}
	for (i = 0; i < n->kernels.nr && !err; i++) {
		if (!n->kernels.v[i].loose)
			continue;
		apart[n->kernels.v[i].proc].nr_kernels++;
		err = array_push(kernels, (uint32_t)i);
	}
	free(have);
	return err;
}

/* Return: whether kernels of one process match its calls, in order. */
static bool nccl__fit(const struct nccl *n, const uint32_t *units, const uint32_t *kernels,
		      uint32_t nr)
{
	uint32_t i;

	for (i = 0; i < nr; i++) {
		const struct nccl_unit *u = &n->units.v[units[i]];
		const struct nccl_kernel *k = &n->kernels.v[kernels[i]];

		if (k->launch_ns < u->start_ns || k->collective != (u->nr_collectives > 0))
			return false;
	}
	return true;
}

/*
 * Matches the calls of communicators that do not block with the kernels that NCCL's own threads
 * launched.
 */
static int nccl__own_threads(struct nccl *n, const struct model *m)
{
	struct apart *apart = calloc(m->machine.procs.nr + 1, sizeof(*apart));
	indices units = { 0 }, kernels = { 0 };
	size_t unit = 0, kernel = 0, i, k;
	int err = apart ? nccl__list_apart(n, apart, &units, &kernels) : -ENOMEM;

	if (!err) {
		array__sort(units.v, units.nr, sizeof(*units.v), unit__cmp_call, n);
		array__sort(kernels.v, kernels.nr, sizeof(*kernels.v), kernel__cmp_launch, n);
	}
	for (i = 0; i < m->machine.procs.nr && !err; i++) {
		const struct apart *a = &apart[i];

		if (a->nr_units && a->nr_units == a->nr_kernels && !a->differ &&
		    nccl__fit(n, units.v + unit, kernels.v + kernel, a->nr_units)) {
			for (k = 0; k < a->nr_units; k++) {
				struct nccl_kernel *given = &n->kernels.v[kernels.v[kernel + k]];

				given->unit = given->last_unit = units.v[unit + k];
				given->loose = false;
			}
			n->counts.nr_own_threads += a->nr_units;
		}
		unit += a->nr_units;
		kernel += a->nr_kernels;
	}
	free(apart);
	array_free(&units);
	array_free(&kernels);
	return err;
}

/* Makes a unit for the kernel @at. The unit's comm is the stream's number in the process. */
static int nccl__add_loose(struct nccl *n, uint32_t at, struct idmap *streams, uint32_t *nr_streams)
{
	struct nccl_kernel *k = &n->kernels.v[at];
	uint32_t place;
	int err;

	if (!idmap__get(streams, k->stream, &place)) {
		place = (*nr_streams)++;
		err = idmap__put(streams, k->stream, place);
		if (err)
			return err;
	}
	k->unit = k->last_unit = n->units.nr;
	return array_push(&n->units, ((struct nccl_unit){
		.comm = place, .start_ns = k->launch_ns, .proc = k->proc, .thread = k->thread,
		.first_op = n->ops.nr, .nr_collectives = 1, .by_stream = true, .gpu = NO_INDEX,
		.member = NO_INDEX, .waited_for = NO_INDEX, .meeting = NO_INDEX,
	}));
}

/* Makes units for the loose kernels of processes that have no other units. Return: 0 or -ENOMEM. */
static int nccl__units_by_stream(struct nccl *n)
{
	uint32_t *order = calloc(n->kernels.nr + 1, sizeof(*order)), nr = 0, nr_streams = 0;
	struct idmap streams = { 0 }, told = { 0 };
	size_t i, nr_units = n->units.nr;
	int err = order ? 0 : -ENOMEM;
	uint32_t proc = NO_INDEX, any;

	for (i = 0; i < nr_units && err >= 0; i++)
		err = idmap__add(&told, n->units.v[i].proc, 0);
	err = min_t(int, err, 0);
	for (i = 0; i < n->kernels.nr && !err; i++)
		if (n->kernels.v[i].loose && n->kernels.v[i].collective &&
		    !idmap__get(&told, n->kernels.v[i].proc, &any))
			order[nr++] = i;
	if (!err)
		array__sort(order, nr, sizeof(*order), kernel__cmp_launch, n);
	for (i = 0; i < nr && !err; i++) {
		if (n->kernels.v[order[i]].proc != proc)
			nr_streams = 0;
		proc = n->kernels.v[order[i]].proc;
		err = nccl__add_loose(n, order[i], &streams, &nr_streams);
	}
	idmap__free(&streams);
	idmap__free(&told);
	free(order);
	return err;
}

/* Return: whether two kernels that are paired by their order have the same name. */
static bool unit__agrees_by_stream(const struct nccl *n, const struct model *m,
				   const struct nccl_unit *a, const struct nccl_unit *b)
{
	if (!a->by_stream || !b->by_stream || !a->nr_kernels || !b->nr_kernels)
		return false;
	return !strcmp(m->leaves.v[n->kernels.v[a->first_kernel].leaf].name,
		       m->leaves.v[n->kernels.v[b->first_kernel].leaf].name);
}

/* ---- graphs ---------------------------------------------------------------------------------- */

static int kernel__cmp_graph(const void *va, const void *vb)
{
	const struct nccl_kernel *a = va, *b = vb;

	return cmp3(a->graph != 0, b->graph != 0) ?: cmp3(a->graph, b->graph) ?:
	       cmp3(a->unit, b->unit) ?: cmp3(a->start_ns, b->start_ns);
}

/*
 * For each launch of a graph, makes a unit from each unit that was captured into the graph. Units
 * that were captured one after the other stay in order: they are made in that order, and all have
 * the time of the launch.
 */
static int nccl__run_graphs(struct nccl *n)
{
	struct nccl_unit unit;
	uint64_t graph = 0;
	uint32_t captured = NO_INDEX;
	int err = 0;

	array_each_while(&n->kernels, k, !err) {
		if (!k->graph || k->unit == NO_INDEX)
			continue;
		if (k->graph != graph || k->unit != captured) {
			graph = k->graph;
			captured = k->unit;
			n->units.v[captured].captured = true;
			unit = n->units.v[captured];
			unit.captured = false;
			unit.start_ns = k->launch_ns;
			unit.thread = k->thread;
			err = array_push(&n->units, unit);
		}
		k->unit = n->units.nr - 1;
	}
	return err;
}

/*
 * Leaves out copies and memsets that only set up a connection. If a unit has kernels, its copies
 * and memsets only set up connections. If it has no kernel, as with one rank or with copy engines,
 * its copies and memsets are the operation itself.
 */
static int nccl__leave_setup(struct nccl *n)
{
	bool *has_kernel = calloc(n->units.nr + 1, sizeof(*has_kernel));
	size_t i;

	if (!has_kernel)
		return -ENOMEM;
	for (i = 0; i < n->kernels.nr; i++)
		if (n->kernels.v[i].unit != NO_INDEX && n->kernels.v[i].kernel)
			has_kernel[n->kernels.v[i].unit] = true;
	array_each(&n->kernels, k) {
		if (k->unit == NO_INDEX || k->kernel || !has_kernel[k->unit])
			continue;
		k->unit = NO_INDEX;
		n->counts.nr_setup++;
		n->counts.setup_ns += k->duration_ns;
	}
	free(has_kernel);
	return 0;
}

/* ---- devices --------------------------------------------------------------------------------- */

static int kernel__cmp_unit(const void *va, const void *vb)
{
	const struct nccl_kernel *a = va, *b = vb;

	return cmp3(a->unit, b->unit) ?: cmp3(a->gpu, b->gpu) ?: cmp3(a->start_ns, b->start_ns) ?:
	       cmp3(a->duration_ns, b->duration_ns);
}

/*
 * Splits units so that each has one device: one thread may drive several ranks of a communicator.
 * Afterwards the kernels are sorted by unit, device and time.
 */
static int nccl__split_devices(struct nccl *n)
{
	struct nccl_unit unit;
	size_t i;
	int err = 0;

	array_qsort(&n->kernels, kernel__cmp_unit);
	for (i = 0; i < n->kernels.nr && !err && n->kernels.v[i].unit != NO_INDEX; i++) {
		struct nccl_kernel *k = &n->kernels.v[i];
		struct nccl_unit *u = &n->units.v[k->unit];

		if (u->gpu == NO_INDEX)
			u->gpu = k->gpu;
		if (u->gpu == k->gpu)
			continue;
		if (n->units.v[n->units.nr - 1].gpu == k->gpu &&
		    n->units.v[n->units.nr - 1].first_op == u->first_op &&
		    n->units.v[n->units.nr - 1].start_ns == u->start_ns) {
			k->unit = n->units.nr - 1;
			continue;
		}
		unit = *u;
		unit.gpu = k->gpu;
		k->unit = n->units.nr;
		err = array_push(&n->units, unit);
	}
	array_qsort(&n->kernels, kernel__cmp_unit);
	return err;
}

static void nccl__sum_kernels(struct nccl *n)
{
	size_t i;

	for (i = 0; i < n->kernels.nr && n->kernels.v[i].unit != NO_INDEX; i++) {
		const struct nccl_kernel *k = &n->kernels.v[i];
		struct nccl_unit *u = &n->units.v[k->unit];

		if (!u->nr_kernels) {
			u->first_kernel = i;
			u->begin_ns = k->start_ns;
			u->launch_ns = k->launch_ns;
		}
		u->nr_kernels++;
		u->busy_ns += k->duration_ns;
		u->begin_ns = min_t(uint64_t, u->begin_ns, k->start_ns);
		u->end_ns = max_t(uint64_t, u->end_ns, k->start_ns + k->duration_ns);
		u->launch_ns = min_t(uint64_t, u->launch_ns, k->launch_ns);
	}
}

/* ---- members --------------------------------------------------------------------------------- */

/* Sorts indices of units by communicator, process and time. */
static int unit__cmp_process(const void *va, const void *vb, void *ctx)
{
	const struct nccl *n = ctx;
	const uint32_t *ia = va, *ib = vb;
	const struct nccl_unit *a = &n->units.v[*ia], *b = &n->units.v[*ib];

	return cmp3(a->comm, b->comm) ?: cmp3(a->proc, b->proc) ?: cmp3(a->start_ns, b->start_ns) ?:
	       cmp3(*ia, *ib);
}

static int life__cmp(const void *va, const void *vb)
{
	const struct nccl_life *a = va, *b = vb;

	return cmp3(a->comm, b->comm) ?: cmp3(a->proc, b->proc) ?: cmp3(a->time_ns, b->time_ns) ?:
	       cmp3(a->kind, b->kind);
}

static bool nccl__is_incomplete(const struct nccl *n, uint32_t proc)
{
	return proc < n->incomplete.nr && n->incomplete.v[proc];
}

/*
 * The units of a communicator in a process, and the known creations and ends of the communicator in
 * this process.
 */
struct tenure {
	const uint32_t *units;
	size_t nr;
	const struct nccl_life *lives;
	size_t nr_lives;
	uint32_t first_member;		/* the first member of this tenure */
	uint32_t gpu;			/* the GPU of all its kernels; NO_INDEX: they ran on
					 * several GPUs */
};

static void tenure__find_lives(struct tenure *t, const struct nccl *n)
{
	const struct nccl_unit *u = &n->units.v[t->units[0]];
	size_t low = 0, high = n->lives.nr, mid;

	while (low < high) {
		const struct nccl_life *at;

		mid = low + (high - low) / 2;
		at = &n->lives.v[mid];
		if (at->comm < u->comm || (at->comm == u->comm && at->proc < u->proc))
			low = mid + 1;
		else
			high = mid;
	}
	t->lives = low < n->lives.nr ? &n->lives.v[low] : NULL;
	for (t->nr_lives = 0; low < n->lives.nr && n->lives.v[low].comm == u->comm &&
	     n->lives.v[low].proc == u->proc; low++)
		t->nr_lives++;
}

static void tenure__find_gpu(struct tenure *t, const struct nccl *n)
{
	size_t i;

	t->gpu = NO_INDEX;
	for (i = 0; i < t->nr; i++) {
		uint32_t gpu = n->units.v[t->units[i]].gpu;

		if (gpu == NO_INDEX || gpu == t->gpu)
			continue;
		if (t->gpu != NO_INDEX) {
			t->gpu = NO_INDEX;
			return;
		}
		t->gpu = gpu;
	}
}

/*
 * Sets the rank that the communicator's creation or end reports, if the process has only one rank.
 * The member's epoch begins with t->lives[@life].
 */
static void member__find_rank(struct nccl_member *member, const struct tenure *t, size_t life)
{
	bool alone = t->gpu != NO_INDEX;

	for (; life < t->nr_lives; life++) {
		const struct nccl_life *at = &t->lives[life];

		member->whole |= at->kind == NCCL_INIT;
		if (alone && at->own && member->rank >= 0 && member->rank != at->rank) {
			member->rank = -1;	/* several ranks in one process */
			alone = false;
		} else if (alone && at->own) {
			member->rank = at->rank;
			member->nr_ranks = at->nr_ranks;
		}
		if (at->kind == NCCL_DESTROY) {
			member->ended = at->orderly && t->gpu != NO_INDEX;
			return;
		}
	}
}

/* Finds or makes the member of a unit. Return: its index, or -ENOMEM. */
static int64_t tenure__member(struct tenure *t, struct nccl *n, const struct model *m,
			      uint32_t epoch, size_t first_life, const struct nccl_unit *u)
{
	uint32_t gpu = u->gpu == NO_INDEX ? t->gpu : u->gpu;
	struct nccl_member new = {
		.comm = u->comm, .epoch = epoch, .proc = u->proc, .gpu = gpu, .rank = -1,
		.nr_ranks = -1,
		.whole = m->machine.procs.v[u->proc].how != XPU_MISC_PROCESS_ATTACH,
	};
	size_t i;
	int err;

	for (i = n->members.nr; i-- > t->first_member && n->members.v[i].epoch == epoch;)
		if (n->members.v[i].gpu == gpu)
			return i;
	member__find_rank(&new, t, first_life);
	new.whole &= !nccl__is_incomplete(n, u->proc);
	err = array_push(&n->members, new);
	return err ?: (int64_t)n->members.nr - 1;
}

static int tenure__number(struct tenure *t, struct nccl *n, const struct model *m)
{
	size_t i, life = 0, first_life = 0;
	uint32_t epoch = 0;

	t->first_member = n->members.nr;
	tenure__find_lives(t, n);
	tenure__find_gpu(t, n);
	for (i = 0; i < t->nr; i++) {
		struct nccl_unit *u = &n->units.v[t->units[i]];
		struct nccl_member *member;
		int64_t idx;

		for (; life < t->nr_lives && t->lives[life].time_ns <= u->start_ns; life++) {
			if (t->lives[life].kind != NCCL_DESTROY)
				continue;
			epoch++;
			first_life = life + 1;
		}
		if (u->captured) {
			n->counts.nr_captured += u->nr_ops;
			continue;
		}
		idx = tenure__member(t, n, m, epoch, first_life, u);
		if (idx < 0)
			return idx;
		member = &n->members.v[idx];
		u->member = idx;
		u->seq = member->nr_collectives;
		member->nr_collectives += u->nr_collectives;
		member->nr_units++;
		n->counts.nr_ops += u->nr_ops;
	}
	return 0;
}

/* ---- communicators that are split ------------------------------------------------------------ */

/*
 * Return: index of the first life of @comm; if @comm has no life, index of the first life of the
 * next communicator.
 */
static size_t nccl__first_life(const struct nccl *n, uint64_t comm)
{
	size_t low = 0, high = n->lives.nr, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (n->lives.v[mid].comm < comm)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/*
 * Return: whether each of a communicator's @nr_ranks ranks is recorded. Lives are sorted by
 * communicator.
 */
static bool nccl__is_complete(const struct nccl *n, uint64_t comm, int32_t nr_ranks)
{
	int64_t nr = 0, sum = 0;
	uint32_t proc = NO_INDEX;
	size_t i;

	for (i = nccl__first_life(n, comm); i < n->lives.nr && n->lives.v[i].comm == comm; i++) {
		const struct nccl_life *l = &n->lives.v[i];

		if (l->kind != NCCL_INIT || !l->own)
			continue;
		/*
		 * Each process must create the communicator once, with one rank, and each rank must
		 * appear once.
		 */
		if (l->proc == proc || l->nr_ranks != nr_ranks || l->rank < 0 ||
		    l->rank >= nr_ranks)
			return false;
		proc = l->proc;
		nr++;
		sum += l->rank;
	}
	return nr == nr_ranks && sum == (int64_t)nr_ranks * (nr_ranks - 1) / 2;
}

static int life__cmp_split(const void *va, const void *vb, void *ctx)
{
	const struct nccl *n = ctx;
	const uint32_t *ia = va, *ib = vb;
	const struct nccl_life *a = &n->lives.v[*ia], *b = &n->lives.v[*ib];

	return cmp3(a->key, b->key) ?: cmp3(a->rank, b->rank) ?: cmp3(*ia, *ib);
}

/*
 * Lists the lives of one communicator that was split off, or nothing if the lives contradict each
 * other. Return: 0 or -ENOMEM.
 */
static int nccl__list_split(const struct nccl *n, size_t first, size_t end, indices *list)
{
	const struct nccl_life *one = NULL, *l;
	size_t i;
	int err = 0;

	list->nr = 0;
	for (i = first; i < end && !err; i++) {
		l = &n->lives.v[i];
		if (l->kind != NCCL_INIT)
			continue;
		if (!l->split ||
		    (one && (l->parent != one->parent || l->nr_ranks != one->nr_ranks ||
			     l->proc == n->lives.v[list->v[list->nr - 1]].proc))) {
			list->nr = 0;
			return 0;
		}
		one = one ?: l;
		err = array_push(list, (uint32_t)i);
	}
	return err;
}

/* Finds the ranks of processes in communicators that were split off. Return: 0 or -ENOMEM. */
static int nccl__split_ranks(struct nccl *n)
{
	indices list = { 0 };
	size_t i, k, end;
	int err = 0;

	for (i = 0; i < n->lives.nr && !err; i = end) {
		for (end = i; end < n->lives.nr && n->lives.v[end].comm == n->lives.v[i].comm;
		     end++)
			;
		err = nccl__list_split(n, i, end, &list);
		if (err || !list.nr || !nccl__is_complete(n, n->lives.v[list.v[0]].parent,
							  n->lives.v[list.v[0]].nr_ranks))
			continue;
		array__sort(list.v, list.nr, sizeof(*list.v), life__cmp_split, n);
		for (k = 0; k < list.nr; k++) {
			struct nccl_life *l = &n->lives.v[list.v[k]];

			l->own = true;
			l->split = false;
			l->rank = k;
			l->nr_ranks = list.nr;
		}
	}
	array_free(&list);
	return err;
}

/* Numbers each rank's operations. Return: 0 or -ENOMEM. */
static int nccl__number(struct nccl *n, const struct model *m)
{
	uint32_t *order = calloc(n->units.nr + 1, sizeof(*order));
	const struct nccl_unit *u;
	struct tenure t;
	size_t i, k;
	int err = 0;

	if (!order)
		return -ENOMEM;
	for (i = 0; i < n->units.nr; i++)
		order[i] = i;
	array__sort(order, n->units.nr, sizeof(*order), unit__cmp_process, n);
	array_qsort(&n->lives, life__cmp);
	err = nccl__split_ranks(n);
	for (i = 0; i < n->units.nr && !err; i = k) {
		u = &n->units.v[order[i]];
		for (k = i; k < n->units.nr && n->units.v[order[k]].comm == u->comm &&
		     n->units.v[order[k]].proc == u->proc; k++)
			;
		t = (struct tenure){ .units = order + i, .nr = k - i };
		err = tenure__number(&t, n, m);
	}
	free(order);
	return err;
}

/* ---- unknown operations ---------------------------------------------------------------------- */

/*
 * Finds, for each process, the last launch of an NCCL kernel whose operation is unknown. Launches
 * before the process's first known operation do not matter. Operations before the last such launch
 * cannot be counted from the end. Return: an allocated array of the launches' times, by process; 0:
 * no such launch.
 */
static uint64_t *nccl__unknown(const struct nccl *n, const struct model *m)
{
	uint64_t *unknown_ns = calloc(m->machine.procs.nr + 1, sizeof(*unknown_ns));
	uint64_t *first_ns = calloc(m->machine.procs.nr + 1, sizeof(*first_ns));
	size_t i;

	for (i = 0; unknown_ns && first_ns && i < n->units.nr; i++) {
		uint64_t *first = &first_ns[n->units.v[i].proc];

		if (!*first || n->units.v[i].start_ns < *first)
			*first = n->units.v[i].start_ns;
	}
	for (i = 0; unknown_ns && first_ns && i < n->kernels.nr; i++) {
		const struct nccl_kernel *k = &n->kernels.v[i];

		if (k->loose && k->unit == NO_INDEX && k->launch_ns >= first_ns[k->proc])
			unknown_ns[k->proc] = max_t(uint64_t, unknown_ns[k->proc], k->launch_ns);
	}
	if (!first_ns) {
		free(unknown_ns);
		unknown_ns = NULL;
	}
	free(first_ns);
	return unknown_ns;
}

/* ---- collectives ----------------------------------------------------------------------------- */

struct key {
	uint64_t comm;
	uint32_t epoch, seq, nr_collectives, unit;
};

static int key__cmp_place(const struct key *a, const struct key *b)
{
	return cmp3(a->comm, b->comm) ?: cmp3(a->epoch, b->epoch) ?: cmp3(a->seq, b->seq);
}

static int key__cmp(const void *va, const void *vb)
{
	const struct key *a = va, *b = vb;

	return key__cmp_place(a, b) ?: cmp3(a->nr_collectives, b->nr_collectives) ?:
	       cmp3(a->unit, b->unit);
}

/* Return: whether two units consist of the same collectives. */
static bool unit__agrees(const struct nccl *n, const struct model *m, const struct nccl_unit *a,
			 const struct nccl_unit *b)
{
	const struct nccl_op *x, *y, *x_end, *y_end;
	const struct ranges *ranges = &m->ranges;

	if (a->by_stream || b->by_stream)
		return unit__agrees_by_stream(n, m, a, b);
	x = &n->ops.v[a->first_op];
	y = &n->ops.v[b->first_op];
	x_end = x + a->nr_ops;
	y_end = y + b->nr_ops;
	for (;; x++, y++) {
		while (x < x_end && n->kinds.v[x->range] != NCCL_COLLECTIVE)
			x++;
		while (y < y_end && n->kinds.v[y->range] != NCCL_COLLECTIVE)
			y++;
		if (x == x_end || y == y_end)
			return x == x_end && y == y_end;
		if (ranges->list.v[x->range].name != ranges->list.v[y->range].name ||
		    nccl_op__payload(ranges, x)->bytes != nccl_op__payload(ranges, y)->bytes)
			return false;
	}
}

/* The state of a communicator while its operations are visited in order. */
struct comm_state {
	uint64_t comm;
	uint32_t epoch;
	uint32_t nr_members;
	bool older;			/* a rank's first operations are not recorded ... */
	bool from_end;			/* ... but the last operations of all ranks are recorded, up
					 * to the orderly end */
	bool disagrees;			/* ranks disagree about the current and all later
					 * operations */
};

static int member__cmp(const void *va, const void *vb, void *ctx)
{
	const struct nccl *n = ctx;
	const uint32_t *ia = va, *ib = vb;
	const struct nccl_member *a = &n->members.v[*ia], *b = &n->members.v[*ib];

	return cmp3(a->comm, b->comm) ?: cmp3(a->epoch, b->epoch) ?: cmp3(*ia, *ib);
}

typedef ARRAY(struct comm_state) comm_states;

/* Lists the communicators in order. Return: 0 or -ENOMEM. */
static int nccl__comm_states(struct nccl *n, comm_states *states)
{
	uint32_t *order = calloc(n->members.nr + 1, sizeof(*order));
	struct comm_state *last = NULL;
	int err = order ? 0 : -ENOMEM;
	size_t i;

	for (i = 0; i < n->members.nr && !err; i++)
		order[i] = i;
	if (!err)
		array__sort(order, n->members.nr, sizeof(*order), member__cmp, n);
	for (i = 0; i < n->members.nr && !err; i++) {
		const struct nccl_member *member = &n->members.v[order[i]];

		if (!last || last->comm != member->comm || last->epoch != member->epoch) {
			err = array_push(states, ((struct comm_state){ member->comm, member->epoch,
								       .nr_members = 0 }));
			if (err)
				break;
			last = &states->v[states->nr - 1];
		}
		last->nr_members++;
		last->older |= !member->whole;
	}
	free(order);
	return err;
}

static int comm_state__cmp(const void *va, const void *vb)
{
	const struct comm_state *a = va, *b = vb;

	return cmp3(a->comm, b->comm) ?: cmp3(a->epoch, b->epoch);
}

static struct comm_state *comm_states__of(const comm_states *states, uint64_t comm, uint32_t epoch)
{
	const struct comm_state key = { .comm = comm, .epoch = epoch };

	return states->nr ?
	       bsearch(&key, states->v, states->nr, sizeof(*states->v), comm_state__cmp) : NULL;
}

/*
 * Finds the communicators whose operations are counted backwards from the end. A communicator whose
 * id is used again is excluded, because a rank may not know how often the communicator was made.
 */
static void comm_states__from_end(comm_states *states, const struct nccl *n)
{
	struct comm_state *state;
	size_t i;

	for (i = 0; i < states->nr; i++) {
		state = &states->v[i];
		state->from_end = state->older && !state->epoch &&
			(i + 1 == states->nr || state[1].comm != state->comm);
	}
	array_each(&n->members, member) {
		state = comm_states__of(states, member->comm, member->epoch);
		state->from_end &= member->ended && !nccl__is_incomplete(n, member->proc);
	}
}

/* Makes a meeting of the units @keys[0..@nr). Return: 0 or -ENOMEM. */
static int nccl__meet(struct nccl *n, const struct key *keys, size_t nr)
{
	struct nccl_meeting meeting = { .first = n->met.nr, .nr = nr, .last = NO_INDEX };
	size_t i;
	int err = 0;

	for (i = 0; i < nr && !err; i++) {
		struct nccl_unit *u = &n->units.v[keys[i].unit];

		u->meeting = n->meetings.nr;
		u->paired = true;
		err = array_push(&n->met, keys[i].unit);
	}
	return err ?: array_push(&n->meetings, meeting);
}

/* Counts the collectives of units that are not paired, by reason. */
static void nccl__leave(struct nccl *n, const struct key *keys, size_t nr,
			const struct comm_state *state)
{
	uint64_t *why = state->nr_members < 2 ? &n->counts.nr_alone :
			state->older && !state->from_end ? &n->counts.nr_older :
			state->disagrees ? &n->counts.nr_disagree :
			state->from_end ? &n->counts.nr_late : &n->counts.nr_missing;
	size_t i;

	for (i = 0; i < nr; i++)
		*why += n->units.v[keys[i].unit].by_stream ? 0 : keys[i].nr_collectives;
}

/* Pairs the units @keys[0..@nr), which have the same number in one communicator. */
static int nccl__pair_place(struct nccl *n, const struct model *m, const struct key *keys,
			    size_t nr, struct comm_state *state)
{
	bool counted = !state->older || state->from_end;
	size_t i;

	for (i = 1; i < nr && !state->disagrees; i++)
		state->disagrees = counted &&
			(keys[i].nr_collectives != keys[0].nr_collectives ||
			 !unit__agrees(n, m, &n->units.v[keys[0].unit], &n->units.v[keys[i].unit]));
	if (nr > 1 && counted && !state->disagrees) {
		for (i = 0; i < nr; i++)
			n->counts.nr_from_end += state->from_end ? keys[i].nr_collectives : 0;
		return nccl__meet(n, keys, nr);
	}
	nccl__leave(n, keys, nr, state);
	return 0;
}

/*
 * Return: how many collectives come before a unit on its rank; with @from_end, how many come after
 * it.
 */
static uint32_t unit__place(const struct nccl *n, const struct nccl_unit *u, bool from_end)
{
	return from_end ?
	       n->members.v[u->member].nr_collectives - u->seq - u->nr_collectives : u->seq;
}

static int nccl__pair_collectives(struct nccl *n, const struct model *m, const comm_states *states,
				  const uint64_t *unknown_ns)
{
	ARRAY(struct key) keys = { 0 };
	size_t i, k;
	int err = 0;

	for (i = 0; i < n->units.nr && !err; i++) {
		const struct nccl_unit *u = &n->units.v[i];
		const struct comm_state *state;
		uint32_t epoch;

		if (u->member == NO_INDEX || !u->nr_collectives)
			continue;
		epoch = n->members.v[u->member].epoch;
		state = comm_states__of(states, u->comm, epoch);
		if (state->from_end && u->start_ns <= unknown_ns[u->proc])
			n->counts.nr_late += u->nr_collectives;
		else
			err = array_push(&keys, ((struct key){
				u->comm, epoch, unit__place(n, u, state->from_end),
				u->nr_collectives, i,
			}));
	}
	array_qsort(&keys, key__cmp);
	for (i = 0; i < keys.nr && !err; i = k) {
		for (k = i; k < keys.nr && !key__cmp_place(&keys.v[i], &keys.v[k]); k++)
			;
		err = nccl__pair_place(n, m, keys.v + i, k - i,
				       comm_states__of(states, keys.v[i].comm, keys.v[i].epoch));
	}
	array_free(&keys);
	return err;
}

/* ---- clocks ---------------------------------------------------------------------------------- */

/* Finds the clock of each process, and notes all clocks. Return: an allocated array, or NULL. */
static uint32_t *nccl__clocks(struct nccl *n, const struct model *m)
{
	uint32_t *by_proc = calloc(m->machine.procs.nr + 1, sizeof(*by_proc));
	size_t i, k;

	for (i = 0; by_proc && i < m->machine.procs.nr; i++) {
		const struct input *in = &m->inputs.v[m->machine.procs.v[i].recording], *other;

		for (k = 0; k < n->clocks.list.nr; k++) {
			other = &m->inputs.v[n->clocks.list.v[k].input];
			if (in->host_nr == other->host_nr && in->shift_ns == other->shift_ns)
				break;
		}
		if (k == n->clocks.list.nr &&
		    nccl_clocks__add(&n->clocks, m->machine.procs.v[i].recording)) {
			free(by_proc);
			return NULL;
		}
		by_proc[i] = k;
	}
	return by_proc;
}

/* Return: whether all ranks of an operation called @name end together. */
static bool ends_together(const char *name)
{
	static const char *const names[] = {
		"NCCL:ncclAllReduce", "NCCL:ncclAllGather", "NCCL:ncclReduceScatter",
		"NCCL:ncclAlltoAll",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

/* Adds the differences between the clocks at the end of one meeting. */
static int nccl__add_ends(struct nccl *n, const struct ranges *ranges,
			  const struct nccl_meeting *meeting, const uint32_t *clocks,
			  uint64_t *ends)
{
	const struct nccl_unit *u = &n->units.v[n->met.v[meeting->first]];
	uint32_t first = NO_INDEX, i, clock;
	int err = 0;

	if (u->nr_ops != 1 || !ends_together(ranges__name(ranges, n->ops.v[u->first_op].range)))
		return 0;
	for (i = 0; i < meeting->nr; i++) {
		u = &n->units.v[n->met.v[meeting->first + i]];
		clock = clocks[u->proc];
		if (!u->nr_kernels)
			continue;
		ends[clock] = max_t(uint64_t, ends[clock], u->end_ns);
		first = min_t(uint32_t, first, clock);
	}
	for (i = 0; i < meeting->nr; i++) {
		clock = clocks[n->units.v[n->met.v[meeting->first + i]].proc];
		if (clock != first && ends[clock] && !err)
			err = array_push(&n->clocks.ends, ((struct nccl_ends){
				first, clock, ends[first], ends[clock] - ends[first] }));
		if (clock != first)
			ends[clock] = 0;
	}
	if (first != NO_INDEX)
		ends[first] = 0;
	return err;
}

static int nccl__align(struct nccl *n, const struct model *m)
{
	uint32_t *clocks = nccl__clocks(n, m);
	uint64_t *ends = calloc(n->clocks.list.nr + 1, sizeof(*ends));
	size_t i, step;
	int err = clocks && ends ? 0 : -ENOMEM;

	step = n->met.nr / MAX_ENDS + 1;
	for (i = 0; i < n->meetings.nr && n->clocks.list.nr > 1 && !err; i += step)
		err = nccl__add_ends(n, &m->ranges, &n->meetings.v[i], clocks, ends);
	err = err ?: nccl_clocks__align(&n->clocks);
	array_each_while(&n->units, u, !err) {
		if (u->nr_kernels)
			u->shift_ns = -nccl_clocks__ahead(&n->clocks, clocks[u->proc], u->end_ns);
	}
	array_free(&n->clocks.ends);
	free(ends);
	free(clocks);
	return err;
}

/* ---- waits ----------------------------------------------------------------------------------- */

static uint64_t unit__begin(const struct nccl_unit *u)
{
	return u->begin_ns + u->shift_ns;
}

/*
 * Splits the time of a unit's kernels into waiting and transfer. The waiting ends when the unit
 * @last begins, on the aligned clock.
 */
static void unit__wait(struct nccl *n, struct nccl_unit *u, uint32_t last)
{
	uint64_t until_ns = unit__begin(&n->units.v[last]) - u->shift_ns;	/* end of the unit's
										 * wait, by the
										 * unit's clock */
	uint32_t i;

	for (i = u->first_kernel; i < u->first_kernel + u->nr_kernels; i++) {
		struct nccl_kernel *k = &n->kernels.v[i];

		if (k->start_ns >= until_ns)
			continue;
		k->wait_ns = min_t(uint64_t, until_ns - k->start_ns, k->duration_ns);
		u->wait_ns += k->wait_ns;
	}
	if (u->wait_ns) {
		u->waited_for = last;
		n->units.v[last].caused_ns += u->wait_ns;
	}
}

static int unit__cmp_begin(const void *va, const void *vb, void *ctx)
{
	const struct nccl *n = ctx;
	const uint32_t *ia = va, *ib = vb;

	return cmp3(unit__begin(&n->units.v[*ia]), unit__begin(&n->units.v[*ib])) ?: cmp3(*ia, *ib);
}

/*
 * Finds the waits of the units of a meeting. A unit, such as the root of a broadcast, may end
 * before the last unit begins. Such a unit waited only until the start of the last unit that began
 * before the waiting unit ended.
 */
static void meeting__waits(struct nccl *n, struct nccl_meeting *meeting)
{
	uint32_t *v = n->met.v + meeting->first, nr = 0, i, k;

	for (i = 0; i < meeting->nr; i++) {	/* put units with kernels first */
		uint32_t unit = v[i];

		if (!n->units.v[unit].nr_kernels)
			continue;
		v[i] = v[nr];
		v[nr++] = unit;
	}
	if (nr < 1)
		return;
	array__sort(v, nr, sizeof(*v), unit__cmp_begin, n);
	meeting->last = v[nr - 1];
	meeting->begin_ns = unit__begin(&n->units.v[v[0]]);
	for (i = 0; i < nr; i++) {
		struct nccl_unit *u = &n->units.v[v[i]];

		for (k = nr - 1; k > i && unit__begin(&n->units.v[v[k]]) >= u->end_ns + u->shift_ns;
		     k--)
			;
		if (k > i)
			unit__wait(n, u, v[k]);
		meeting->wait_ns += u->wait_ns;
	}
}

/* ---- sends and receives ---------------------------------------------------------------------- */

/* one side of a transfer between two ranks */
struct side {
	uint64_t comm;
	uint32_t epoch;
	int32_t from, to;
	uint32_t nr;			/* the side's number among the sends, or among the receives,
					 * between these ranks */
	uint32_t unit;
	uint64_t bytes;
	bool receives;
	bool from_end;			/* @nr is counted backwards from the last side */
	uint64_t order;
};

static int side__cmp_ranks(const struct side *a, const struct side *b)
{
	return cmp3(a->comm, b->comm) ?: cmp3(a->epoch, b->epoch) ?: cmp3(a->from, b->from) ?:
	       cmp3(a->to, b->to);
}

static int side__cmp_order(const void *va, const void *vb)
{
	const struct side *a = va, *b = vb;

	return side__cmp_ranks(a, b) ?: cmp3(a->receives, b->receives) ?: cmp3(a->order, b->order);
}

static int side__cmp_pair(const void *va, const void *vb)
{
	const struct side *a = va, *b = vb;

	return side__cmp_ranks(a, b) ?: cmp3(a->nr, b->nr) ?: cmp3(a->receives, b->receives);
}

typedef ARRAY(struct side) sides_t;

/* Return: whether sends and receives of that unit are left out. Counts them by reason. */
static bool nccl__leave_side(struct nccl *n, const struct nccl_unit *u,
			     const struct comm_state *state, const struct xpu_range_payload *p,
			     uint64_t unknown_ns)
{
	const struct nccl_member *member = &n->members.v[u->member];

	if (state->nr_members < 2)
		n->counts.nr_alone++;
	else if (state->older && !state->from_end)
		n->counts.nr_older++;
	else if (state->from_end && u->start_ns <= unknown_ns)
		n->counts.nr_late++;
	else if (member->rank < 0 || !(p->fields & XPU_COLLECTIVE_PEER))
		n->counts.nr_no_rank++;
	else
		return false;
	return true;
}

/* Lists sends and receives, in the order in which each rank called them. Return: 0 or -ENOMEM. */
static int nccl__sides(struct nccl *n, const struct ranges *ranges, const comm_states *states,
		       const uint64_t *unknown_ns, sides_t *sides)
{
	const struct comm_state *state = NULL;
	size_t i, k;
	int err = 0;

	for (i = 0; i < n->units.nr; i++) {
		const struct nccl_unit *u = &n->units.v[i];

		if (u->member != NO_INDEX)
			state = comm_states__of(states, u->comm, n->members.v[u->member].epoch);

		for (k = u->first_op; u->member != NO_INDEX && k < u->first_op + u->nr_ops && !err;
		     k++) {
			const struct xpu_range_payload *p = nccl_op__payload(ranges, &n->ops.v[k]);
			enum nccl_kind kind = n->kinds.v[n->ops.v[k].range];
			const struct nccl_member *member = &n->members.v[u->member];

			if (kind == NCCL_COLLECTIVE ||
			    nccl__leave_side(n, u, state, p, unknown_ns[u->proc]))
				continue;
			err = array_push(sides, ((struct side){
				.comm = u->comm, .epoch = member->epoch, .unit = i,
				.bytes = p->bytes,
				.from = kind == NCCL_SEND ? member->rank : p->peer,
				.to = kind == NCCL_SEND ? p->peer : member->rank,
				.receives = kind == NCCL_RECV, .from_end = state->from_end,
				.order = state->from_end ? ~u->start_ns : u->start_ns,
			}));
		}
	}
	/* Calls of one unit have the same time, and stay in their order. */
	for (i = 0; i < sides->nr; i++)
		sides->v[i].nr = sides->v[i].from_end ? UINT32_MAX - i : i;
	return err;
}

static int side__cmp_stable(const void *va, const void *vb)
{
	const struct side *a = va, *b = vb;

	return side__cmp_order(a, b) ?: cmp3(a->nr, b->nr);
}

/* a unit, and another unit that it sends to or receives from */
struct edge {
	uint32_t unit, other;
};

static int edge__cmp(const void *va, const void *vb, void *ctx)
{
	const struct nccl *n = ctx;
	const struct edge *a = va, *b = vb;

	return cmp3(a->unit, b->unit) ?:
	       cmp3(unit__begin(&n->units.v[b->other]), unit__begin(&n->units.v[a->other])) ?:
	       cmp3(a->other, b->other);
}

typedef ARRAY(struct edge) edges_t;

static int nccl__pair_sides(struct nccl *n, sides_t *sides, edges_t *edges)
{
	uint32_t nr = 0;
	size_t i;
	int err = 0;

	if (!sides->nr)
		return 0;
	array_qsort(sides, side__cmp_stable);
	for (i = 0; i < sides->nr; i++) {
		struct side *at = &sides->v[i];

		nr = i && !side__cmp_ranks(at - 1, at) && at[-1].receives == at->receives ?
		     nr + 1 : 0;
		at->nr = nr;
	}
	array_qsort(sides, side__cmp_pair);
	for (i = 0; i < sides->nr && !err; i++) {
		const struct side *a = &sides->v[i], *b = a + 1;

		if (i + 1 == sides->nr || side__cmp_ranks(a, b) || a->nr != b->nr ||
		    a->receives == b->receives || a->bytes != b->bytes) {
			*(a->from_end ? &n->counts.nr_late : &n->counts.nr_missing) += 1;
			continue;
		}
		i++;
		n->counts.nr_paired += 2;
		n->counts.nr_from_end += a->from_end ? 2 : 0;
		n->units.v[a->unit].paired = n->units.v[b->unit].paired = true;
		if (a->unit == b->unit)
			continue;
		err = array_push(edges, ((struct edge){ a->unit, b->unit })) ?:
		      array_push(edges, ((struct edge){ b->unit, a->unit }));
	}
	return err;
}

/*
 * Notes how long each unit waited for its partners in sends and receives: until the last partner
 * began.
 */
static void nccl__wait_sides(struct nccl *n, edges_t *edges)
{
	size_t i;

	array__sort(edges->v, edges->nr, sizeof(*edges->v), edge__cmp, n);
	for (i = 0; i < edges->nr; i++) {
		struct nccl_unit *u = &n->units.v[edges->v[i].unit];
		const struct nccl_unit *other = &n->units.v[edges->v[i].other];

		if (u->meeting != NO_INDEX || u->waited_for != NO_INDEX || !u->nr_kernels ||
		    !other->nr_kernels || unit__begin(other) <= unit__begin(u) ||
		    unit__begin(other) >= u->end_ns + u->shift_ns)
			continue;
		unit__wait(n, u, edges->v[i].other);
	}
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void nccl__count(struct nccl *n)
{
	array_each(&n->units, u) {
		if (u->member == NO_INDEX)
			continue;
		if (!u->paired) {
			n->counts.unpaired_ns += u->busy_ns;
			continue;
		}
		if (u->by_stream)
			n->counts.nr_by_stream++;
		else if (u->meeting != NO_INDEX)
			n->counts.nr_paired += u->nr_collectives;
		n->counts.nr_no_kernel += u->nr_kernels ? 0 : u->nr_ops;
		n->counts.paired_ns += u->busy_ns;
		n->counts.wait_ns += u->wait_ns;
	}
}

int nccl__finish(struct nccl *n, const struct model *m)
{
	comm_states states = { 0 };
	sides_t sides = { 0 };
	edges_t edges = { 0 };
	uint64_t *unknown_ns = NULL;
	size_t i;
	int err;

	if (!n->wanted && !n->loose)
		return 0;
	err = nccl__own_threads(n, m) ?: nccl__share_groups(n) ?: nccl__units_by_stream(n);
	if (!err) {
		array_qsort(&n->kernels, kernel__cmp_graph);
		err = nccl__run_graphs(n) ?: nccl__leave_setup(n) ?: nccl__split_devices(n);
	}
	if (!err) {
		nccl__sum_kernels(n);
		unknown_ns = nccl__unknown(n, m);
		err = !unknown_ns ? -ENOMEM : nccl__number(n, m) ?: nccl__comm_states(n, &states);
	}
	if (!err) {
		comm_states__from_end(&states, n);
		err = nccl__pair_collectives(n, m, &states, unknown_ns) ?: nccl__align(n, m) ?:
		      nccl__sides(n, &m->ranges, &states, unknown_ns, &sides);
	}
	for (i = 0; i < n->meetings.nr && !err; i++)
		meeting__waits(n, &n->meetings.v[i]);
	if (!err && sides.nr)
		err = nccl__pair_sides(n, &sides, &edges);
	if (!err && edges.nr)
		nccl__wait_sides(n, &edges);
	if (!err)
		nccl__count(n);
	array_free(&states);
	array_free(&sides);
	array_free(&edges);
	free(unknown_ns);
	return err;
}
