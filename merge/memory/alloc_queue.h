/* SPDX-License-Identifier: GPL-3.0-or-later */
/* alloc_queue.h - memory events that wait for earlier events: a binary heap, first event on top */
#ifndef MERGE_ALLOC_QUEUE_H
#define MERGE_ALLOC_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "util.h"
#include "xpu_record.h"

/*
 * Maximum delay with which an event is recorded after other events. With this delay or less, the
 * event belongs to the file that contains it. A longer delay is treated as this delay.
 */
#define ALLOCS_LATE_NS	1000000000ull

/*
 * Return: the time after which a process's memory belongs to the next file. It is not before
 * @last_ns, the process's last event.
 */
static inline uint64_t allocs__until_ns(uint64_t last_ns, uint64_t cut_ns)
{
	return max_t(uint64_t, last_ns, cut_ns > ALLOCS_LATE_NS ? cut_ns - ALLOCS_LATE_NS : 0);
}

/* An event as it was recorded. */
struct alloc_event {
	uint64_t order, time_ns;	/* number of the event, and its time by the recording's
					 * clock */
	uint64_t made_ns;		/* for carried memory: when it was allocated */
	struct xpu_alloc event;
	uint32_t proc;
	bool ends;			/* this marks the end of the process, and is no event */
	bool carried;			/* the event was in an earlier file of the recording */
};

struct alloc_queue {
	ARRAY(struct alloc_event) list;
};

typedef bool (*alloc_event_before_fn)(const struct alloc_event *a, const struct alloc_event *b);

/* Compares by number. */
bool alloc_event__is_before(const struct alloc_event *a, const struct alloc_event *b);

/* Compares by time, then by .order, which here counts the events put into the queue. */
bool alloc_event__is_earlier(const struct alloc_event *a, const struct alloc_event *b);

/* Adds an event. Return: 0 or -ENOMEM. */
int alloc_queue__push(struct alloc_queue *q, const struct alloc_event *event,
		      alloc_event_before_fn before);

/* Return: the first event; the queue must not be empty. */
struct alloc_event alloc_queue__pop(struct alloc_queue *q, alloc_event_before_fn before);

#endif /* MERGE_ALLOC_QUEUE_H */
