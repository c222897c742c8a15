/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * time_bounds.h - finds when an imported recording began and ended
 *
 * No recorder reports when an import began and ended: only its events show this. A single damaged
 * or forged time, far away from all others, must not determine the result. Times are therefore kept
 * in groups, with gaps of more than an hour between them. A group with few times does not count if
 * its distance from the other groups is much larger than the length of these groups. Each side of
 * an import has its own clock, and its own limit up to which a group has few times.
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
	ARRAY(struct time_group) groups;	/* in time order */
	size_t last;				/* index of the group that was extended last */
};

/* Adds a time; 0 means no time. Return: 0 or -ENOMEM. */
int time_bounds__add(struct time_bounds *b, enum time_side side, uint64_t ns);

/*
 * Sets the first and last time of the groups that count; 0 and UINT64_MAX if all groups count.
 * Return: whether some groups do not count.
 */
bool time_bounds__find(const struct time_bounds *b, uint64_t *from_ns, uint64_t *to_ns);

void time_bounds__free(struct time_bounds *b);

#endif /* MERGE_TIME_BOUNDS_H */
