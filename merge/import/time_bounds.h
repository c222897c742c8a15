/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * time_bounds.h - when an imported recording began and ended
 *
 * No recorder reports when an import began and ended: only its events do. One damaged or hostile
 * time, far away from all others, must not decide. So times are kept as groups with more than an
 * hour between each other. A group of few times does not count if it is much farther away from the
 * other groups than these groups are long. Each side of an import has its own clock and its own
 * share of few.
 */
#ifndef MERGE_TIME_BOUNDS_H
#define MERGE_TIME_BOUNDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util.h"

enum time_side {
	SIDE_EVENTS,			/* launches, calls, device work, ranges */
	SIDE_SAMPLES,			/* CPU samples */
	NR_SIDES
};

struct time_group {
	uint64_t from_ns, to_ns;
	uint64_t nr[NR_SIDES];
};

struct time_bounds {
	ARRAY(struct time_group) groups;	/* in order of time */
	size_t last;				/* the group of the last time */
};

/* Adds a time; 0 is no time. Return: 0 or -ENOMEM. */
int time_bounds__add(struct time_bounds *b, enum time_side side, uint64_t ns);

/*
 * Finds the first and last time that count; all times, if none is left out. Return: whether times
 * are left out.
 */
bool time_bounds__find(const struct time_bounds *b, uint64_t *from_ns, uint64_t *to_ns);

void time_bounds__free(struct time_bounds *b);

#endif /* MERGE_TIME_BOUNDS_H */
