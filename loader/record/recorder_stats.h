/* SPDX-License-Identifier: GPL-3.0-or-later */
/* recorder_stats.h - the counts of the recorder and its parts, for the report at the end */
#ifndef XPU_LOADER_RECORDER_STATS_H
#define XPU_LOADER_RECORDER_STATS_H

#include <stdint.h>

#include "base/bounds.h"
#include "xpu_record.h"

/* The losses of one process. */
struct recorder_blame {
	uint64_t nr;			/* sum of the members below */
	uint64_t nr_missing;		/* number of launches tagged by the shim, but not
					 * received */
	uint64_t nr_lost;		/* number of launches that did not fit into the ring */
	uint64_t nr_batches;		/* number of batches that did not fit into the ring */
	uint64_t nr_waits;
	uint64_t nr_dropped_cupti;	/* number of device records that CUPTI dropped */
	uint64_t nr_dropped_shim;
	uint64_t nr_untold;		/* number of launches whose call path did not arrive */
	uint64_t nr_unread;		/* number of unreadable slots, log entries and batches */
	uint64_t nr_malformed;
	uint64_t nr_beyond;
	uint32_t pid;
	char comm[XPU_COMM_LEN];
};

struct recorder_stats {
	uint64_t nr_processes;
	uint64_t nr_cuda_processes;	/* number of processes that used CUDA: they sent a batch */
	uint64_t nr_launches;		/* number of received launches */
	uint64_t nr_tagged;		/* number of launches that the shims say they tagged */
	uint64_t nr_missing;		/* number of tagged launches that were not received, and are
					 * not known to be lost */
	uint64_t nr_at_edges;		/* number of launches that were tagged during attach or
					 * detach, and not recorded */
	uint64_t nr_device_records;	/* number of device records that the shims say they
					 * packed */
	uint64_t nr_calls;		/* number of API calls that the shims say they packed */
	uint64_t nr_bad_calls;
	uint64_t nr_dropped_cupti;
	uint64_t nr_dropped_shim;
	uint64_t nr_bad_times;
	uint64_t nr_taken;		/* number of device records that programs took for
					 * themselves */
	uint64_t nr_unfinished;
	uint64_t nr_paths;		/* number of call paths of launches */
	uint64_t nr_untold;		/* number of launches whose call path did not arrive */
	uint64_t nr_samples;		/* number of received samples */
	uint64_t nr_ranges;		/* number of events of NVTX ranges received */
	uint64_t nr_ranges_missing;	/* number of range events that the shims logged, but the
					 * recorder did not receive */
	uint64_t nr_ranges_dropped;	/* number of range events that the shims dropped */
	uint64_t nr_allocs;		/* number of memory events received */
	uint64_t nr_allocs_missing;	/* number of memory events that the shims sent, but the
					 * recorder did not receive */
	uint64_t nr_errors;		/* number of processes that could not be recorded */
	uint64_t nr_no_memory;		/* number of launches dropped by the recorder for lack of
					 * memory */
	uint64_t nr_samples_no_memory;	/* number of samples dropped by the recorder for lack of
					 * memory */
	uint64_t nr_malformed;		/* number of entries that no shim writes */
	uint64_t nr_beyond;		/* number of launches, samples, stacks or frames beyond a
					 * limit */
	uint64_t nr_messages_hidden;	/* number of lines from targets that were not printed */
	uint64_t nr_blamed;		/* number of processes that lost something */
	struct recorder_blame blamed[LIMIT_BLAMED];	/* the processes that lost most; nr 0:
							 * unused */
};

#endif /* XPU_LOADER_RECORDER_STATS_H */
