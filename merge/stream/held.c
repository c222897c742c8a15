// SPDX-License-Identifier: GPL-3.0-or-later
#include "stream/held.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "record.h"
#include "stream/carry.h"
#include "util.h"

#define MAX_LAUNCHES	4096		/* maximum number of launches in one record */
#define BATCH_BYTES	(60u * 1024)	/* maximum size of the records in a batch written here */
#define GRAPH_NS	60000000000ull	/* maximum time between device records of a graph launch */
#define WORKS_NS	10000000000ull	/* maximum time that device records wait for their launch */

enum held_state {
	HELD_OPEN,			/* held: a launch that has no device work so far */
	HELD_SERVED,			/* a launch that was written with its device work */
	HELD_GRAPH,			/* like HELD_SERVED; more device work may arrive */
	HELD_WORKS,			/* held: device records that have no launch so far */
	HELD_GONE,			/* written; later records of this entry are not held */
};

/* A held device record. */
struct held_work {
	struct held_work *next;
	uint64_t time_ns;		/* time_ns, tid and ns_tid are copied from the batch */
	uint32_t tid, ns_tid;
	struct xpu_record rec;		/* the remaining bytes of the record follow */
};

struct held_launch {
	uint64_t key;			/* KEY() */
	union {
		uint64_t time_ns;
		struct held_work *works;	/* for HELD_WORKS: the records, newest first */
	};
	uint32_t path_id, thread_id, range_id;
	uint16_t age;			/* number of files begun since the entry was last written or
					 * got a record */
	uint8_t state;			/* enum held_state */
	uint8_t api;
};

#define KEY(proc_id, correlation_id)	((uint64_t)(proc_id) << 32 | (correlation_id))
#define KEY_PROC(key)			((uint32_t)((key) >> 32))
#define KEY_ID(key)			((uint32_t)(key))

/* Launches that will be written as one record. */
struct launch_pack {
	uint16_t type;
	uint64_t base_ns;
	bool in_ranges;
	uint32_t nr;
	struct xpu_launch v[MAX_LAUNCHES];
	uint32_t range[MAX_LAUNCHES];
};

struct held {
	struct carry *carry;
	struct idmap index[XPU_APIS];	/* maps KEY() to an index in v */
	ARRAY(struct held_launch) v;
	struct launch_pack launches, earlier;
	ARRAY(uint8_t) works;		/* device records to write; their batch header is @batch */
	uint64_t nr_forced;
	ARRAY(uint64_t) begins_ns;	/* start times of the files begun in the last GRAPH_NS */
	struct xpu_record_batch batch;
};

struct held *held__new(struct carry *c)
{
	struct held *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->carry = c;
	h->launches.type = XPU_RECORD_LAUNCHES;
	h->earlier.type = XPU_RECORD_EARLIER;
	return h;
}

static void works__free(struct held_work *w)
{
	struct held_work *next;

	for (; w; w = next) {
		next = w->next;
		free(w);
	}
}

void held__free(struct held *h)
{
	size_t i;

	if (!h)
		return;
	for (i = 0; i < h->v.nr; i++)
		if (h->v.v[i].state == HELD_WORKS)
			works__free(h->v.v[i].works);
	array_free(&h->v);
	array_free(&h->works);
	array_free(&h->begins_ns);
	for (i = 0; i < XPU_APIS; i++)
		idmap__free(&h->index[i]);
	free(h);
}

uint64_t held__nr_forced(const struct held *h)
{
	return h->nr_forced;
}

/* ---- writing --------------------------------------------------------------------------------- */

static void pack__flush(struct launch_pack *k, struct outfile *p)
{
	size_t bytes = k->nr * sizeof(k->v[0]);
	size_t range_bytes = k->in_ranges ? k->nr * sizeof(k->range[0]) : 0;
	size_t size = (sizeof(struct xpu_record_launches) + bytes + range_bytes + 7) & ~(size_t)7;
	struct xpu_record_launches *r = k->nr ? outfile__reserve(p, size) : NULL;

	if (r) {
		memset((char *)r + size - 8, 0, 8);
		*r = (struct xpu_record_launches){
			.hdr = { k->type, k->in_ranges ? XPU_MISC_LAUNCHES_RANGES : 0, size },
			.time_ns = k->base_ns,
			.nr = k->nr,
		};
		memcpy(r->launches, k->v, bytes);
		memcpy(r->launches + k->nr, k->range, range_bytes);
	}
	k->nr = 0;
	k->in_ranges = false;
}

