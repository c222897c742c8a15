/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * script.h - reads what "perf script" prints
 *
 *	comm  pid/tid [cpu]  seconds.micros:  period event:
 *		address function+0xoffset (file)
 *		...
 *
 * and an empty line. Which of the words of the first line are there, perf's -F says; those of the
 * default are not all of them. Names may hold blanks. Lines behind a frame may tell its place in the
 * source; other lines, those of registers for instance, are passed over.
 */
#ifndef MERGE_PERF_SCRIPT_H
#define MERGE_PERF_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "import/perf/events.h"
#include "util.h"

struct script {
	struct strpool strings;		/* names of threads */
	struct strpool event_names;	/* by number: those of events */
	struct strpool stacks;		/* "frame;frame;...", root first; "": none */
	ARRAY(struct perf_event) events;
	ARRAY(struct perf_sample) samples;	/* by time; stack is a number in stacks, ... */
	ARRAY(const char *) stack_texts;	/* ... by which this has them */
	int clock;			/* of the times: PERF_CLOCK_*, or the clock's id */
	bool has_times, has_ids, has_pids;	/* what is not there is 0 in samples */
	uint64_t nr_strange;		/* lines that are not understood */
};

/* Return: whether @buf looks like it. */
bool script__is(const char *buf, size_t size);

/*
 * script__read - read all of @buf, which is not needed afterwards
 * @srcline: put places in the source behind the functions, if they are told
 *
 * Return: 0 or -ENOMEM.
 */
int script__read(struct script *s, const char *buf, size_t size, bool srcline);
void script__exit(struct script *s);

/*
 * Return: whether @event is a probe on a function of CUDA that launches; *@api is set to that
 * function, which is part of the name.
 */
bool perf_event__launches(const char *event, const char **api, size_t *len);

#endif /* MERGE_PERF_SCRIPT_H */
