// SPDX-License-Identifier: GPL-3.0-or-later
#include "join/rests.h"

#include <errno.h>
#include <stdlib.h>

#include "join/sums.h"

#define MOMENTS		(HEAP_NR_MOMENTS + 1)	/* the last: the end */

/* The rest of a device in one recording, or a file of one. */
struct rest {
	struct heap *heap;
	struct heap_place *place;
	bool known[MOMENTS], shared;
	uint64_t bytes[MOMENTS];	/* without what the others have recorded */
};

typedef ARRAY(struct rest) rests_t;

/* Whether they are of recordings that were made at a time on one device. */
static bool is_beside(const struct rest *a, const struct rest *b)
{
	const struct heap *ha = a->heap, *hb = b->heap;

	return a->place->gpu == b->place->gpu && ha->recording != hb->recording &&
	       ha->from_ns <= hb->to_ns && hb->from_ns <= ha->to_ns;
}

/* Return: what CUDA said last, until @time_ns, or NULL. */
static const struct heap_asked *asked_until(const struct heap_place *p, uint64_t time_ns)
{
	size_t lo = 0, hi = p->asked.nr, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (p->asked.v[mid].time_ns <= time_ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? &p->asked.v[lo - 1] : NULL;
}

static bool rest__moment(const struct rest *r, unsigned int moment, uint64_t *time_ns)
{
	if (moment < HEAP_NR_MOMENTS)
		return heap__moment(r->heap, r->place, moment, time_ns);
	*time_ns = r->heap->to_ns;
	return r->heap->is_last;
}

/* Return: the rest of all recordings that were made beside @r, at that time. */
static uint64_t common_rest(const rests_t *rests, const struct rest *r, uint64_t time_ns)
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

/* Whether @r's moment is in an earlier file of the recording, which has the rest then. */
static bool is_before(const struct rest *other, const struct rest *r, unsigned int moment)
{
	return moment == HEAP_ASKED && other->known[moment] && other->place->gpu == r->place->gpu &&
	       other->heap->recording == r->heap->recording && other->heap->file < r->heap->file;
}

/* Whether it is the one that shows the rest: moments may differ, then it is the one with most. */
static bool shows(const rests_t *rests, const struct rest *r, unsigned int moment)
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

int rests__settle(struct sums *s)
{
	rests_t rests = { 0 };
	unsigned int moment;
	uint64_t time_ns;
	struct rest *r;
	size_t i, k;
	int err = 0;

	for (i = 0; i < s->heaps.nr; i++)
		for (k = 0; k < s->heaps.v[i].places.nr && !err; k++)
			if (s->heaps.v[i].places.v[k].gpu != NO_INDEX)
				err = array_push(&rests, ((struct rest){
					.heap = &s->heaps.v[i], .place = &s->heaps.v[i].places.v[k],
				}));
	if (!rests.nr)
		return err;
	for (i = 0; i < rests.nr && !err; i++)
		for (k = 0; k < rests.nr; k++)
			rests.v[i].shared |= is_beside(&rests.v[i], &rests.v[k]) ||
					     (i != k && rests.v[i].place->gpu == rests.v[k].place->gpu &&
					      rests.v[i].heap->recording == rests.v[k].heap->recording);
	for (r = rests.v; r < rests.v + rests.nr && !err; r++)
		for (moment = 0; moment < MOMENTS && r->shared && r->place->rest != NO_INDEX; moment++) {
			r->known[moment] = rest__moment(r, moment, &time_ns);
			r->bytes[moment] = r->known[moment] ? common_rest(&rests, r, time_ns) : 0;
		}
	for (r = rests.v; r < rests.v + rests.nr && !err; r++)
		for (moment = 0; moment < MOMENTS; moment++)
			if (r->known[moment])
				rest__set(r, moment, shows(&rests, r, moment) ? r->bytes[moment] : 0);
	array_free(&rests);
	return err;
}
