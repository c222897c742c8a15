/* SPDX-License-Identifier: GPL-3.0-or-later */
/* report.h - prints at the end what was recorded and what was lost */
#ifndef XPU_LOADER_REPORT_H
#define XPU_LOADER_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "attach/gpu_metrics.h"
#include "record/recorder.h"
#include "splitter.h"
#include "xpu_record.h"

struct options;

struct report {
	const struct options *opts;
	bool shared;			/* launches came through shared memory */
	bool sampled;			/* CPU samples were taken or attempted */
	struct recorder_stats stats;
	uint64_t lost[XPU_LOST_NR];	/* losses on the way to the recorder, by kind; for DISK:
					 * bytes that were not written */
	uint64_t nr_samples_taken;
	uint64_t nr_stopped;		/* number of processes that the invoker could no longer
					 * read */
	uint64_t nr_left_alone;		/* number of processes that the invoker could never read */
	uint64_t nr_not_followed;	/* number of processes that could not be attached to */
	uint64_t nr_unreached;		/* number of lost launches of processes that could not
					 * connect */
	uint64_t nr_late;		/* number of children that called CUDA before xpuload
					 * attached to them */
	const struct injections *injections;
	struct gpu_metrics_stats metrics;
	struct splitter_stats splitter;
	uint64_t file_bytes;
};

/* Return: whether the recording is complete. */
bool report__print(const struct report *r);

#endif /* XPU_LOADER_REPORT_H */
