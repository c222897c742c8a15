/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * events.h - the events that perf sampled, and the CPU time that one sample represents
 *
 * The period of cpu-clock and task-clock samples is their CPU time. A sample of cycles represents
 * the time between two samples: 1 / frequency if perf sampled at a known frequency, otherwise the
 * usual time between two samples of a thread. Samples of other events represent no CPU time.
 */
#ifndef MERGE_PERF_EVENTS_H
#define MERGE_PERF_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util.h"

#define PERF_CLOCK_UNKNOWN	(-1)	/* the file does not name the clock */
#define PERF_CLOCK_OWN		(-2)	/* a Linux clock that only perf uses */

/*
 * Classes of events, in order of preference. The samples of only one class are used, because two
 * events that measure time would count the same time twice.
 */
enum perf_class {
	PERF_CPU_CLOCK,
	PERF_TASK_CLOCK,
	PERF_CYCLES,
	PERF_REF_CYCLES,
	PERF_UNNAMED,			/* the file does not name the event */
	PERF_OTHER,
};

struct perf_event {
	const char *name;		/* interned by the caller; "": unknown */
	enum perf_class class;
	uint64_t freq_hz;		/* 0: unknown, or sampled by event count */
	uint64_t nr;			/* number of samples */
	bool used;			/* the samples count as CPU time */
	uint32_t sample_ns;		/* CPU time of each sample; 0: use the sample's period */
	bool guessed;			/* sample_ns is a guess: the usual time between samples */
};

struct perf_sample {
	uint64_t time_ns, period;	/* period: 0: unknown */
	uint32_t pid, tid, cpu;
	uint32_t event;			/* index of the sample's event */
	uint32_t stack, copy;		/* numbers chosen by the caller */
	const char *comm;		/* owned by the caller */
};

/* Return: the class of an event with a name such as "cpu_core/cycles/u" or "cpu-clock:ppp". */
enum perf_class perf_event__class(const char *name);

/*
 * perf_events__settle - decide which samples represent CPU time, and how much
 * @events: @nr_events events; this function sets their members @used, @sample_ns and @guessed
 * @samples: @nr samples, in order of time
 *
 * Return: 0 or -ENOMEM.
 */
int perf_events__settle(struct perf_event *events, size_t nr_events,
			const struct perf_sample *samples, size_t nr);

/* Adds messages about samples of the file @path that are left out, or whose CPU time is a guess. */
void perf_events__complain(const struct perf_event *events, size_t nr, const char *path,
			   struct msgs *msgs);

/* Return: the CPU time that @s represents, in ns. */
uint32_t perf_event__ns(const struct perf_event *e, const struct perf_sample *s);

#endif /* MERGE_PERF_EVENTS_H */
