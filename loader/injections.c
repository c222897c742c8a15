// SPDX-License-Identifier: GPL-3.0-or-later
#include "injections.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/host_clock.h"
#include "base/msg.h"
#include "inject/inject.h"
#include "target/running.h"
#include "util.h"
#include "xpu_record.h"

#define MAX_REFUSALS	16		/* different reasons that are printed */
#define FINISH_MS	2000		/* maximum wait for an injection when xpuload ends */
#define LATE_ATTEMPTS	3		/* attempts for a process that has just loaded CUDA */
#define LATE_NS		2000000000ull	/* time from one of these attempts to the next */

struct queued {
	struct running_process process;	/* a pid of 0: the process has ended or runs another
					 * program */
	unsigned int attempts;		/* number of further attempts after a refusal */
	uint64_t due_ns;		/* CLOCK_MONOTONIC of the next attempt */
};

struct refusal {
	uint64_t nr;
	pid_t pid;			/* the first process with this reason */
	char comm[XPU_COMM_LEN];
	char why[INJECT_WHY];
};

struct injections {
	const char *shim;
	ARRAY(struct queued) queue;
	size_t next;			/* index of the first process that has not had a turn */
	size_t current;			/* index of the process of the injection @now */
	bool runs;			/* @now is in progress */
	struct injection now;
	char names[512];		/* processes that have got the shim */
	size_t nr_unnamed;		/* number of further processes that have got the shim */
	struct refusal refusals[MAX_REFUSALS];
	uint64_t nr_others;		/* refusals that have no room in @refusals */
};

struct injections *injections__new(const char *shim)
{
	struct injections *i = calloc(1, sizeof(*i));

	if (i)
		i->shim = shim;
	return i;
}

void injections__free(struct injections *i)
{
	if (!i)
		return;
	free(i->queue.v);
	free(i);
}

static void note_success(struct injections *i, pid_t pid, const struct inject_result *result)
{
	size_t len = strlen(i->names);
	char comm[XPU_COMM_LEN], name[64];

	running__comm(pid, comm);
	snprintf(name, sizeof(name), "%spid %d (%s)", len ? ", " : "", pid, comm);
	if (!i->nr_unnamed && len + strlen(name) < sizeof(i->names))
		strcpy(i->names + len, name);
	else
		i->nr_unnamed++;
	msg__info("put the shim into pid %d (%s), and one of its threads stood still for %.2f "
		  "ms, of which it waited %.2f ms for a CPU", pid, comm, result->stopped_ns / 1e6,
		  result->cpu_wait_ns / 1e6);
}

static void note_refusal(struct injections *i, pid_t pid, const char *why)
{
	struct refusal *r;

	for (r = i->refusals; r < i->refusals + MAX_REFUSALS && r->nr; r++)
		if (!strcmp(r->why, why))
			break;
	if (r == i->refusals + MAX_REFUSALS) {
		i->nr_others++;
		return;
	}
	if (r->nr++)
		return;
	r->pid = pid;
	running__comm(pid, r->comm);
	snprintf(r->why, sizeof(r->why), "%s", why);
	msg__warn("cannot put the shim into pid %d (%s): %s", pid, r->comm, why);
}

void injections__add(struct injections *i, pid_t pid, bool late)
{
	struct queued q = { .attempts = late ? LATE_ATTEMPTS - 1 : 0 };

	array_each(&i->queue, known)
		if (known->process.pid == pid)
			return;
	if (running__look(&q.process, pid) && array_push(&i->queue, q))
		note_refusal(i, pid, "out of memory");
}

void injections__forget(struct injections *i, pid_t pid)
{
	array_each(&i->queue, q)
		if (q->process.pid == pid)
			q->process.pid = 0;
}

int injections__fd(const struct injections *i)
{
	return i->runs ? i->now.fd : -1;
}

bool injections__wait(const struct injections *i)
{
	return i->runs || i->next < i->queue.nr;
}

uint64_t injections__nr_refused(const struct injections *i)
{
	uint64_t nr = i->nr_others;
	size_t k;

	for (k = 0; k < MAX_REFUSALS; k++)
		nr += i->refusals[k].nr;
	return nr;
}

static pid_t end(struct injections *i)
{
	struct queued *q = &i->queue.v[i->current];
	struct inject_result result;
	int err = inject__end(&i->now, &result);

	i->runs = false;
	if (err == -ENOENT) {
		injections__forget(i, i->now.pid);
	} else if (!err) {
		note_success(i, i->now.pid, &result);
	} else if (err != -EEXIST && err != -ESRCH && q->process.pid && q->attempts) {
		q->attempts--;
		q->due_ns = clock__now() + LATE_NS;
	} else if (err != -EEXIST && err != -ESRCH && q->process.pid) {
		note_refusal(i, i->now.pid, result.why);
	}
	return i->now.pid;
}

/* Return: the process whose turn it is, or NULL. */
static struct queued *choose(struct injections *i)
{
	uint64_t now = clock__now();

	if (i->next < i->queue.nr)
		return &i->queue.v[i->next++];
	array_each(&i->queue, q)
		if (q->due_ns && q->due_ns <= now)
			return q;
	return NULL;
}

pid_t injections__step(struct injections *i, int timeout_ms)
{
	struct queued *q;
	pid_t ended = 0;

	if (i->runs && inject__is_over(&i->now, timeout_ms))
		ended = end(i);
	if (i->runs)
		return ended;
	q = choose(i);
	if (!q)
		return ended;
	q->due_ns = 0;
	/* The pid may now belong to another process. */
	if (!q->process.pid || !running__is_there(&q->process))
		return ended;
	i->current = q - i->queue.v;
	inject__begin(&i->now, q->process.pid, i->shim);
	i->runs = true;
	return ended;
}

void injections__finish(struct injections *i)
{
	if (i->runs) {
		inject__is_over(&i->now, FINISH_MS);
		end(i);
	}
	array_each(&i->queue, q)
		if (q->due_ns && q->process.pid && running__is_there(&q->process))
			note_refusal(i, q->process.pid, "xpuload ended before its next attempt");
	for (; i->next < i->queue.nr; i->next++)
		if (i->queue.v[i->next].process.pid)
			note_refusal(i, i->queue.v[i->next].process.pid,
				     "xpuload ended before its turn");
}

void injections__print(const struct injections *i)
{
	const struct refusal *r;
	char more[64] = "";

	if (i->nr_unnamed)
		snprintf(more, sizeof(more), " and %zu more", i->nr_unnamed);
	if (i->names[0])
		msg__info("the shim was put into %s%s: it stays there, asleep", i->names, more);
	for (r = i->refusals; r < i->refusals + MAX_REFUSALS && r->nr; r++)
		msg__info("the shim could not be put into %llu process%s, such as pid %d (%s): %s",
			  (unsigned long long)r->nr, r->nr == 1 ? "" : "es", r->pid, r->comm,
			  r->why);
	if (i->nr_others)
		msg__info("the shim could not be put into %llu more processes for other reasons",
			  (unsigned long long)i->nr_others);
}
