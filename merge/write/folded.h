/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * folded.h - folded stacks, one line a call path, for flamegraph.pl and its like
 *
 *	comm;frame;...;cudaLaunchKernel;[GPU_Kernel]name VALUE
 *
 * Root first, in byte order of the lines. Other roots than the comm, or several, with struct
 * folded_opts.by. [GPU0_Kernel], [GPU1_Kernel] with more than one GPU; [GPU_Memcpy]HtoD;
 * [GPU_Memset]; [GPU_Launch_Pending] for launches whose device work was never seen; [no launch] as
 * the parent of device work whose launch was never seen. In names, ';' becomes ':', control
 * characters '?' and bytes that are no UTF-8 U+FFFD.
 *
 * VALUE is device time, summed in ns and rounded once, to nearest, in the unit asked for; or the
 * number of device records; or of bytes. Work without time, or with too little to show in the unit,
 * keeps its line with the value 0: [GPU_Launch_Pending] always does, but for UNIT_COUNT, where it
 * counts launches.
 */
#ifndef MERGE_FOLDED_H
#define MERGE_FOLDED_H

#include <stdint.h>
#include <stdio.h>

#include "join/session.h"

enum unit {
	UNIT_NS,
	UNIT_US,
	UNIT_MS,
	UNIT_SAMPLES,			/* the number of samples that a sampler at freq_hz would
					 * have taken; recorded CPU samples are counted */
	UNIT_COUNT,
	UNIT_BYTES,			/* moved or set; kernels have none */
};

/* The properties that frames at the root may show, besides the call path. */
enum by {
	BY_COMM,			/* app */
	BY_HOST,			/* [host node1] */
	BY_PID,				/* [pid 123]; [pid 123 on node1] with several hosts */
	BY_TID,				/* [tid 123]; needs session_opts.by_thread */
	BY_DEVICE,			/* [GPU 0] */
	BY_STREAM,			/* [stream 7]; needs session_opts.by_stream */
	BY_NVTX,			/* [NVTX]forward;[NVTX]layer 1: a frame for each range that
					 * was open; needs session_opts.by_range */
	BY_RANK,			/* [rank 3] */
	BY_NODE,			/* [node n1] */
	BY_POD,				/* [pod ml/train-0] */
	BY_CONTAINER,			/* [container 0123456789ab] */
	BY_JOB,				/* [job 4711] */
	BY_SHAPE,			/* no frame of its own: session_opts.by_shape */
	NR_BY
};

/* By enum by: as --by has it. NULL ends them. */
extern const char *const by_names[NR_BY + 1];

/* Those that all work of a process has in common. */
#define BY_OF_PROCESSES	(1u << BY_HOST | 1u << BY_PID | 1u << BY_RANK | 1u << BY_NODE | 1u << BY_POD | \
			 1u << BY_CONTAINER | 1u << BY_JOB)

/* Root first; an empty one is BY_COMM. */
struct by_list {
	uint32_t nr;
	enum by v[NR_BY];
};

static inline uint32_t by_list__nr(const struct by_list *by)
{
	return by->nr ?: 1;		/* zeroed, v[0] is BY_COMM */
}

struct folded_opts {
	enum unit unit;
	uint32_t freq_hz;		/* UNIT_SAMPLES; 0: as recorded, or 99 */
	struct by_list by;
};

struct folded_result {
	uint64_t nr_lines;
	uint64_t nr_rounded_away;	/* lines with time that show 0 */
	uint64_t rounded_away_ns;	/* the sum of the time of these lines */
	uint64_t nr_without_bytes;	/* UNIT_BYTES: lines of kernels */
	bool no_rows;			/* of the table that was asked for, or with the column to sort by */
};

/*
 * Writes all of @s. Return: 0 or -ENOMEM; an error of @f stays in its error flag.
 */
int folded__write(const struct session *s, FILE *f, const struct folded_opts *opts,
		  struct folded_result *result);

/*
 * Return: whether the unit applies to a kind of work. Device records are counted and have bytes;
 * the doings of threads are not counted, unless there is nothing else.
 */
bool folded__wants(const struct session *s, enum unit unit, enum leaf_kind kind);

/* A text that grows; zero it to start, array_free() it. */
typedef ARRAY(char) folded_text_t;

/* Return: how many root frames show @by for @a: one, or one for each open NVTX range. */
uint32_t folded__nr_roots(const struct session *s, const struct aggregate *a, enum by by);

/*
 * Appends root frame number @nr of those that show @by for @a, escaped as in lines, without a NUL.
 * Return: 0 or -ENOMEM.
 */
int folded__put_root(folded_text_t *buf, const struct session *s, const struct aggregate *a,
		     enum by by, uint32_t nr);

#endif /* MERGE_FOLDED_H */
