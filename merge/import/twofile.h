/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * twofile.h - reads recordings of older tools: stacks in one file, CUPTI's records in another
 *
 * The stacks are lines "timestamp_ns comm pid tid cpu frame;frame;...", root first, from uprobes on
 * cudaLaunchKernel and similar functions; the other file has one of the formats of gputrace.h. The
 * API call of device work is found exactly, by correlation id. A stack has no such id: its call is
 * found by order, time and kernel names (align.h, kernel_names.h), or remains uncertain.
 */
#ifndef MERGE_TWOFILE_H
#define MERGE_TWOFILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "import/align/align.h"
#include "import/import.h"
#include "import/input.h"
#include "util.h"

struct twofile_opts {
	const char *cpu, *gpu;		/* file names for messages; no cpu: device records only */
	uint64_t tolerance_ns;
};

struct twofile {
	uint64_t nr_stacks, nr_launches;	/* nr_launches: number of launches of the kinds that
						 * the stacks have */
	uint64_t nr_certain, nr_uncertain, nr_no_stack;	/* number of launches by match result */
	uint64_t nr_no_launch;			/* number of stacks without a launch */
	uint64_t nr_uncertain_stacks;		/* number of stacks whose launch is unknown or
						 * missing */
	uint64_t nr_calls, nr_works;
	uint32_t nr_paths, nr_named;		/* number of call paths, and of call paths that name
						 * a kernel */
	uint64_t stacks_ns, gpu_ns, work_ns;	/* time spans of stacks and of records, and total
						 * duration of device work */
	int64_t offset_ns;
	struct align_stretch stretches[ALIGN_STRETCHES];
	uint32_t nr_stretches;			/* number of stretches; above 1: no single offset
						 * fits all stacks */
	bool was_set;				/* a clock seems to have been set */
	double jitter_ns, drift_ppm;
	uint32_t nr_offsets, nr_pairs, nr_stack_threads, nr_launch_threads;
	bool damaged;
	bool odd;			/* some input was not read */
};

/**
 * twofile__read - turn the two files into a recording
 * @cpu, @gpu: closed as soon as they have been read; @cpu may be NULL
 * @msgs: messages about odd input
 *
 * Return: 0, -EINVAL if the files have no events, with a message in @msgs, or -ENOMEM.
 */
int twofile__read(struct twofile *t, struct import *im, const struct twofile_opts *opts,
		  struct input_file *cpu, struct input_file *gpu, struct msgs *msgs);

/* Prints one line about the match, or more lines with @summary. */
void twofile__print(const struct twofile *t, FILE *f, bool summary);

#endif /* MERGE_TWOFILE_H */