static void pack__add(struct launch_pack *k, struct outfile *p, uint64_t time_ns,
		      struct xpu_launch launch, uint32_t range_id)
{
	int64_t delta = time_ns - k->base_ns;

	if (k->nr == MAX_LAUNCHES || delta > INT32_MAX || delta < INT32_MIN)
		pack__flush(k, p);
	if (!k->nr) {
		k->base_ns = time_ns;
		delta = 0;
	}
	launch.delta_ns = delta;
	k->in_ranges |= range_id != 0;
	k->range[k->nr] = range_id;
	k->v[k->nr++] = launch;
}

static void held__write(struct held *h, struct outfile *p, struct launch_pack *k,
			const struct held_launch *l)
{
	pack__add(k, p, l->time_ns, (struct xpu_launch){
		.correlation_id = KEY_ID(l->key), .path_id = l->path_id, .thread_id = l->thread_id,
	}, l->range_id);
	if (k == &h->launches)
		carry__count_launch(h->carry, KEY_PROC(l->key));
}

static void held__flush_works(struct held *h, struct outfile *p)
{
	struct xpu_record_batch *r = NULL;
	size_t size = sizeof(*r) + h->works.nr;

	if (h->works.nr)
		r = outfile__reserve(p, size);
	if (r) {
		*r = h->batch;
		r->hdr = (struct xpu_record){ XPU_RECORD_BATCH, XPU_MISC_BATCH_CARRIED, size };
		r->bytes = h->works.nr;
		memcpy(r->records, h->works.v, h->works.nr);
	}
	h->works.nr = 0;
}

/* Writes device records in their order of arrival, and frees them. */
static int held__write_works(struct held *h, struct outfile *p, uint32_t proc_id,
			     struct held_work *last)
{
	struct held_work *w, *next, *first = NULL;
	uint64_t nr = 0;
	int err = 0;

	for (w = last; w; w = next) {
		next = w->next;
		w->next = first;
		first = w;
	}
	for (w = first; w && !err; w = w->next) {
		nr += w->rec.type != XPU_RECORD_REFUSED;
		if (h->works.nr && (h->batch.proc_id != proc_id || h->batch.tid != w->tid ||
				    h->works.nr + w->rec.size > BATCH_BYTES))
			held__flush_works(h, p);
		h->batch.time_ns = w->time_ns;
		h->batch.proc_id = proc_id;
		h->batch.tid = w->tid;
		h->batch.ns_tid = w->ns_tid;
		err = array_reserve(&h->works, h->works.nr + w->rec.size);
		if (!err)
			memcpy(h->works.v + h->works.nr, &w->rec, w->rec.size);
		h->works.nr += err ? 0 : w->rec.size;
	}
	works__free(first);
	carry__count_works(h->carry, proc_id, nr);
	return err;
}

void held__flush(struct held *h, struct outfile *p)
{
	pack__flush(&h->launches, p);
	pack__flush(&h->earlier, p);
	held__flush_works(h, p);
}

/* ---- taking records -------------------------------------------------------------------------- */

static struct held_launch *held__find(struct held *h, uint32_t api, uint64_t key)
{
	const uint32_t *i = idmap__find(&h->index[api], key);

	return i ? &h->v.v[*i] : NULL;
}

/* Adds an entry. Return: the new entry, or NULL if memory is short. */
static struct held_launch *held__add(struct held *h, const struct held_launch *l)
{
	if (array_reserve(&h->v, h->v.nr + 1) || idmap__put(&h->index[l->api], l->key, h->v.nr))
		return NULL;
	h->v.v[h->v.nr] = *l;
	return &h->v.v[h->v.nr++];
}

/*
 * Writes everything that the entry holds. The entry stays in the table, so that later records of
 * this launch are not held.
 */
static int held__let_go(struct held *h, struct outfile *p, struct held_launch *l)
{
	struct held_work *works = l->state == HELD_WORKS ? l->works : NULL;
	int state = l->state;

	l->state = state == HELD_WORKS ? HELD_GONE : HELD_SERVED;
	l->age = 0;
	if (state == HELD_OPEN)
		held__write(h, p, &h->launches, l);
	return works ? held__write_works(h, p, KEY_PROC(l->key), works) : 0;
}

/*
 * Removes the entries for which @keep returns false; removes nothing if memory is short. Return: 0
 * or -ENOMEM.
 */
