/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * live.h - memory that is live when the next file of a recording begins
 *
 * Memory events are passed on in the order of their numbers. Each file has a sequence of events
 * without gaps, which the next file continues. A file begins with all memory that is live at that
 * time, as CARRIED events, whose numbers precede the file's own events. So each file shows who
 * holds memory, as if it had recorded the processes from their beginning.
 */
#ifndef MERGE_LIVE_H
#define MERGE_LIVE_H

#include "model/feature.h"

#define LIVE_MAX	(8u << 20)	/* maximum number of live allocations of all processes */

extern const struct feature_split memory_split;

#endif /* MERGE_LIVE_H */
