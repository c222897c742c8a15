/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * perfscript.h - device work as the samples that `perf script` prints, for what reads those
 *
 *	comm  pid/tid  seconds.nanoseconds:  period gpu-time:
 *		0 [GPU_Kernel]name ([gpu])
 *		0 function (/path/of/file)
 *		...
 *
 * One sample, innermost frame first, for each device record, CPU sample (cpu-clock), wait for the
 * device (gpu-wait; one for each thing that it did meanwhile) and, of each call path at a time,
 * what it was off the CPU (off-cpu); in order of time: that of the launch, when its thread was
 * there. Its period is the time that it took in ns, 0 for a launch whose work was never seen. A
 * frame without a name is [unknown] with its address in the file, as perf has it.
 *
 * The readers are regular expressions, so blanks in names of threads, and a '#' or '{' that one
 * begins with, become '_'; blanks and parentheses in those of files, too; and a function that begins
 * with a parenthesis, which they take for something else, has braces: {anonymous namespace}::f().
 */
#ifndef MERGE_PERFSCRIPT_H
#define MERGE_PERFSCRIPT_H

#include <stdio.h>

#include "join/session.h"

struct perfscript;

/* Return: one without samples for the caller to perfscript__free(), or NULL. */
struct perfscript *perfscript__new(void);
void perfscript__free(struct perfscript *p);

/* Return: what to put into struct session_opts, owned by @p. Keeps 40 bytes a record in memory. */
struct session_sink *perfscript__sink(struct perfscript *p);

/*
 * Writes the events that the sink has collected. Return: 0 or -ENOMEM; an error of @f stays in its
 * error flag.
 */
int perfscript__write(struct perfscript *p, const struct session *s, FILE *f);

#endif /* MERGE_PERFSCRIPT_H */
