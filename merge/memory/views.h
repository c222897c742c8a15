/* SPDX-License-Identifier: GPL-3.0-or-later */
/* views.h - the options --memory and --at: which memory is shown, and at which moments */
#ifndef MERGE_VIEWS_H
#define MERGE_VIEWS_H

#include "join/session.h"
#include "model/feature.h"

/* which memory the output shows; unless this is MEMORY_NONE, the output shows nothing else */
enum memory_view {
	MEMORY_NONE,
	MEMORY_LIVE,			/* live memory at a moment; without a moment, at the end */
	MEMORY_PEAK,
	MEMORY_ALLOCATED,		/* all allocated memory */
	MEMORY_LEAKED,			/* memory that was never freed */
	MEMORY_FAILED,			/* allocations that CUDA refused */
};

#define MAX_MOMENTS	256		/* maximum number of moments in --at */

/* the values of --memory and --at */
struct memory_opts {
	enum memory_view view;
	uint64_t at_ns[MAX_MOMENTS];	/* for a merge, in rising order; for diff, one for each
					 * side */
	size_t nr_at;
	const char *at;			/* argument of --at */
	bool at_failure[MAX_MOMENTS];
};

/* the moments of a session */
struct moments {
	const uint64_t *at_ns;		/* counted from the recording's start, in rising order; the
					 * requested moment is the last */
	size_t nr;
	bool at_failure;		/* the requested moment is the last failure */
};

extern const struct feature_options memory_options;

enum memory_view memory_view(const struct session_opts *opts);

/* Return: all moments of --at; for a side of diff, only the moment of this side. */
struct moments memory__moments(const struct session_opts *opts);

#endif /* MERGE_VIEWS_H */
