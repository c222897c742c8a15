/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * pftrace.h - a timeline in Perfetto's own format, for recordings too large for JSON
 *
 * Tracks and slices are as in chrome.h. Names, call paths and files are interned: written once,
 * then referenced by ID. A launch and its work carry the call path of the launch as the annotation
 * "call path", root first; a CPU sample has its path as a call stack. A flow leads from a launch to
 * its work; if the work is several records, as for a graph, the flow continues from one record to
 * the next. Times are ns of the recording's clock.
 *
 * Source: third_party/perfetto/perfetto.proto.
 */
#ifndef MERGE_PFTRACE_H
#define MERGE_PFTRACE_H

#include <stdio.h>

#include "write/timeline.h"

/*
 * Writes the events that @t's sink has collected. Return: 0 or -ENOMEM; an error of @f stays in its
 * error flag.
 */
int pftrace__write(struct timeline *t, const struct session *s, FILE *f);

#endif /* MERGE_PFTRACE_H */