static int held__sift(struct held *h, bool (*keep)(const struct held_launch *l))
{
	struct idmap index[XPU_APIS] = { 0 };
	size_t i, nr = 0;
	int err = 0;

	for (i = 0; i < h->v.nr && !err; i++)
		if (keep(&h->v.v[i]))
			err = idmap__put(&index[h->v.v[i].api], h->v.v[i].key, nr++);
	for (i = 0; i < XPU_APIS; i++) {
		if (!err)
			idmap__free(&h->index[i]);
		else
			idmap__free(&index[i]);
	}
	if (err)
		return err;
	memcpy(h->index, index, sizeof(index));
	for (i = nr = 0; i < h->v.nr; i++)
		if (keep(&h->v.v[i]))
			h->v.v[nr++] = h->v.v[i];
	h->v.nr = nr;
	array_shrink(&h->v);
	return 0;
}

static bool is_served(const struct held_launch *l)
{
	return l->state == HELD_SERVED || l->state == HELD_GRAPH;
}

static bool is_held(const struct held_launch *l)
{
	return l->state == HELD_OPEN || l->state == HELD_WORKS;
}

/*
 * If there are too many entries, removes entries that hold nothing. If this is not enough, writes
 * held records, oldest first.
 */
static int held__limit(struct held *h, struct outfile *p)
{
	size_t i;
	int err;

	if (h->v.nr < HELD_MAX)
		return 0;
	err = held__sift(h, is_held);
	for (i = 0; i < h->v.nr && h->v.nr >= HELD_MAX / 2 && !err; i++) {
		err = held__let_go(h, p, &h->v.v[i]);
		h->nr_forced++;
	}
	return err ?: h->nr_forced ? held__sift(h, is_held) : 0;
}

/* Return: the state of a launch after its device record @rec is written. */
static enum held_state served_by(const struct xpu_record *rec)
{
	bool graph = rec->type != XPU_RECORD_REFUSED && rec->misc & XPU_MISC_GRAPH_NODE;

	return graph ? HELD_GRAPH : HELD_SERVED;
}

static int held__launch(struct held *h, struct outfile *p, struct held_launch *l)
{
	struct held_launch *known = KEY_ID(l->key) ? held__find(h, l->api, l->key) : NULL;
	struct held_work *works;
	int err;

	/* If the launch has no id, or its id is in use, it gets no device work. */
	if (!KEY_ID(l->key) || (known && known->state != HELD_WORKS && known->state != HELD_GONE)) {
		held__write(h, p, &h->launches, l);
		return 0;
	}
	if (!known) {
		err = held__limit(h, p);
		return err ?: held__add(h, l) ? 0 : -ENOMEM;
	}
	works = known->state == HELD_WORKS ? known->works : NULL;
	l->state = works ? served_by(&works->rec) : HELD_SERVED;
	*known = *l;
	held__write(h, p, &h->launches, l);
	return works ? held__write_works(h, p, KEY_PROC(l->key), works) : 0;
}

int held__launches(struct held *h, struct outfile *p, const struct xpu_record_launches *rec)
{
	const __u32 *range_ids = (const void *)&rec->launches[rec->nr];
	uint32_t i;
	int err = 0;

	for (i = 0; i < rec->nr && !err; i++) {
		const struct xpu_launch *from = &rec->launches[i];
		struct held_launch l = {
			.time_ns = rec->time_ns + (int64_t)from->delta_ns,
			.path_id = from->path_id,
			.thread_id = from->thread_id,
			.range_id = rec->hdr.misc & XPU_MISC_LAUNCHES_RANGES ? range_ids[i] : 0,
			.state = HELD_OPEN,
			.api = carry__api_of(h->carry, from->path_id),
		};

		l.key = KEY(carry__proc_of(h->carry, l.thread_id, l.path_id), from->correlation_id);
		err = held__launch(h, p, &l);
	}
	return err;
}

static int held__hold(struct held *h, struct outfile *p, struct held_launch *l, uint64_t key,
		      const struct xpu_record_batch *batch, const struct xpu_record *rec)
{
	struct held_work *w;
	int err;

	if (!l) {
		err = held__limit(h, p);
		if (err)
			return err;
		l = held__add(h, &(struct held_launch){
			.key = key, .state = HELD_WORKS, .api = XPU_API(rec->misc),
		});
		if (!l)
			return -ENOMEM;
	}
	w = malloc(offsetof(struct held_work, rec) + rec->size);
	if (!w)
		return -ENOMEM;
	w->next = l->works;
	w->time_ns = batch->time_ns;
	w->tid = batch->tid;
	w->ns_tid = batch->ns_tid;
	memcpy(&w->rec, rec, rec->size);
	l->works = w;
	return 0;
}

