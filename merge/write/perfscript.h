/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * perfscript.h - device work as samples that `perf script` would print, for tools that read its
 * output
 *
 *	comm  pid/tid  seconds.nanoseconds:  period gpu-time:
 *		0 [GPU_Kernel]name ([gpu])
 *		0 function (/path/of/file)
 *		...
 *
 * Each device record and each CPU sample (cpu-clock) is a sample, innermost frame first. A wait for
 * the device has one sample (gpu-wait) for each kind of work that the device did meanwhile. Each
 * sum of a thread's off-CPU intervals that have the same call path and are close together is one
 * sample (off-cpu). Samples are in order of time; device work has the time of its launch, if the
 * launch was recorded. The period is the duration in ns; it is 0 for a launch whose work was never
 * seen. A frame without a name is shown as in perf: [unknown], and the address in the file.
 *
 * The readers use regular expressions. Therefore blanks and a leading '#' or '{' in thread names,
 * and blanks and parentheses in file names, become '_'. Readers misparse a function that begins
 * with a parenthesis, so it gets braces: {anonymous namespace}::f().
 */
#ifndef MERGE_PERFSCRIPT_H
#define MERGE_PERFSCRIPT_H

#include <stdio.h>

#include "join/session.h"

struct perfscript;

/* Return: a collector without samples, for the caller to perfscript__free(), or NULL. */
struct perfscript *perfscript__new(void);
void perfscript__free(struct perfscript *p);

/* Return: the sink for struct session_opts, owned by @p. Keeps 40 bytes per record in memory. */
struct session_sink *perfscript__sink(struct perfscript *p);

/*
 * Writes the events that the sink has collected. Return: 0 or -ENOMEM; an error of @f stays in its
 * error flag.
 */
int perfscript__write(struct perfscript *p, const struct session *s, FILE *f);

#endif /* MERGE_PERFSCRIPT_H */
