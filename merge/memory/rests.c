// SPDX-License-Identifier: GPL-3.0-or-later
#include "memory/rests.h"

#include <errno.h>
#include <stdlib.h>

#include "memory/state.h"

#define MOMENTS		(HEAP_NR_MOMENTS + 1)	/* the last moment is the end */

/* the rest of a device in one recording, or in one file of a recording */
struct rest {
	struct heap *heap;
	struct heap_place *place;
	bool known[MOMENTS];
	uint64_t bytes[MOMENTS];	/* without memory of other recordings */
};

/* the unattributed memory of one device, over time */
struct rests {
	struct rest *v;
	size_t nr;
};

/* Return: whether two rests come from different recordings, and these overlap in time. */
static bool is_beside(const struct rest *a, const struct rest *b)
{
	const struct heap *ha = a->heap, *hb = b->heap;

	return ha->recording != hb->recording && ha->from_ns <= hb->to_ns &&
	       hb->from_ns <= ha->to_ns;
}

/* Return: CUDA's last answer until @time_ns, or NULL. */
static const struct heap_asked *asked_until(const struct heap_place *p, uint64_t time_ns)
{
	size_t lo = sorted_count(p->asked.nr, i, p->asked.v[i].time_ns <= time_ns);

	return lo ? &p->asked.v[lo - 1] : NULL;
}

static bool rest__moment(const struct rest *r, unsigned int moment, uint64_t *time_ns)
{
	if (moment < HEAP_NR_MOMENTS)
		return heap__moment(r->heap, r->place, moment, time_ns);
	*time_ns = r->heap->to_ns;
	return r->heap->is_last;
}

/* Return: the rest at @time_ns, common to @r and all recordings that overlap with it. */
static uint64_t common_rest(const struct rests *rests, const struct rest *r, uint64_t time_ns)
{
	const struct heap_asked *asked, *last = asked_until(r->place, time_ns);
	const struct rest *who = r, *other;
	uint64_t bytes, reserved;

	for (other = rests->v; other < rests->v + rests->nr; other++) {
		asked = is_beside(r, other) ? asked_until(other->place, time_ns) : NULL;
		if (!asked || (last && asked->time_ns <= last->time_ns))
			continue;
		last = asked;
		who = other;
	}
	bytes = last ? last->rest : 0;
	for (other = rests->v; other < rests->v + rests->nr && bytes; other++) {
		if (!is_beside(who, other) || (other != r && !is_beside(r, other)))
			continue;
		reserved = heap__reserved_at(other->heap, other->place, last->time_ns);
		bytes -= min_t(uint64_t, bytes, reserved);
	}
	return bytes;
}

/*
 * Return: whether @other is from an earlier file of the same recording, and the rest at @moment is
 * already known from this file.
 */
static bool is_before(const struct rest *other, const struct rest *r, unsigned int moment)
{
	return moment == HEAP_ASKED && other->known[moment] &&
	       other->heap->recording == r->heap->recording && other->heap->file < r->heap->file;
}

/*
 * Return: whether the rest @r is shown. If overlapping recordings have different moments, only the
 * largest rest is shown.
 */
static bool shows(const struct rests *rests, const struct rest *r, unsigned int moment)
{
	const struct rest *other;

	for (other = rests->v; other < rests->v + rests->nr; other++) {
		if (is_before(other, r, moment))
			return false;
		if (!other->known[moment] || !is_beside(r, other))
			continue;
		if (other->bytes[moment] > r->bytes[moment] ||
		    (other->bytes[moment] == r->bytes[moment] && other < r))
			return false;
	}
	return true;
}

static void rest__set(const struct rest *r, unsigned int moment, uint64_t bytes)
{
	struct holder *holder = &r->heap->holders.v[r->place->rest];
	struct heap_sum sum = { bytes, bytes != 0 };

	if (moment < HEAP_NR_MOMENTS)
		holder__set(r->heap, holder, moment, sum);
	else
		holder->never_freed = holder->unfinished = sum;
}

/* Replaces all rests of a device by one common rest. */
static void rests__join(const struct rests *rests)
{
	unsigned int moment;
	uint64_t time_ns;
	struct rest *r;

	for (r = rests->v; r < rests->v + rests->nr; r++)
		for (moment = 0; moment < MOMENTS && r->place->rest != NO_INDEX; moment++) {
			r->known[moment] = rest__moment(r, moment, &time_ns);
			r->bytes[moment] = r->known[moment] ? common_rest(rests, r, time_ns) : 0;
		}
	for (r = rests->v; r < rests->v + rests->nr; r++)
		for (moment = 0; moment < MOMENTS; moment++)
			if (r->known[moment])
				rest__set(r, moment,
					  shows(rests, r, moment) ? r->bytes[moment] : 0);
}

static int by_device(const void *va, const void *vb)
{
	const struct rest *a = va, *b = vb;

	return cmp3(a->place->gpu, b->place->gpu) ?: cmp3(a->heap, b->heap);
}

int rests__settle(struct memory_state *s)
{
	ARRAY(struct rest) all = { 0 };
	struct rests rests;
	size_t i, k;
	int err = 0;

	for (i = 0; i < s->heaps.nr; i++)
		for (k = 0; k < s->heaps.v[i].places.nr && !err; k++)
			if (s->heaps.v[i].places.v[k].gpu != NO_INDEX)
				err = array_push(&all, ((struct rest){
					.heap = &s->heaps.v[i], .place = &s->heaps.v[i].places.v[k],
				}));
	array_qsort(&all, by_device);
	for (i = 0; i < all.nr && !err; i += rests.nr) {
		rests = (struct rests){ &all.v[i], 1 };
		while (i + rests.nr < all.nr && rests.v[rests.nr].place->gpu == rests.v->place->gpu)
			rests.nr++;
		if (rests.nr > 1)
			rests__join(&rests);
	}
	array_free(&all);
	return err;
}
