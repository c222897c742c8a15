/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * chrome.h - a timeline in Chrome's JSON trace format, for Perfetto and chrome://tracing
 *
 * Each piece of device work is a slice. Each (GPU, context, stream) has a track; slices on a track
 * must nest, so records that overlap go to further tracks of the stream. Each launch is a slice on
 * its host thread's track, and an arrow leads from it to each slice of work that it caused: both
 * have one "bind_id". A launch has a time and no duration: its slice is a marker, at most 1 us
 * wide. Launches and work have a call path, a number in "stackFrames". The path of a launch is the
 * path of its work, except in a graph: there, work has the path that made its node.
 *
 * A recording has millions of events, so each has only the members that viewers need.
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
