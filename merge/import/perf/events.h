/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * events.h - the events that perf sampled, and the CPU time that a sample of each stands for
 *
 * Samples of cpu-clock and task-clock have it as their period. Those of cycles stand for the time
 * between two of them: 1 / frequency where perf sampled by frequency, and that is known, or else the
 * usual distance between two samples of a thread. Other events are no time.
 */
#ifndef MERGE_PERF_EVENTS_H
#define MERGE_PERF_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util.h"

#define PERF_CLOCK_UNKNOWN	(-1)	/* perf does not tell */
#define PERF_CLOCK_OWN		(-2)	/* the kernel's own, of no use to others */

/* In the order in which they are preferred: two events of time tell one time twice. */
enum perf_class {
	PERF_CPU_CLOCK,
	PERF_TASK_CLOCK,
	PERF_CYCLES,
	PERF_REF_CYCLES,
	PERF_UNNAMED,			/* the file does not say which event it is */
	PERF_OTHER,
};

struct perf_event {
	const char *name;		/* interned by the caller; "": not told */
	enum perf_class class;
	uint64_t freq_hz;		/* 0: not known, or sampled by count */
	uint64_t nr;			/* samples */
	bool used;			/* they are CPU time */
	uint32_t sample_ns;		/* what each stands for; 0: its period */
	bool guessed;			/* sample_ns is the usual distance */
};

struct perf_sample {
	uint64_t time_ns, period;	/* period 0: not told */
	uint32_t pid, tid, cpu;
	uint32_t event;			/* index */
	uint32_t stack, copy;		/* the caller's */
	const char *comm;		/* the caller's */
};

/* Return: what @name, as in "cpu_core/cycles/u" or "cpu-clock:ppp", counts. */
enum perf_class perf_event__class(const char *name);

/*
 * perf_events__settle - say which samples are CPU time, and how much
 * @events: @nr_events, of which used, sample_ns and guessed are set
 * @samples: @nr, by time
 *
 * Return: 0 or -ENOMEM.
 */
int perf_events__settle(struct perf_event *events, size_t nr_events,
			const struct perf_sample *samples, size_t nr);

/* Says in @msgs what is left out, and what is guessed, of the file called @path. */
void perf_events__complain(const struct perf_event *events, size_t nr, const char *path,
			   struct msgs *msgs);

/* Return: the ns of CPU time that @s stands for. */
uint32_t perf_event__ns(const struct perf_event *e, const struct perf_sample *s);

#endif /* MERGE_PERF_EVENTS_H */
