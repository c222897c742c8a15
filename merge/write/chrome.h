/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * chrome.h - a timeline in Chrome's JSON trace format, for Perfetto and chrome://tracing
 *
 * Device work is one slice each, on a track for each (GPU, context, stream); slices on a track must
 * nest, so records that overlap spill to further tracks of the stream. Each launch is a slice on
 * its host thread's track, and a flow arrow leads from it to each slice of work that it caused.
 * A launch has a time and no duration: its slice is a marker, at most 1 us wide. Work of a graph's
 * node also has the call path that made the node.
 *
 * Times are microseconds with three decimals, printed from integers, after otherData.base_ns.
 */
#ifndef MERGE_CHROME_H
#define MERGE_CHROME_H

#include <stdio.h>

#include "write/timeline.h"

/*
 * Writes the events that @t's sink has collected. Return: 0 or -ENOMEM; an error of @f stays in its
 * error flag.
 */
int chrome__write(struct timeline *t, const struct session *s, FILE *f);

#endif /* MERGE_CHROME_H */
