/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * aligner.h - data that the steps of align__run() share
 *
 * aligner.c prepares both sides, align_offset.c finds the offset between their clocks, align_order.c
 * says what else it might be, and align_match.c matches once that is known.
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

/* The stacks and launches of one name and kind. */
struct name {
	uint32_t nr_stacks, nr_launches;
	uint32_t stack;			/* one of its stacks, if all are one call path, or NO_INDEX */
};

struct names {
	struct idmap numbers;		/* name and kind: ... */
	ARRAY(struct name) v;		/* ... by number */
	uint32_t nr_often, nr_several;	/* names with more than one stack; more than one call path */
	bool nameless;			/* some stacks have none */
};

struct aligner {
	struct align *out;
	const struct align_opts *opts;
	struct side cpu, gpu;
	bool tids_agree;		/* threads have the same ids on both sides */
	/*
	 * Launches that a stack may be of, times aside, are a group; a launch may be in several. By
	 * group, then by time:
	 */
	double *time;
	uint32_t *launch;		/* index of the launch */
	uint32_t *begin;		/* by group, and one more: where the group begins */
	uint32_t *group;		/* by stack */
	uint32_t *nameless;		/* by stack: its launches that have no name, or NO_INDEX */
	uint32_t nr_groups;
	uint32_t *cursor;		/* by group: see aligner__seek() */
	double *group_rate;		/* by group: launches per ns */
	double rate;			/* launches that a stack may be of, per ns, whatever its name */
	struct names *names;
	double spacing, median;		/* time between two launches of one thread, ns: a short one */
	/* Set by aligner__find_offset(): */
	double *stack_time;		/* the time of each stack, by the launches' clock */
	double jitter;			/* mean distance between a stack and its launch, ns */
};

/* Return: what is known of the name of an event, or NULL: it has none. */
const struct name *names__find(const struct names *n, const struct align_event *e);

/*
 * Return: how probable it is that a launch is not of the one call path that all stacks with its name
 * have, which is that of *@stack; 1 if they have several.
 */
double names__wrong(const struct names *n, const struct align_event *launch, uint32_t *stack);

/* Events of each side by thread, then by time; where each thread begins. */
struct lanes {
	uint32_t *stacks, *launches, *stacks_begin, *launches_begin;
};

/*
 * A way to see the order of stacks and launches: a thread's stack, its launch, its next stack. Others
 * have each stack with the launch before its own, or with one further on.
 */
struct shift {
	double later;			/* stacks are by that much later than stack_time says, ns */
	double phase;			/* with that taken off, at least so long before they come to
					 * the launch before their own, ns */
	double jitter;
	bool ordered;			/* phase is known */
};

#define MASS_MIN	0.75		/* of the smaller side, that an offset must pair */
#define MAX_SHIFTS	6
#define SHIFT_SPACINGS	32		/* shifts are looked for so many spacings to either side */

/**
 * aligner__find_shifts - the ways to see the order that the recording does not rule out
 * @shifts: room for MAX_SHIFTS
 *
 * Return: how many, MAX_SHIFTS + 1 if there are more; or -ENOMEM.
 */
int aligner__find_shifts(const struct aligner *al, const struct lanes *lanes,
			 struct shift *shifts);

/* Whether a stack may be of a launch, by their kinds and names. */
static inline bool aligner__fit(const struct align_event *stack, const struct align_event *launch)
{
	return stack->kind == launch->kind &&
	       (!stack->name || !launch->name || stack->name == launch->name);
}

/* A pass over stacks in order of time begins. */
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
 * Return: where in al->time the launches of a group begin that are at @time or later; they end with
 * *@end. @time must not be less than at the last call for that group.
 */
static inline uint32_t aligner__seek(struct aligner *al, uint32_t group, double time, uint32_t *end)
{
	uint32_t from = al->cursor[group];

	*end = al->begin[group + 1];
	if (from == NO_INDEX)
		from = aligner__first_at(al, al->begin[group], *end, time);
	while (from < *end && al->time[from] < time)
		from++;
	return al->cursor[group] = from;
}

/*
 * Finds the launches that @stack may be of, no further than @reach from @time, which may not be less
 * than before; none if there are so many, as where clocks are coarse, that they tell nothing.
 */
static inline uint32_t aligner__near(struct aligner *al, uint32_t stack, double time, double reach,
				     uint32_t *end)
{
	uint32_t from = aligner__seek(al, al->group[stack], time - reach, end), to = from;

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

/*
 * Matches stacks and launches whose times are equal, if nearly all are: then they were taken by one
 * reading of the clock. Return: 1 if so, 0, or -ENOMEM.
 */
int align__same(struct align *a, const struct align_side *stacks, const struct align_side *launches);

#endif /* MERGE_ALIGNER_H */
