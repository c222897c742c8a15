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
	uint64_t nr_launches;		/* launch records, except those counted apart below */
	uint64_t nr_matched;		/* of these, launches with at least one device record */
	uint64_t nr_pending;		/* of these, launches without device records */
	uint64_t nr_duplicates;		/* of the pending: their id was in use already */
	uint64_t nr_captured;		/* launch records apart: captured into graphs, not run */
	uint64_t nr_refused;		/* launch records apart: CUDA returned an error */
	uint64_t nr_no_bytes;		/* launch records apart: copies and sets of nothing */
	uint64_t at_detach;		/* launch records apart: without device work at the detach */
	uint64_t nr_works;		/* device records */
	uint64_t nr_orphans;		/* device records without a launch, except the next two */
	uint64_t before_attach;		/* device records launched before xpuload attached */
	uint64_t after_detach;		/* device records launched after xpuload detached */
	uint64_t at_edges;		/* launches that passed the probes while these came or went
					 * */

	uint64_t recorder[XPU_LOST_NR];	/* the loader's counts, by enum xpu_lost_kind */
	uint64_t recorder_other;	/* kinds that this version does not know */
	uint64_t missing_launches;	/* tagged by the shim, not in the file */
	uint64_t missing_works;		/* packed by the shim, not in the file */
	uint64_t missing_calls;
	uint64_t missing_batches;
	uint64_t missing_ranges;	/* events of NVTX ranges */
	uint64_t dropped_ranges;
	uint64_t missing_allocs;	/* events of memory */
	uint64_t alloc_gaps;		/* their numbers that nothing has, when a process ended */
	uint64_t bad_allocs;		/* events of memory that cannot be */
	uint64_t dropped_cupti;
	uint64_t dropped_shim;
	uint64_t taken;			/* device records that programs collected themselves */
	uint64_t unfinished;
	uint64_t unfinished_at_detach;

	uint64_t bad_times;		/* device records without times */
	uint64_t bad_calls;		/* API calls without times */
	/* Their times are not between the recording's begin and end. */
	uint64_t outside_launches, outside_works, outside_calls, outside_waits, outside_ranges;
	uint64_t outside_allocs, outside_windows, outside_stalls;
	uint64_t bad_refs;		/* ids that no record defines */
	uint64_t crowded;		/* events beyond the number that is compared with one
					 * another */
	uint64_t bad_batches;		/* batches damaged inside, used up to the damage */
	uint64_t bad_header;		/* 1: the file's header is damaged */
	uint64_t damaged_blocks;	/* damaged or missing blocks of records */
	uint64_t damaged_launches;	/* launches in these blocks, by the headers */
	uint64_t damaged_bytes;		/* damaged bytes of the file, not at its end */
	uint64_t cut_bytes;		/* at the end of the file, not a whole record */
	uint64_t corrupt_bytes;		/* bytes at the end of the file, after damage */
	uint64_t not_closed;		/* 1: there is no END record */
	uint64_t unknown_nodes;		/* device records of graph nodes whose making is not
					 * recorded */
	uint64_t no_stack;		/* launches and graph nodes without a call path */
	uint64_t truncated;		/* launches whose call path is longer than recorded */
	uint64_t samples_no_stack;	/* CPU samples without a call path */
	uint64_t samples_truncated;	/* CPU samples whose call path is longer than recorded */
	uint64_t bad_metrics;		/* metrics, or rows of them, that cannot be */
	uint64_t missing_metrics;	/* rows of metrics that were sampled and are not in the file */
	uint64_t metric_overflows;	/* the GPU's memory for samples was full */
	uint64_t metric_gap_us;		/* without samples */
	uint64_t stalls_full;		/* the GPU's memory for PC samples was full */
	uint64_t stalls_uncovered_us;	/* device time of kernels that has none of the samples wanted */
	uint64_t stalls_unexplained;	/* PC samples that CUPTI counts and does not tell */
	uint64_t unsymbolized;		/* frames shown without a function name */
	uint64_t nr_frames;		/* frames shown */
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

/* One counter, for programs. */
struct loss_counter {
	char name[40];			/* "bad_times", "lost_sample" */
	const char *meaning;
	uint64_t count;
	bool loss;			/* not a remark */
};

/* Return: whether there is a counter of number @i, from 0 on. */
bool loss__counter_at(const struct loss *l, size_t i, struct loss_counter *counter);

/* Return: whether nothing at all is missing, unmatched or unnamed; notes do not matter. */
bool loss__clean(const struct loss *l);

/*
 * Prints "launches N matched N unmatched N lost N" and, for each counter that is not zero, a line
 * that says what it means, each after @prefix.
 */
void loss__print(const struct loss *l, FILE *f, const char *prefix);

/* Prints the lines of loss__print() behind the first one. */
void loss__print_lines(const struct loss *l, FILE *f, const char *prefix);

#endif /* MERGE_LOSS_H */
