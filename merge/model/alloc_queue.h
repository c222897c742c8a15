/* SPDX-License-Identifier: GPL-3.0-or-later */
/* alloc_queue.h - events of memory that wait for others: a binary heap, whose first one is the lowest */
#ifndef MERGE_ALLOC_QUEUE_H
#define MERGE_ALLOC_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "util.h"
#include "xpu_record.h"

/*
 * How much later than others a process's events may be in the recording, of those that come before the end of
 * a file. Those that come later still are taken for events of that time.
 */
#define ALLOCS_LATE_NS	1000000000ull

/* Return: the time from which on a process's memory is the next file's: after @last_ns, its last event. */
static inline uint64_t allocs__until_ns(uint64_t last_ns, uint64_t cut_ns)
{
	return max_t(uint64_t, last_ns, cut_ns > ALLOCS_LATE_NS ? cut_ns - ALLOCS_LATE_NS : 0);
}

/* An event as it was recorded. */
struct alloc_event {
	uint64_t order, time_ns;	/* of the recording's clock */
	struct xpu_alloc event;
	uint32_t proc;
	bool ends;			/* no event: the process ends */
	bool carried;			/* it was in an earlier file of the recording */
};

struct alloc_queue {
	ARRAY(struct alloc_event) list;
};

typedef bool (*alloc_event_before_fn)(const struct alloc_event *a, const struct alloc_event *b);

bool alloc_event__is_before(const struct alloc_event *a, const struct alloc_event *b);	/* by number */

/* Here .order counts those that were put in. */
bool alloc_event__is_earlier(const struct alloc_event *a, const struct alloc_event *b);

/* Return: 0 or -ENOMEM. */
int alloc_queue__push(struct alloc_queue *q, const struct alloc_event *event, alloc_event_before_fn before);

/* Return: the first one; there is one. */
struct alloc_event alloc_queue__pop(struct alloc_queue *q, alloc_event_before_fn before);

#endif /* MERGE_ALLOC_QUEUE_H */
