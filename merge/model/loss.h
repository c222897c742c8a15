/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * loss.h - the account of a recording: launches, records that arrived, and losses
 *
 * Loss is never silent: each way of losing something has a counter here, and every merge ends by
 * printing a line for each counter that is not zero.
 */
#ifndef MERGE_LOSS_H
#define MERGE_LOSS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "xpu_record.h"

struct loss {
	uint64_t nr_launches;		/* number of launch records, except those counted separately
					 * below */
	uint64_t nr_matched;		/* number of launches in nr_launches with at least one
					 * device record */
	uint64_t nr_pending;		/* number of launches in nr_launches without device
					 * records */
	uint64_t nr_duplicates;		/* number of launches in nr_pending whose id was already in
					 * use */
	uint64_t nr_cut_off;		/* number of launches in nr_pending whose process ended
					 * before it sent its last records */
	uint64_t nr_captured;		/* number of launches captured into graphs and not run,
					 * counted separately */
	uint64_t nr_refused;		/* number of launches for which CUDA returned an error,
					 * counted separately */
	uint64_t nr_no_bytes;		/* number of copies and memsets of 0 bytes, counted
					 * separately */
	uint64_t at_detach;		/* launches without device work at the detach, counted
					 * separately */
	uint64_t nr_works;		/* number of device records */
	uint64_t nr_orphans;		/* number of device records without a launch; does not
					 * include the records that the next two members count */
	uint64_t before_attach;		/* device records of work launched before xpuload
					 * attached */
	uint64_t after_detach;		/* device records of work launched after xpuload detached */
	uint64_t at_edges;		/* launches made while xpuload attached or detached its
					 * probes */

	uint64_t recorder[XPU_LOST_NR];	/* the loader's counts, by enum xpu_lost_kind */
	uint64_t recorder_other;	/* losses of kinds that this version does not know */
	uint64_t missing_launches;	/* launches that the shim counted but the file lacks */
	uint64_t missing_works;		/* device records that the shim packed but the file lacks */
	uint64_t missing_calls;
	uint64_t missing_batches;
	uint64_t missing_ranges;	/* events of NVTX ranges that the file lacks */
	uint64_t dropped_ranges;
	uint64_t missing_allocs;	/* memory events that the file lacks */
	uint64_t alloc_gaps;		/* memory events whose numbers were still missing when their
					 * process ended */
	uint64_t bad_allocs;		/* impossible memory events */
	uint64_t dropped_cupti;
	uint64_t dropped_shim;
	uint64_t taken;			/* device records that programs collected themselves */
	uint64_t unfinished;
	uint64_t unfinished_at_detach;

	uint64_t bad_times;		/* device records without times */
	uint64_t bad_calls;		/* API calls without times */
	/* events whose times are outside the recording */
	uint64_t outside_launches, outside_works, outside_calls, outside_waits, outside_ranges;
	uint64_t outside_allocs, outside_windows, outside_stalls, outside_samples;
	uint64_t bad_refs;		/* ids that no record defines */
	uint64_t crowded;		/* events left out because they were more than any real
					 * program has */
	uint64_t unknown_records;	/* records of types that this version does not know */
	uint64_t bad_batches;		/* damaged batches: the part before the damage was used */
	uint64_t bad_header;		/* 1: the file's header is damaged */
	uint64_t damaged_blocks;	/* blocks of records that are damaged or missing */
	uint64_t damaged_launches;	/* launches in these blocks, as the blocks' headers say */
	uint64_t damaged_bytes;		/* damaged bytes of the file that are not at its end */
	uint64_t cut_bytes;		/* bytes at the end of the file that are not a whole
					 * record */
	uint64_t corrupt_bytes;		/* bytes after damage, up to the end of the file */
	uint64_t not_closed;		/* 1: the file has no END record */
	uint64_t unknown_nodes;		/* device records of graph nodes whose creation was not
					 * recorded */
	uint64_t no_stack;		/* launches and graph nodes without a call path */
	uint64_t truncated;		/* launches whose call path is longer than recorded */
	uint64_t samples_no_stack;	/* CPU samples without a call path */
	uint64_t samples_truncated;	/* CPU samples whose call path is longer than recorded */
	uint64_t bad_metrics;		/* metrics, or rows of metrics, that are impossible */
	uint64_t missing_metrics;	/* rows of metrics that were sampled but are not in the
					 * file */
	uint64_t metric_overflows;	/* how often the GPU's memory for samples was full */
	uint64_t metric_gap_us;		/* time without metric samples */
	uint64_t stalls_full;		/* how often the GPU's memory for PC samples was full */
	uint64_t stalls_uncovered_us;	/* device time of kernels without the samples that were
					 * requested */
	uint64_t stalls_unexplained;	/* PC samples that CUPTI counts but does not deliver */
	uint64_t unsymbolized;		/* frames shown without a function name */
	uint64_t uncertain;		/* frames whose shown function may be wrong */
	uint64_t nr_frames;		/* number of frames shown */
};

/* Adds the losses of another recording. */
void loss__add(struct loss *to, const struct loss *l);

/* Return: the N of "lost N": launches and records known to be missing, counted once each. */
uint64_t loss__lost(const struct loss *l);

/* Return: the N of "unmatched N". */
static inline uint64_t loss__unmatched(const struct loss *l)
{
	return l->nr_pending + l->nr_orphans;
}

/* one counter, for machine-readable results */
struct loss_counter {
	char name[40];			/* such as "bad_times" or "lost_sample" */
	const char *meaning;
	uint64_t count;
	bool loss;			/* false: a remark */
};

/* Sets @counter to counter @i, counted from 0. Return: whether it exists. */
bool loss__counter_at(const struct loss *l, size_t i, struct loss_counter *counter);

/* Return: whether nothing at all is missing, unmatched or unnamed; remarks do not count. */
bool loss__clean(const struct loss *l);

/*
 * Prints "launches N matched N unmatched N lost N" and, for each counter that is not zero, a line
 * with its meaning. Each line begins with @prefix.
 */
void loss__print(const struct loss *l, FILE *f, const char *prefix);

/* Prints the lines of loss__print() after the first line. */
void loss__print_lines(const struct loss *l, FILE *f, const char *prefix);

#endif /* MERGE_LOSS_H */