int held__work(struct held *h, struct outfile *p, const struct xpu_record_batch *batch,
	       const struct xpu_record *rec)
{
	uint32_t id = record__u32(rec, FIELD_LAUNCH);
	uint64_t key = KEY(batch->proc_id, id);
	struct held_launch *l = id ? held__find(h, XPU_API(rec->misc), key) : NULL;

	if (id && (!l || l->state == HELD_WORKS))
		return held__hold(h, p, l, key, batch, rec);
	if (l && l->state == HELD_OPEN) {
		l->state = HELD_SERVED;
		held__write(h, p, &h->launches, l);
	} else if (l && is_served(l) && l->age) {
		held__write(h, p, &h->earlier, l);
	}
	if (l)
		l->age = 0;
	if (l && l->state == HELD_SERVED)
		l->state = served_by(rec);
	carry__count_works(h->carry, batch->proc_id, rec->type != XPU_RECORD_REFUSED);
	return 1;
}

int held__captured(struct held *h, struct outfile *p, const struct xpu_record_graph_node *rec)
{
	uint64_t key = KEY(rec->proc_id, rec->correlation_id);
	uint32_t api = XPU_API(rec->hdr.misc);
	struct held_launch *l = rec->correlation_id ? held__find(h, api, key) : NULL;
	int err;

	if (l && l->state == HELD_OPEN)
		return held__let_go(h, p, l);
	if (l || !rec->correlation_id)
		return 0;
	err = held__limit(h, p);
	return err ?: held__add(h, &(struct held_launch){
		.key = key, .state = HELD_GONE, .api = api,
	}) ? 0 : -ENOMEM;
}

/* ---- from file to file ----------------------------------------------------------------------- */

/*
 * Return: whether the launch may still get device work. If a launch got no device work during a
 * whole file, it gets none later. For graph launches, see held__next().
 */
static bool is_wanted(const struct held_launch *l)
{
	return is_held(l) || l->state == HELD_GRAPH || l->age < 2;
}

/* Notes the start of a file. Return: 0 or -ENOMEM. */
static int held__note_begin(struct held *h, uint64_t time_ns)
{
	size_t old = 0;

	while (old < h->begins_ns.nr && (h->begins_ns.v[old] + GRAPH_NS < time_ns ||
					 h->begins_ns.nr - old == UINT16_MAX - 2))
		old++;
	h->begins_ns.nr -= old;
	if (old)
		memmove(h->begins_ns.v, h->begins_ns.v + old,
			h->begins_ns.nr * sizeof(h->begins_ns.v[0]));
	return array_push(&h->begins_ns, time_ns);
}

/* Return: the age, as a number of files, from which on an entry is older than @ns; at least 2 */
static uint32_t held__age(const struct held *h, uint64_t time_ns, uint64_t ns)
{
	size_t i = h->begins_ns.nr;

	while (i && h->begins_ns.v[i - 1] + ns >= time_ns)
		i--;
	return h->begins_ns.nr - i + 1;
}

void held__keep_threads(const struct held *h)
{
	size_t i;

	for (i = 0; i < h->v.nr; i++)
		if (h->v.v[i].state == HELD_OPEN || is_served(&h->v.v[i]))
			carry__keep_thread(h->carry, h->v.v[i].thread_id);
}

/* Ages an entry, because a new file starts. Return: 0 or -ENOMEM. */
static int held__grow_older(struct held *h, struct outfile *p, struct held_launch *l,
			    uint32_t works_age, uint32_t graph_age)
{
	bool final = carry__is_final(h->carry, KEY_PROC(l->key));

	l->age += l->age < UINT16_MAX;
	if (l->state == HELD_GRAPH && l->age >= (final ? 2 : graph_age))
		l->state = HELD_SERVED;
	if ((l->state == HELD_OPEN && final) ||
	    (l->state == HELD_WORKS && l->age >= (final ? 2 : works_age)))
		return held__let_go(h, p, l);
	return 0;
}

int held__next(struct held *h, struct outfile *p, uint64_t time_ns)
{
	int err = held__note_begin(h, time_ns);
	uint32_t works_age = held__age(h, time_ns, WORKS_NS);
	uint32_t graph_age = held__age(h, time_ns, GRAPH_NS);
	size_t i;

	for (i = 0; i < h->v.nr && !err; i++)
		err = held__grow_older(h, p, &h->v.v[i], works_age, graph_age);
	return err ?: held__sift(h, is_wanted);
}

void held__finish(struct held *h, struct outfile *p)
{
	size_t i;

	for (i = 0; i < h->v.nr; i++)
		if (is_held(&h->v.v[i]))
			held__let_go(h, p, &h->v.v[i]);
	held__flush(h, p);
}
