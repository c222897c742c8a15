// SPDX-License-Identifier: GPL-3.0-or-later
#include "ranks/nccl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_GROUP	1024		/* maximum number of communicators in a group */

/* ---- ranges ---------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	enum nccl_kind kind;
} known[] = {
	{ "ncclSend", NCCL_SEND },
	{ "ncclRecv", NCCL_RECV },
	{ "ncclGroupStart", NCCL_GROUP_START },
	{ "ncclGroupEnd", NCCL_GROUP_END },
	{ "ncclGroupSimulateEnd", NCCL_GROUP_END },
	{ "ncclCommDestroy", NCCL_DESTROY },
	{ "ncclCommAbort", NCCL_DESTROY },
	{ "ncclAllGather", NCCL_COLLECTIVE },
	{ "ncclAllReduce", NCCL_COLLECTIVE },
	{ "ncclAlltoAll", NCCL_COLLECTIVE },
	{ "ncclBroadcast", NCCL_COLLECTIVE },
	{ "ncclGather", NCCL_COLLECTIVE },
	{ "ncclReduce", NCCL_COLLECTIVE },
	{ "ncclReduceScatter", NCCL_COLLECTIVE },
	{ "ncclScatter", NCCL_COLLECTIVE },
};

static bool has_comm(const struct xpu_record_range *rec)
{
	const struct xpu_range_payload *payload = range__payload(rec);

	return payload && payload->fields & XPU_COLLECTIVE_COMM && payload->comm;
}

bool nccl__is_range(const struct xpu_record_range *rec)
{
	return rec && !strcmp(rec->data + rec->name_bytes, "NCCL");
}

static enum nccl_kind range__kind(const struct xpu_record_range *rec)
{
	size_t i;

	if (!nccl__is_range(rec))
		return NCCL_NONE;
	if (!strncmp(rec->data, "ncclCommInitRank", 16) || !strcmp(rec->data, "ncclCommSplit") ||
	    !strcmp(rec->data, "ncclCommInitAll") || !strcmp(rec->data, "ncclCommGrow"))
		return NCCL_INIT;
	for (i = 0; i < ARRAY_SIZE(known); i++) {
		if (strcmp(known[i].name, rec->data))
			continue;
		return nccl_kind__is_op(known[i].kind) && !has_comm(rec) ?
		       NCCL_OTHER : known[i].kind;
	}
	return NCCL_OTHER;
}

enum nccl_kind nccl__kind(struct nccl *n, const struct ranges *ranges, uint32_t range)
{
	while (n->kinds.nr <= range)
		if (array_push(&n->kinds, NCCL_UNKNOWN))
			return NCCL_NONE;
	if (n->kinds.v[range] == NCCL_UNKNOWN)
		n->kinds.v[range] = range__kind(ranges->list.v[range].rec);
	return n->kinds.v[range];
}

const struct xpu_range_payload *nccl_op__payload(const struct ranges *ranges,
						 const struct nccl_op *op)
{
	return range__payload(ranges->list.v[op->range].rec);
}

/* ---- calls become units ---------------------------------------------------------------------- */

static struct nccl_thread *nccl__thread(struct nccl *n, uint32_t thread)
{
	static const struct nccl_thread none;

	while (n->threads.nr <= thread)
		if (array_push(&n->threads, none))
			return NULL;
	return &n->threads.v[thread];
}

static int nccl__add_unit(struct nccl *n, uint64_t comm, uint32_t proc, uint32_t thread,
			  uint64_t start_ns)
{
	n->wanted = true;
	return array_push(&n->units, ((struct nccl_unit){
		.comm = comm, .start_ns = start_ns, .proc = proc, .thread = thread,
		.first_op = n->ops.nr, .gpu = NO_INDEX, .member = NO_INDEX,
		.waited_for = NO_INDEX, .meeting = NO_INDEX,
	}));
}

static int nccl__add_op(struct nccl *n, uint32_t range)
{
	struct nccl_unit *unit = &n->units.v[n->units.nr - 1];

	unit->nr_ops++;
	unit->nr_collectives += n->kinds.v[range] == NCCL_COLLECTIVE;
	return array_push(&n->ops, ((struct nccl_op){ range, n->units.nr - 1 }));
}

/*
 * Makes a unit for each communicator of a group, in the order in which the communicators first
 * appear. @end: the call that ends the group
 */
static int nccl__end_group(struct nccl *n, const struct ranges *ranges, struct nccl_thread *t,
			   struct nccl_call *end, uint32_t proc, uint32_t thread)
{
	size_t i, k;
	int err = 0;

