/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * slice.h - something that a thread was in from one time to another, for timelines
 *
 * Made by whoever reads the records of such things, told to struct session_sink, and drawn on the
 * thread's own track. Slices of one thread are expected to nest.
 */
#ifndef MERGE_SLICE_H
#define MERGE_SLICE_H

#include <stdbool.h>
#include <stdint.h>

enum slice_kind {
	SLICE_API,			/* a call of CUDA's API */
	SLICE_NVTX,			/* a range of the program's own; of no length: a mark */
	NR_SLICE_KINDS
};

struct slice {
	uint64_t start_ns, end_ns;
	uint64_t key;			/* JOIN_KEY() of its process and its correlation id */
	const char *name;		/* interned */
	uint32_t thread;		/* NO_INDEX: not known */
	uint32_t chain;			/* set by the timeline: its launch's, or NO_INDEX */
	enum slice_kind kind;
	bool launch_only;		/* not wanted unless it is a launch that is */
};

/* Return: a word for it, as "api"; a call that is a launch is told as "launch". */
const char *slice__category(const struct slice *slice);

#endif /* MERGE_SLICE_H */
