/* SPDX-License-Identifier: GPL-3.0-or-later */
/* report.h - what was recorded, and what was lost, as xpuload says it in the end */
#ifndef XPU_LOADER_REPORT_H
#define XPU_LOADER_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "record/recorder.h"
#include "xpu_record.h"

struct options;

struct report {
	const struct options *opts;
	bool sampled;			/* there are CPU samples, or could be */
	struct recorder_stats stats;
	uint64_t lost[XPU_LOST_NR];	/* on the way here, by kind; of DISK: bytes */
	uint64_t nr_samples_taken;
	uint64_t nr_stopped;		/* processes that ceased to be the invoker's */
	uint64_t nr_left_alone;		/* that never were */
	uint64_t file_bytes;
};

/* Return: whether all that was asked for is in the recording. */
bool report__print(const struct report *r);

#endif /* XPU_LOADER_REPORT_H */
