/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * slice.h - a span of a thread's time with a name, for timelines
 *
 * The readers of calls and ranges make slices and pass them to struct session_sink. A timeline
 * draws slices on the thread's own track. Slices of one thread are expected to nest.
 */
#ifndef MERGE_SLICE_H
#define MERGE_SLICE_H

#include <stdbool.h>
#include <stdint.h>

enum slice_kind {
	SLICE_API,			/* a CUDA API call */
	SLICE_RANGE,			/* a range that the program marked; a mark has length 0 */
	NR_SLICE_KINDS
};

struct slice {
	uint64_t start_ns, end_ns;
	uint64_t key;			/* JOIN_KEY() of the slice's process and correlation id */
	const char *name;		/* interned */
	uint32_t thread;		/* NO_INDEX: the thread is unknown */
	uint32_t chain;			/* chain of the slice's launch, or NO_INDEX; set by the
					 * timeline */
	uint32_t range;			/* for SLICE_RANGE: index in ranges.list */
	enum slice_kind kind : 8;
	bool is_part;			/* --from or --to has cut the slice */
	bool launch_only;		/* keep the slice only if it turns out to be a launch that
					 * passes the filter */
};

#endif /* MERGE_SLICE_H */
