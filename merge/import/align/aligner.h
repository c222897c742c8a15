/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * aligner.h - data that the steps of align__run() share
 *
 * aligner.c prepares both sides, align_offset.c finds the offset between their clocks,
 * align_order.c lists other possible offsets, and align_match.c matches stacks and launches.
 */
#ifndef MERGE_ALIGNER_H
#define MERGE_ALIGNER_H

#include <math.h>

#include "import/align/align.h"

#define ALIGNER_NEAR	512		/* if more launches than this are near a stack, all of them
					 * are ignored */

/* One side. Times are in ns since its first event. */
struct side {
	const struct align_side *in;
	double *time;
	double span;
};

/*
 * Return: when the call of @launch returned. If the end of the call is unknown, or later than the
 * start of the thread's next call @next: when the call of @launch began.
 */
static inline double side__returned(const struct side *s, uint32_t launch, uint32_t next)
{
	const struct align_event *e = s->in->events;

	return e[launch].end_ns > e[launch].time_ns && e[launch].end_ns <= e[next].time_ns ?
		e[launch].end_ns - e[0].time_ns : s->time[launch];
}

/* The stacks and launches of one name and kind. */
struct name {
	uint32_t nr_stacks, nr_launches;
	uint32_t stack;			/* any of the stacks, if all have one call path; otherwise
					 * NO_INDEX */
};

struct names {
	struct idmap numbers;		/* maps name and kind to an index in v */
	ARRAY(struct name) v;
	uint32_t nr_often, nr_several;	/* number of names with several stacks, and with several
					 * call paths */
	bool nameless;			/* some stacks lack a name */
};

struct aligner {
	struct align *out;
	const struct align_opts *opts;
	struct side cpu, gpu;
	bool tids_agree;		/* threads have the same ids on both sides */
	/*
	 * A group holds the launches that a stack may belong to, regardless of their times. A
	 * launch may be in several groups. time[] and launch[] are sorted by group, then by time.
	 */
	double *time;
	uint32_t *launch;		/* index of the launch */
	uint32_t *begin;		/* start of each group; begin[nr_groups] is the end of the
					 * last group */
	uint32_t *group;		/* by stack */
	uint32_t *nameless;		/* for each stack: group of nameless launches, or
					 * NO_INDEX */
	uint32_t nr_groups;
	uint32_t *cursor;		/* for each group: where aligner__seek() continues */
	double *group_rate;		/* launches per ns of each group */
	double rate;			/* launches of any name per ns */
	struct names *names;
	double spacing, median;		/* lower quartile and median of gaps in a thread, in ns */
	/* Set by aligner__find_offset(): */
	double *stack_time;		/* time of each stack on the launches' clock */
	double jitter;			/* mean distance between a stack and its launch, in ns */
};

/* Return: the name of event @e, or NULL if the event has no name. */
const struct name *names__find(const struct names *n, const struct align_event *e);

/*
 * Return: whether the stacks of two launches differ, because the launches have different kinds, or
 * different names that both occur on stacks.
 */
bool names__differ(const struct names *n, const struct align_event *a, const struct align_event *b);

/*
 * Finds the call path of a launch by its kernel name. If all stacks with that name have the same
 * call path, *@stack is set to one of these stacks.
 * Return: the probability that the launch has another call path; 1 if the stacks have several
 * paths.
 */
double names__wrong(const struct names *n, const struct align_event *launch, uint32_t *stack);

/*
 * The indices of the events of both sides, sorted by thread and time, and where each thread starts.
 */
struct lanes {
	uint32_t *stacks, *launches, *stacks_begin, *launches_begin;
};

/*
 * A shift of the stacks that makes each thread's stacks and launches alternate. Several shifts may
 * do so; a wrong shift pairs each stack with the launch before its own launch, or with a later
 * launch.
 */
struct shift {
	double later;			/* delay of the stacks after stack_time, in ns */
	double phase;			/* additional correction, in ns, that puts each stack
					 * between its own launch and the previous launch */
	double jitter;
	bool ordered;			/* phase is known */
};

#define COARSE_NS	1000		/* coarsest clock resolution, in ns */
#define MASS_MIN	0.75		/* share of the smaller side that an offset must match */
#define MAX_SHIFTS	6
#define FEW		64		/* events that suffice to compare several shifts */
#define UNSEEN_DRIFT	100e-6		/* largest drift in a short recording */
#define SHIFT_SPACINGS	32		/* range of the search for shifts, in spacings */

/**
 * aligner__find_shifts - find the shifts that the recording does not rule out
 * @shifts: room for MAX_SHIFTS
 *
 * Return: the number of shifts, 0 if all are ruled out; MAX_SHIFTS + 1 if there are more than
 * MAX_SHIFTS; or -ENOMEM.
 */
int aligner__find_shifts(const struct aligner *al, const struct lanes *lanes,
			 struct shift *shifts);

/* Return: whether a stack may belong to a launch, judged by their kinds and names. */
static inline bool aligner__fit(const struct align_event *stack, const struct align_event *launch)
{
	return stack->kind == launch->kind &&
	       (!stack->name || !launch->name || stack->name == launch->name);
}

/* Starts a pass over the stacks in time order. */
static inline void aligner__rewind(struct aligner *al)
{
	uint32_t i;

	for (i = 0; i < al->nr_groups; i++)
		al->cursor[i] = NO_INDEX;
}

/* Return: the first index in [@from, @to) whose al->time is @time or later; or @to. */
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
 * Return: the index in al->time of the first launch of @group at or after @time. *@end is set to
 * the end of the group. @time must not be less than in the previous call for that group.
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
 * Finds the launches that @stack may belong to, at most @reach from @time. @time must not be less
 * than in the previous call. If more than ALIGNER_NEAR launches are near, finds none: so many
 * launches, as with coarse clocks, prove nothing.
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
 * aligner__find_offset - find the offset between the clocks throughout the recording
 *
 * Sets al->stack_time, al->jitter and the offset members of al->out. If nr_offsets is not 1
 * afterwards, nothing can be matched.
 *
 * Return: 0 or -ENOMEM.
 */
int aligner__find_offset(struct aligner *al);

/*
 * Return: the largest allowed sum of the error probabilities of @nr answers. With this sum, at most
 * one recording in 100 has more than one wrong answer in 1000. Errors are rare, so their number has
 * a Poisson distribution. If there are fewer than 1000 answers, none may be wrong.
 */
double align__allowed_wrong(double nr);

/* Return: the sum, clamped to the range of int64_t, because files may contain any number. */
static inline int64_t add_offset(int64_t ns, double more)
{
	int64_t sum;

	if (__builtin_add_overflow(ns, llround(more), &sum))
		return ns < 0 ? INT64_MIN : INT64_MAX;
	return sum;
}

/*
 * Matches stacks and launches with the known offset, and sets the members of al->out that are not
 * set yet. Return: 0 or -ENOMEM.
 */
int aligner__match(struct aligner *al);

/*
 * Matches stacks and launches by equal timestamps. This works only if nearly every event has a
 * counterpart with the same timestamp: the timestamps of both sides then come from the same clock
 * readings. Return: 1 if they match, 0 if not, or -ENOMEM.
 */
int align__same(struct align *a, const struct align_side *stacks,
		const struct align_side *launches);

#endif /* MERGE_ALIGNER_H */
