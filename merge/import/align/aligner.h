/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * aligner.h - data that the steps of align__run() share
 *
 * aligner.c prepares both sides, align_offset.c finds the offset between their clocks, and
 * align_match.c then matches stacks and launches.
 */
#ifndef MERGE_ALIGNER_H
#define MERGE_ALIGNER_H

#include "import/align/align.h"

#define ALIGNER_NEAR	512		/* more launches than this around a stack tell nothing */

/* One side, with times in ns since its first event. */
struct side {
	const struct align_side *in;
	double *time;
	double span;
};

struct aligner {
	struct align *out;
	const struct align_opts *opts;
	struct side cpu, gpu;
	bool tids_agree;		/* threads have the same ids on both sides */
	/* The launches that a stack may match, times aside, are a group. By group, then by time: */
	double *time;
	uint32_t *launch;		/* index of the launch */
	uint32_t *begin;		/* by group, and one more: where the group begins */
	uint32_t *group;		/* by stack */
	uint32_t nr_groups;
	uint32_t *cursor;		/* by group: see aligner__seek() */
	double rate;			/* launches that a stack may match, per ns */
	/* Set by aligner__find_offset(): */
	double *stack_time;		/* the time of each stack, by the launches' clock */
	double jitter;			/* mean distance between a stack and its launch, ns */
};

/* Begins a pass over the stacks in order of time. */
static inline void aligner__rewind(struct aligner *al)
{
	uint32_t i;

	for (i = 0; i < al->nr_groups; i++)
		al->cursor[i] = NO_INDEX;
}

/* Return: the first place in [@from, @to) of al->time that is at @time or later, or @to. */
static inline uint32_t aligner__first_at(const struct aligner *al, uint32_t from, uint32_t to,
					 double time)
{
	uint32_t mid;

	while (from < to) {
		mid = from + (to - from) / 2;
		if (al->time[mid] < time)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

/*
 * Return: where in al->time those launches begin that @stack may match and that are at @time or
 * later; they end before *@end. @time must not be less than at the last call for that group.
 */
static inline uint32_t aligner__seek(struct aligner *al, uint32_t stack, double time, uint32_t *end)
{
	uint32_t group = al->group[stack], from = al->cursor[group];

	*end = al->begin[group + 1];
	if (from == NO_INDEX)
		from = aligner__first_at(al, al->begin[group], *end, time);
	while (from < *end && al->time[from] < time)
		from++;
	return al->cursor[group] = from;
}

/*
 * Return: where the launches begin that @stack may match and that are within @reach of @time; they
 * end before *@end. @time must not be less than at the last call. There are none if so many are
 * that near, as with coarse clocks, that they tell nothing.
 */
static inline uint32_t aligner__near(struct aligner *al, uint32_t stack, double time, double reach,
				     uint32_t *end)
{
	uint32_t from = aligner__seek(al, stack, time - reach, end), to = from;

	while (to < *end && al->time[to] <= time + reach && to - from <= ALIGNER_NEAR)
		to++;
	*end = to - from <= ALIGNER_NEAR ? to : from;
	return from;
}

/**
 * aligner__find_offset - find the offset between the clocks, all along the recording
 *
 * Sets al->stack_time, al->jitter and, in al->out, the members about the offset: if nr_offsets is
 * not 1, nothing can be matched.
 *
 * Return: 0 or -ENOMEM.
 */
int aligner__find_offset(struct aligner *al);

/*
 * Matches stacks and launches by the known offset: sets the rest of al->out. Return: 0 or -ENOMEM.
 */
int aligner__match(struct aligner *al);

#endif /* MERGE_ALIGNER_H */
