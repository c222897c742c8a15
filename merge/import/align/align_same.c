// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * align_same.c - matches stacks and launches that one tool recorded with the same timestamp
 *
 * A stack and its launch have the same timestamp, to the nanosecond, and the same thread id. If
 * nearly all events have equal timestamps, the tool read its clock only once for each event.
 */
#include "import/align/aligner.h"

#include <errno.h>
#include <stdlib.h>

#define SAME_PART	10		/* one event in this many may lack its counterpart */
#define EQUAL_PART	100		/* at most one event in this many may share its time */

struct moment {
	uint64_t time_ns, tid;
	uint32_t event;
};

static int moment__compare(const void *a, const void *b, void *ctx __attribute__((unused)))
{
	const struct moment *x = a, *y = b;

	return cmp3(x->time_ns, y->time_ns) ?: cmp3(x->tid, y->tid) ?: cmp3(x->event, y->event);
}

static struct moment *side__moments(const struct align_side *side)
{
	struct moment *v = malloc(side->nr * sizeof(*v));
	uint32_t i;

	for (i = 0; v && i < side->nr; i++)
		v[i] = (struct moment){
			side->events[i].time_ns, side->tids[side->events[i].thread], i,
		};
	if (v)
		array__sort(v, side->nr, sizeof(*v), moment__compare, NULL);
	return v;
}

/* Return: whether a stack and a launch may belong together, judged by kinds and known names. */
static bool events__fit(const struct align_event *stack, const struct align_event *launch)
{
	return stack->kind == launch->kind &&
	       (!stack->name || !launch->name || stack->name == launch->name);
}

/* Return: the number of moments at the start of @v that have the time and thread of v[0]. */
static uint32_t moments__equal(const struct moment *v, uint32_t nr)
{
	uint32_t i;

	for (i = 1; i < nr && v[i].time_ns == v->time_ns && v[i].tid == v->tid; i++)
		;
	return i;
}

/*
 * Matches the first @nr stacks with the first @nr launches of one time and thread, in order.
 * Return: whether each stack fits its launch.
 */
static bool align__take(struct align *a, const struct align_side *stacks,
			const struct align_side *launches, const struct moment *x,
			const struct moment *y, uint32_t nr)
{
	uint32_t i;

	for (i = 0; i < nr; i++) {
		const struct align_event *stack = &stacks->events[x[i].event];
		const struct align_event *launch = &launches->events[y[i].event];

		if (!events__fit(stack, launch))
			return false;
		a->match[y[i].event] = x[i].event;
		a->match_back[x[i].event] = y[i].event;
		a->pair[launch->thread] = stack->thread;
	}
	return true;
}

int align__same(struct align *a, const struct align_side *stacks, const struct align_side *launches)
{
	struct moment *x = side__moments(stacks), *y = side__moments(launches);
	uint32_t i = 0, k = 0, nr = 0, nr_equal = 0, of_x, of_y, n;
	bool fit = true;
	int err = x && y ? 0 : -ENOMEM, order;

	while (!err && fit && i < stacks->nr && k < launches->nr) {
		order = cmp3(x[i].time_ns, y[k].time_ns) ?: cmp3(x[i].tid, y[k].tid);
		of_x = moments__equal(x + i, stacks->nr - i);
		of_y = moments__equal(y + k, launches->nr - k);
		/*
		 * Match nothing if a stack or a launch is missing here: it is unknown which event
		 * is missing.
		 */
		if (!order && of_x == of_y) {
			fit = align__take(a, stacks, launches, x + i, y + k, of_x);
			nr += of_x;
			nr_equal += of_x > 1 ? of_x : 0;
		}
		i += order <= 0 ? of_x : 0;
		k += order >= 0 ? of_y : 0;
	}
	free(x);
	free(y);
	n = max_t(uint32_t, stacks->nr, launches->nr);
	/* If many events have equal times, the clock is coarse, and equal times prove nothing. */
	if (!err && fit && nr >= n - n / SAME_PART && nr_equal <= n / EQUAL_PART) {
		a->nr_offsets = 1;
		return 1;
	}
	for (i = 0; i < stacks->nr; i++)
		a->match_back[i] = ALIGN_NONE;
	for (k = 0; k < launches->nr; k++)
		a->match[k] = ALIGN_NONE;
	for (k = 0; k < launches->nr_threads; k++)
		a->pair[k] = NO_INDEX;
	return err;
}
