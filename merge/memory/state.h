/* SPDX-License-Identifier: GPL-3.0-or-later */
/* state.h - all that the feature has of memory; the heaps of all recordings are in sums.heaps */
#ifndef MERGE_MEMORY_STATE_H
#define MERGE_MEMORY_STATE_H

#include "model/feature.h"
#include "model/model.h"

struct alloc_order;

/* the events of the recording that is being read */
struct alloc_records {
	uint64_t nr, from_ns, to_ns;	/* times by the recording's clock */
	uint32_t proc_id;		/* of the first event */
	bool several_procs, blocks;	/* blocks: some events are about allocator blocks */
};

struct memory_state {
	struct alloc_records records;
	struct alloc_order *order;	/* allocs.c; NULL: the recording has no events */
};

#endif /* MERGE_MEMORY_STATE_H */
