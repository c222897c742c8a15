// SPDX-License-Identifier: GPL-3.0-or-later
/* answer_waits.c - the line in the summary's first answer that says who waited for whom */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "escape.h"
#include "human.h"
#include "join/session.h"
#include "waits/state.h"
#include "write/shorten.h"

/*
 * Return: the thread that waited longest for GPUs, or NULL. Sets *@ns to how long it waited, and
 * *@nr to the number of threads that waited.
 */
static const struct thread *longest_wait(const struct session *s, uint64_t *ns, uint64_t *nr)
{
	const struct waits_state *w = waits_state__of(&s->model);
	size_t i, longest = 0;

	*nr = *ns = 0;
	for (i = 0; i < w->waited_ns.nr; i++) {
		*nr += w->waited_ns.v[i] != 0;
		if (w->waited_ns.v[i] <= *ns)
			continue;
		*ns = w->waited_ns.v[i];
		longest = i;
	}
	return *ns ? &s->model.threads.v[longest] : NULL;
}

/* Return: the call in which the threads named @comm waited longest, or NULL. */
static const char *longest_place(const struct session *s, const char *comm)
{
	const struct aggregate *longest = NULL;
	const struct stack *stack;

	array_each(&s->sums.aggregates, a) {
		if (s->model.leaves.v[a->leaf].kind == LEAF_GPU_WAIT &&
		    !strcmp(aggregate__owner(&s->sums.aggregates, a)->comm, comm) &&
		    (!longest || a->sum_ns > longest->sum_ns))
			longest = a;
	}
	stack = longest ? s->model.chains.v[longest->chain].stack : NULL;
	return stack && stack->nr ? stack->frames[stack->nr - 1]->name : NULL;
}

/* Return: the thread whose launches ended most of the idle time; NULL without --off-cpu. */
static const struct thread *longest_idle(const struct session *s)
{
	const struct idles *idles = &waits_state__of(&s->model)->idles;
	const struct idle_row *rows = idles->rows.v;
	uint64_t most_ns = 0, *ns;
	uint32_t longest = NO_INDEX;
	size_t i;

	ns = calloc(s->model.threads.nr + 1, sizeof(*ns));
	for (i = 0; i < idles->rows.nr && ns; i++) {
		if (rows[i].thread == NO_INDEX)
			continue;
		ns[rows[i].thread] += rows[i].ns;
		if (ns[rows[i].thread] > most_ns) {
			most_ns = ns[rows[i].thread];
			longest = rows[i].thread;
		}
	}
	free(ns);
	return longest == NO_INDEX ? NULL : &s->model.threads.v[longest];
}

static const char *thread__name(const struct session *s, const struct thread *t)
{
	return t->comm ?: model__proc_name(&s->model, t->proc);
}

/*
 * The parts of a line that says who waited for whom. Parts in the middle are left out if the line
 * gets too wide.
 */
struct waits_line {
	char who[256];
	char where[256], others[64];
	char gpu[64];
	char whom[64];
};

/* Prints text to a member of struct waits_line. The text is escaped for a terminal. */
#define PUT(to, ...)						\
do {								\
	char raw_[sizeof(to)];					\
								\
	snprintf(raw_, sizeof(raw_), __VA_ARGS__);		\
	escape__line(to, sizeof(to), raw_, ESCAPE_TEXT);	\
} while (0)

static void waits_line__fill(struct waits_line *l, const struct session *s,
			     const struct feature_answer *a)
{
	uint64_t nr, wait_ns;
	const struct thread *t = longest_wait(s, &wait_ns, &nr), *next = longest_idle(s);
	const char *place;
	char time[HUMAN_MAX];

	memset(l, 0, sizeof(*l));
	if (t) {
		PUT(l->who, "%s waited %s for the GPU", thread__name(s, t),
		    human__time(time, wait_ns));
		place = longest_place(s, thread__name(s, t));
		if (place)
			PUT(l->where, " in %s", place);
		if (nr > 1)
			PUT(l->others, ", longest of %" PRIu64 " threads", nr);
	} else {
		PUT(l->who, "no waits for the GPU recorded");
	}
	PUT(l->gpu, "; %s waited %s for work", a->nr_gpus > 1 ? "the GPUs" : "the GPU",
	    human__time(time, a->idle_ns));
	if (next)
		PUT(l->whom, ", most for %s", thread__name(s, next));
}

void waits__answer(const struct session *s, FILE *f, const struct feature_answer *a)
{
	unsigned int width = a->width;
	struct waits_line l;
	size_t len;

	waits_line__fill(&l, s, a);
	len = shorten__width(l.who) + shorten__width(l.gpu);
	if (width && len + shorten__width(l.whom) > width)
		*l.whom = '\0';
	len += shorten__width(l.whom);
	if (width && len + shorten__width(l.others) > width)
		*l.others = '\0';
	len += shorten__width(l.others);
	if (width && len + shorten__width(l.where) > width)
		*l.where = '\0';
	fprintf(f, "%s%s%s%s%s\n", l.who, l.where, l.others, l.gpu, l.whom);
}
