// SPDX-License-Identifier: GPL-3.0-or-later
#include "import/time_bounds.h"

#include <stdlib.h>
#include <string.h>

#include "xpu_time.h"

#define APART_NS	(3600ull * 1000000000)	/* minimum gap between two groups */
#define MAX_GROUPS	4096			/* maximum number of groups; further times join the
						 * previous group */
/*
 * A group has few timestamps if it has at most FEW timestamps, plus one more for each FEW_OF
 * timestamps of all groups. FEW is the number of timestamps that one event adds.
 */
#define FEW		4
#define FEW_OF		1000
#define FAR		16			/* a group with few timestamps is excluded if its
						 * distance from the others exceeds FAR times the
						 * length of the others */

/* Return: the number of groups that begin at or before @ns. */
static size_t time_bounds__search(const struct time_bounds *b, uint64_t ns)
{
	return sorted_count(b->groups.nr, i, b->groups.v[i].from_ns <= ns);
}

static void time_bounds__remove(struct time_bounds *b, size_t i)
{
	memmove(&b->groups.v[i], &b->groups.v[i + 1],
		(b->groups.nr - i - 1) * sizeof(b->groups.v[0]));
	b->groups.nr--;
}

/* Joins group @i and the next group, if less than an hour is between them. */
static void time_bounds__join(struct time_bounds *b, size_t i)
{
	struct time_group *g = &b->groups.v[i];
	unsigned int side;

	if (i + 1 == b->groups.nr || xpu_ns_between(g->to_ns, g[1].from_ns) > APART_NS)
		return;
	g->to_ns = max_t(uint64_t, g->to_ns, g[1].to_ns);
	for (side = 0; side < NR_SIDES; side++)
		g->nr[side] += g[1].nr[side];
	time_bounds__remove(b, i + 1);
}

int time_bounds__add(struct time_bounds *b, enum time_side side, uint64_t ns)
{
	struct time_group *g;
	size_t i;
	int err;

	if (!ns)
		return 0;
	if (b->last < b->groups.nr) {
		g = &b->groups.v[b->last];
		if (ns >= g->from_ns && ns <= g->to_ns) {
			g->nr[side]++;
			return 0;
		}
	}
	i = time_bounds__search(b, ns);
	if (i && (xpu_ns_between(b->groups.v[i - 1].to_ns, ns) <= APART_NS ||
		  b->groups.nr >= MAX_GROUPS)) {
		g = &b->groups.v[--i];
		g->to_ns = max_t(uint64_t, g->to_ns, ns);
		g->nr[side]++;
	} else {
		err = array_reserve(&b->groups, b->groups.nr + 1);
		if (err)
			return err;
		memmove(&b->groups.v[i + 1], &b->groups.v[i],
			(b->groups.nr - i) * sizeof(b->groups.v[0]));
		b->groups.v[i] = (struct time_group){ ns, ns, { 0 } };
		b->groups.v[i].nr[side] = 1;
		b->groups.nr++;
	}
	time_bounds__join(b, i);
	b->last = i;
	return 0;
}

/* Sets @few to the largest number of timestamps that is considered few, for each side. */
static void time_bounds__few(const struct time_bounds *b, uint64_t few[NR_SIDES])
{
	uint64_t total, most;
	unsigned int side;
	size_t i;

	for (side = 0; side < NR_SIDES; side++) {
		for (i = total = most = 0; i < b->groups.nr; i++) {
			total += b->groups.v[i].nr[side];
			most = max_t(uint64_t, most, b->groups.v[i].nr[side]);
		}
		few[side] = min_t(uint64_t, FEW + total / FEW_OF, most / FEW);
	}
}

/*
 * Return: whether a group counts. A group counts if it has more than a few timestamps, or if it is
 * near the other groups.
 * @far_ns: the distance of the group from the other groups
 * @long_ns: the length of the other groups in total
 */
static bool group__counts(const struct time_group *g, const uint64_t few[NR_SIDES],
			  uint64_t far_ns, uint64_t long_ns)
{
	unsigned int side;

	for (side = 0; side < NR_SIDES; side++)
		if (g->nr[side] > few[side])
			return true;
	return far_ns / FAR <= long_ns;
}

bool time_bounds__find(const struct time_bounds *b, uint64_t *from_ns, uint64_t *to_ns)
{
	const struct time_group *v = b->groups.v;
	size_t i, main = 0, first, last;
	uint64_t few[NR_SIDES];

	*from_ns = 0;
	*to_ns = UINT64_MAX;
	if (!b->groups.nr)
		return false;
	time_bounds__few(b, few);
	for (i = 1; i < b->groups.nr; i++)
		if (v[i].nr[SIDE_EVENTS] + v[i].nr[SIDE_SAMPLES] >
		    v[main].nr[SIDE_EVENTS] + v[main].nr[SIDE_SAMPLES])
			main = i;
	for (i = first = last = main; ++i < b->groups.nr;)
		if (group__counts(&v[i], few, v[i].from_ns - v[last].to_ns,
				  v[last].to_ns - v[first].from_ns))
			last = i;
	for (i = main; i--;)
		if (group__counts(&v[i], few, v[first].from_ns - v[i].to_ns,
				  v[last].to_ns - v[first].from_ns))
			first = i;
	if (!first && last + 1 == b->groups.nr)
		return false;
	*from_ns = v[first].from_ns;
	*to_ns = v[last].to_ns;
	return true;
}

void time_bounds__free(struct time_bounds *b)
{
	array_free(&b->groups);
}
