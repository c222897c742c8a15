/* SPDX-License-Identifier: GPL-3.0-or-later */
/* state.h - the state of the feature memory, and the heaps of all recordings */
#ifndef MERGE_MEMORY_STATE_H
#define MERGE_MEMORY_STATE_H

#include "model/feature.h"
#include "memory/heap.h"
#include "model/model.h"

struct alloc_order;

/* the events of the recording that is being read */
struct alloc_records {
	uint64_t nr, from_ns, to_ns;	/* times by the recording's clock */
	uint32_t proc_id;		/* process of the first event */
	bool several_procs, blocks;	/* blocks: some events are about allocator blocks */
};

struct memory_state {
	ARRAY(struct heap) heaps;	/* one for each recording with memory events */
	ARRAY(struct heap_sum) made;	/* sums of all allocated memory, by index in aggregates;
					 * filled at the end, if opts.with_made is set */
	struct alloc_records records;
	struct alloc_order *order;	/* place_allocs.c; NULL: the recording has no events */
};

/* Return: the state of a model; an empty state if there are no events of memory. */
const struct memory_state *memory_state__of(const struct model *m);

#endif /* MERGE_MEMORY_STATE_H */
