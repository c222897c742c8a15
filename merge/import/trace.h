/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * trace.h - imports the API calls, device work and stacks of a file that gputrace.h reads
 *
 *	trace__read(&t, &import, names, nr, &msgs);
 *	trace__print(&t, stderr, summary);
 *
 * PyTorch's profiler also records which operators and Python functions each thread ran, with times
 * on the same clock. These form the exact call path of a launch. Annotations become the ranges of
 * --by nvtx. They are also the call path of a launch outside all operators and functions. Each file
 * is from one rank; several files make one recording.
 */
#ifndef MERGE_TRACE_H
#define MERGE_TRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "import/import.h"
#include "util.h"

struct trace {
	uint64_t nr_files;
	uint64_t nr_calls, nr_works, nr_ops;
	uint64_t nr_launches;
	uint64_t nr_in_ops, nr_in_annotations;	/* number of launches with a path of operators, or
						 * of annotations */
	uint64_t nr_no_stack;		/* number of launches without a call path */
	uint64_t nr_too_deep;		/* number of operators and annotations that are left out
					 * because they are nested too deeply */
	uint64_t work_ns;
	bool damaged;			/* a file is damaged: its end is missing */
	bool odd;			/* some input could not be read */
};

/**
 * trace__read - import files
 * @t: filled in
 * @names: the names of @nr files
 * @msgs: gets messages about odd input
 *
 * Return: 0; -EINVAL, with a message, if a file cannot be read or has another format; or -ENOMEM.
 */
int trace__read(struct trace *t, struct import *im, const char *const *names, size_t nr,
		struct msgs *msgs);

/* Does the same as trace__read(), but reads one file at @buf; for tests. */
int trace__read_mem(struct trace *t, struct import *im, const char *buf, size_t size,
		    struct msgs *msgs);

void trace__print(const struct trace *t, FILE *f, bool summary);

#endif /* MERGE_TRACE_H */
