/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * script.h - reads what "perf script" prints
 *
 *	comm  pid/tid [cpu]  seconds.micros:  period event:
 *		address function+0xoffset (file)
 *		...
 *
 * followed by an empty line. The option -F of perf selects the words of the first line; by default,
 * some words are missing. Names may contain blanks. A line after a frame may name its source line;
 * other lines, such as register values, are skipped.
 */
#ifndef MERGE_PERF_SCRIPT_H
#define MERGE_PERF_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "import/perf/events.h"
#include "util.h"

struct script {
	struct strpool strings;		/* thread names */
	struct strpool event_names;	/* event names, by number */
	struct strpool stacks;		/* "frame;frame;...", root first, by number; "": no stack */
	ARRAY(struct perf_event) events;
	ARRAY(struct perf_sample) samples;	/* in time order; .stack is a number in @stacks */
	ARRAY(const char *) stack_texts;	/* the text of each stack, by number */
	int clock;			/* clock of the times: PERF_CLOCK_*, or the clock's id */
	bool has_times, has_ids, has_pids;	/* which of these fields the samples have; missing
						 * fields are 0 in all samples */
	uint64_t nr_strange;		/* number of lines that could not be read */
	uint64_t nr_lost;		/* number of samples that the kernel lost */
};

/* Return: whether @buf looks like the output of perf script. */
bool script__is(const char *buf, size_t size);

/*
 * script__read - parse all of @buf, which is not needed afterwards
 * @srcline: add source lines to the functions, if @buf has them
 *
 * Return: 0 or -ENOMEM.
 */
int script__read(struct script *s, const char *buf, size_t size, bool srcline);
void script__exit(struct script *s);

/*
 * Return: whether @event is a probe on a CUDA function that launches device work; *@api is then set
 * to the function's name in @event.
 */
bool perf_event__launches(const char *event, const char **api, size_t *len);

#endif /* MERGE_PERF_SCRIPT_H */
