/* SPDX-License-Identifier: GPL-3.0-or-later */
/* recorder_stats.h - what the recorder and its parts count, for the account at the end */
#ifndef XPU_LOADER_RECORDER_STATS_H
#define XPU_LOADER_RECORDER_STATS_H

#include <stdint.h>

#include "base/bounds.h"
#include "xpu_record.h"

/* What was lost of one process. */
struct recorder_blame {
	uint64_t nr;			/* all of what follows */
	uint64_t nr_missing;		/* launches tagged and not seen */
	uint64_t nr_lost;		/* launches that did not fit into the ring */
	uint64_t nr_batches;		/* of device records, that did not, either */
	uint64_t nr_waits;
	uint64_t nr_dropped_cupti;	/* device records */
	uint64_t nr_dropped_shim;
	uint64_t nr_untold;		/* launches whose call path did not arrive */
	uint64_t nr_unread;		/* slots, entries and batches */
	uint64_t nr_malformed;
	uint64_t nr_beyond;
	uint32_t pid;
	char comm[XPU_COMM_LEN];
};

struct recorder_stats {
	uint64_t nr_processes;
	uint64_t nr_cuda_processes;	/* that sent a batch */
	uint64_t nr_launches;		/* received */
	uint64_t nr_tagged;		/* by the shims, as they say */
	uint64_t nr_missing;		/* tagged, neither received nor known to be lost */
	uint64_t nr_at_edges;		/* tagged as somebody attached or detached: not for us */
	uint64_t nr_device_records;	/* packed by the shims, as they say */
	uint64_t nr_calls;		/* of the API: the same */
	uint64_t nr_bad_calls;
	uint64_t nr_dropped_cupti;
	uint64_t nr_dropped_shim;
	uint64_t nr_bad_times;
	uint64_t nr_taken;		/* device records that programs collected themselves */
	uint64_t nr_unfinished;
	uint64_t nr_paths;		/* of launches */
	uint64_t nr_untold;		/* launches whose call path did not arrive */
	uint64_t nr_samples;		/* received */
	uint64_t nr_ranges;		/* received: events of NVTX ranges */
	uint64_t nr_ranges_missing;	/* logged by the shims, as they say, and not seen */
	uint64_t nr_ranges_dropped;	/* by the shims, as they say */
	uint64_t nr_errors;		/* processes that could not be recorded */
	uint64_t nr_no_memory;		/* launches dropped for want of memory here ... */
	uint64_t nr_samples_no_memory;	/* ... and samples */
	uint64_t nr_malformed;		/* entries that no shim makes */
	uint64_t nr_beyond;		/* launches, samples, stacks or frames beyond a limit */
	uint64_t nr_messages_hidden;	/* from targets, beyond a limit */
	uint64_t nr_blamed;		/* processes of which something was lost ... */
	struct recorder_blame blamed[LIMIT_BLAMED];	/* ... and some of them; nr is not 0 */
};

#endif /* XPU_LOADER_RECORDER_STATS_H */
