/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * folded.h - folded stacks, one line per call path, for flamegraph.pl and similar tools
 *
 *	comm;frame;...;cudaLaunchKernel;[GPU_Kernel]name VALUE
 *
 * A line begins with the root; lines are in byte order. struct folded_opts.by selects other roots
 * than the comm, or several roots. The leaf of a kernel is [GPU_Kernel], or with several GPUs
 * [GPU0_Kernel], [GPU1_Kernel] and so on. Other work has leaves such as [GPU_Memcpy]HtoD and
 * [GPU_Memset]. [GPU_Launch_Pending] is a launch whose device work was never seen; [no launch] is
 * the parent of device work whose launch was never seen. In names, ';' becomes ':', control
 * characters become '?', and bytes that are not UTF-8 become U+FFFD.
 *
 * VALUE is the number of device records, the number of bytes, or the device time. Times are summed
 * in ns, and the sum is rounded once, to the nearest value in the requested unit. Work without
 * time, or with less time than the unit can show, keeps its line with the value 0.
 * [GPU_Launch_Pending] also has the value 0, except with UNIT_COUNT, where the value is the number
 * of launches.
 *
 * Waits for devices and off-CPU times overlap with the work of devices and other threads, so a sum
 * of all lines would count a second of the run several times. Waits and off-CPU times have lines
 * only on request, below a root of their own, [waits].
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
	UNIT_SAMPLES,			/* how many samples a sampler at freq_hz would take;
					 * recorded CPU samples are not converted */
	UNIT_COUNT,
	UNIT_BYTES,			/* bytes copied or set; kernels have none */
};

/* The properties that frames at the root may show, besides the call path. */
enum by {
	BY_COMM,			/* app */
	BY_HOST,			/* [host node1] */
	BY_PID,				/* such as [pid 123]; with several hosts [pid 123 on
					 * node1] */
	BY_TID,				/* such as [tid 123]; needs session_opts.by_thread */
	BY_DEVICE,			/* [GPU 0] */
	BY_STREAM,			/* such as [stream 7]; needs session_opts.by_stream */
	BY_RANGE,			/* such as [NVTX]forward;[NVTX]layer 1: a frame for each
					 * open range; needs session_opts.by_range */
	BY_RANK,			/* [rank 3] */
	BY_NODE,			/* [node n1] */
	BY_POD,				/* such as [pod ml/train-0] */
	BY_CONTAINER,			/* [container 0123456789ab] */
	BY_JOB,				/* [job 4711] */
	BY_SHAPE,			/* shows no frame of its own; see session_opts.by_shape */
	NR_BY
};

/* The values of --by, indexed by enum by, terminated by NULL. */
extern const char *const by_names[NR_BY + 1];

/* Properties that all work of a process shares. */
#define BY_OF_PROCESSES	(1u << BY_HOST | 1u << BY_PID | 1u << BY_RANK | 1u << BY_NODE | \
			 1u << BY_POD | 1u << BY_CONTAINER | 1u << BY_JOB)

/* A list of properties, the root first; an empty list means BY_COMM. */
struct by_list {
	uint32_t nr;
	enum by v[NR_BY];
};

static inline uint32_t by_list__nr(const struct by_list *by)
{
	return by->nr ?: 1;		/* an empty list is zeroed, so v[0] is BY_COMM */
}

struct folded_opts {
	enum unit unit;
	uint32_t freq_hz;		/* for UNIT_SAMPLES; 0: the recorded frequency, or 99 if
					 * none was recorded */
	struct by_list by;
	bool waits;			/* also write the time that threads waited, below
					 * FOLDED_WAITS */
};

/* The root of waits, which overlap with the work of other lines. */
#define FOLDED_WAITS	"[waits]"

struct folded_result {
	uint64_t nr_lines;
	uint64_t nr_rounded_away;	/* number of lines that show 0, but have time */
	uint64_t rounded_away_ns;	/* total time of these lines */
	uint64_t nr_without_bytes;	/* for UNIT_BYTES: number of lines of kernels */
	bool no_rows;			/* the requested table has no rows, or no shown table has
					 * the column to sort by */
};

/*
 * Writes all of @s. Return: 0 or -ENOMEM; an error of @f stays in its error flag.
 */
int folded__write(const struct session *s, FILE *f, const struct folded_opts *opts,
		  struct folded_result *result);

/*
 * Return: whether the unit applies to a kind of work. Device records have counts and bytes;
 * activities of threads have counts only if nothing else was recorded.
 */
bool folded__wants(const struct session *s, enum unit unit, enum leaf_kind kind);

/* A growing text; zero it first, array_free() it at the end. */
typedef ARRAY(char) folded_text_t;

/* Return: how many root frames show @by for @a: one, or one for each open NVTX range. */
uint32_t folded__nr_roots(const struct session *s, const struct aggregate *a, enum by by);

/*
 * Of the root frames that show @by for @a, appends the frame with index @nr. The text is escaped as
 * in the lines of the format, and no NUL is added. Return: 0 or -ENOMEM.
 */
int folded__put_root(folded_text_t *buf, const struct session *s, const struct aggregate *a,
		     enum by by, uint32_t nr);

#endif /* MERGE_FOLDED_H */