	end->unit = n->units.nr;
	for (i = 0; i < t->pending.nr && n->units.nr - end->unit < MAX_GROUP && !err; i++) {
		const struct nccl_call *call;
		uint64_t comm;

		if (t->pending.v[i].range == NO_INDEX)	/* already taken */
			continue;
		call = &t->calls.v[t->pending.v[i].unit];
		comm = nccl_op__payload(ranges, &t->pending.v[i])->comm;
		err = nccl__add_unit(n, comm, proc, thread, call->start_ns);
		for (k = i; k < t->pending.nr && !err; k++) {
			if (t->pending.v[k].range == NO_INDEX ||
			    nccl_op__payload(ranges, &t->pending.v[k])->comm != comm)
				continue;
			t->calls.v[t->pending.v[k].unit].unit = n->units.nr - 1;
			err = nccl__add_op(n, t->pending.v[k].range);
			t->pending.v[k].range = NO_INDEX;
		}
	}
	t->pending.nr = 0;
	end->nr_units = n->units.nr - end->unit;
	return err;
}

static int nccl__add_life(struct nccl *n, const struct ranges *ranges, uint32_t proc,
			  uint32_t range, uint64_t time_ns)
{
	const struct xpu_record_range *rec = ranges->list.v[range].rec;
	const struct xpu_range_payload *p = range__payload(rec);
	uint32_t both = XPU_COLLECTIVE_RANK | XPU_COLLECTIVE_NR_RANKS;
	uint32_t split = both | XPU_COLLECTIVE_KEY | XPU_COLLECTIVE_PARENT;
	bool is_split = !strcmp(rec->data, "ncclCommSplit");

	if (!has_comm(rec))
		return 0;
	return array_push(&n->lives, ((struct nccl_life){
		.comm = p->comm, .time_ns = time_ns, .proc = proc, .kind = n->kinds.v[range],
		/* The payload of ncclCommSplit() has the rank in the communicator that is split. */
		.own = (p->fields & both) == both && !is_split,
		.split = (p->fields & split) == split && is_split, .parent = p->bytes,
		.key = p->root, .orderly = !strcmp(rec->data, "ncclCommDestroy"),
		.rank = p->rank, .nr_ranks = p->nr_ranks,
	}));
}

int nccl__open(struct nccl *n, const struct ranges *ranges, uint32_t proc, uint32_t thread,
	       uint32_t range, uint64_t time_ns)
{
	enum nccl_kind kind = nccl__kind(n, ranges, range);
	struct nccl_call call = { time_ns, UINT64_MAX, range, NO_INDEX, 0 };
	struct nccl_thread *t;
	int err = 0;

	if (kind == NCCL_NONE)
		return 0;
	t = nccl__thread(n, thread);
	if (!t)
		return -ENOMEM;
	if (kind == NCCL_GROUP_START) {
		t->depth++;
	} else if (kind == NCCL_GROUP_END) {
		t->depth -= t->depth > 0;
		if (!t->depth)
			err = nccl__end_group(n, ranges, t, &call, proc, thread);
	} else if (kind == NCCL_DESTROY) {
		err = nccl__add_life(n, ranges, proc, range, time_ns);
	} else if (nccl_kind__is_op(kind) && t->depth) {
		err = array_push(&t->pending, ((struct nccl_op){ range, t->calls.nr }));
	} else if (nccl_kind__is_op(kind)) {
		call.unit = n->units.nr;
		call.nr_units = 1;
		err = nccl__add_unit(n, range__payload(ranges->list.v[range].rec)->comm, proc,
				     thread, time_ns) ?: nccl__add_op(n, range);
	}
	return err ?: array_push(&t->calls, call);
}

void nccl__close(struct nccl *n, const struct ranges *ranges, uint32_t thread, uint32_t range,
		 uint64_t time_ns)
{
	struct nccl_thread *t;
	size_t i;

	if (nccl__kind(n, ranges, range) == NCCL_NONE || thread >= n->threads.nr)
		return;
	t = &n->threads.v[thread];
	for (i = t->calls.nr; i--;) {
		if (t->calls.v[i].range != range || t->calls.v[i].end_ns != UINT64_MAX)
			continue;
		t->calls.v[i].end_ns = time_ns;
		return;
	}
}

