/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * chrome.h - a timeline in Chrome's JSON trace format, for Perfetto and chrome://tracing
 *
 * Each piece of device work is a slice. Each (GPU, context, stream) has a track; slices on a track
 * must nest, so records that overlap go to further tracks of the stream. Each launch is a slice on
 * its host thread's track, and a flow arrow leads from it to each slice of work that it caused. A
 * launch has a timestamp but no duration, so its slice is a marker, at most 1 us wide. Work has the
 * call path of its launch; work of a graph has the call path that created its node.
 *
 * Timestamps are microseconds since otherData.base_ns, with three decimals, printed from integers.
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