int nccl__mark(struct nccl *n, const struct ranges *ranges, uint32_t proc, uint32_t range,
	       uint64_t time_ns)
{
	enum nccl_kind kind = nccl__kind(n, ranges, range);

	return kind == NCCL_INIT || kind == NCCL_DESTROY ?
	       nccl__add_life(n, ranges, proc, range, time_ns) : 0;
}

/* ---- launches and kernels -------------------------------------------------------------------- */

/*
 * Return: the innermost NCCL range among @range and the ranges around it; otherwise NO_RANGE.
 */
static uint32_t nccl__innermost(struct nccl *n, const struct ranges *ranges, uint32_t range)
{
	uint32_t depth;

	for (depth = 0; range != NO_RANGE && depth < MAX_RANGES; depth++) {
		if (nccl__kind(n, ranges, range) != NCCL_NONE)
			return range;
		range = ranges->list.v[range].parent;
	}
	return NO_RANGE;
}

/* Return: index of the call of @range that was open at @time_ns, or NO_INDEX. */
static uint32_t thread__call(const struct nccl_thread *t, uint32_t range, uint64_t time_ns)
{
	size_t low = 0, high = t->calls.nr, mid, nr_back;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (t->calls.v[mid].start_ns <= time_ns)
			low = mid + 1;
		else
			high = mid;
	}
	for (nr_back = 0; low-- && nr_back < MAX_RANGES; nr_back++)
		if (t->calls.v[low].range == range && t->calls.v[low].end_ns >= time_ns)
			return low;
	return NO_INDEX;
}

int nccl__launch(struct nccl *n, const struct ranges *ranges, uint64_t key, uint32_t thread,
		 uint32_t range, uint64_t time_ns)
{
	struct nccl_placed placed = { thread, NO_INDEX };
	int err;

	if (!n->wanted)
		return 0;
	range = nccl__innermost(n, ranges, range);
	if (range == NO_RANGE || (!nccl_kind__is_op(n->kinds.v[range]) &&
				       n->kinds.v[range] != NCCL_GROUP_END))
		return 0;
	if (thread < n->threads.nr)
		placed.call = thread__call(&n->threads.v[thread], range, time_ns);
	if (placed.call == NO_INDEX) {
		n->counts.nr_launches_unplaced++;
		return 0;
	}
	err = idmap__add(&n->launches, key, n->placed.nr);
	return err <= 0 ? err : array_push(&n->placed, placed);
}

static uint32_t nccl_call__last_unit(const struct nccl_call *call)
{
	return call->unit + (call->nr_units ? call->nr_units - 1 : 0);
}

const struct nccl_call *nccl__call(const struct nccl *n, uint64_t key)
{
	const struct nccl_placed *placed;
	const struct nccl_call *call;
	uint32_t i;

	if (!idmap__get(&n->launches, key, &i))
		return NULL;
	placed = &n->placed.v[i];
	call = &n->threads.v[placed->thread].calls.v[placed->call];
	/* A group without operations has no units. */
	return call->unit != NO_INDEX && call->unit < n->units.nr &&
	       nccl_call__last_unit(call) < n->units.nr ? call : NULL;
}

int nccl__kernel(struct nccl *n, const struct nccl_call *call, const struct nccl_kernel *kernel)
{
	struct nccl_kernel k = *kernel;

	k.unit = call->unit;
	k.last_unit = nccl_call__last_unit(call);
	return array_push(&n->kernels, k);
}

int nccl__loose_kernel(struct nccl *n, const struct nccl_kernel *kernel)
{
	struct nccl_kernel k = *kernel;

	k.unit = k.last_unit = NO_INDEX;
	k.graph = 0;
	k.loose = true;
	n->loose = true;
	return array_push(&n->kernels, k);
}

int nccl__lose(struct nccl *n, uint32_t proc)
{
	while (n->incomplete.nr <= proc)
		if (array_push(&n->incomplete, false))
			return -ENOMEM;
	n->incomplete.v[proc] = true;
	return 0;
}

void nccl__exit(struct nccl *n)
{
	size_t i;

	for (i = 0; i < n->threads.nr; i++) {
		array_free(&n->threads.v[i].calls);
		array_free(&n->threads.v[i].pending);
	}
	array_free(&n->kinds);
	array_free(&n->threads);
	array_free(&n->ops);
	array_free(&n->units);
	array_free(&n->kernels);
	array_free(&n->lives);
	array_free(&n->members);
	array_free(&n->meetings);
	array_free(&n->met);
	array_free(&n->placed);
	array_free(&n->incomplete);
	idmap__free(&n->launches);
	nccl_clocks__exit(&n->clocks);
}
