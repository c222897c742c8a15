/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * attach_span.h - tells whether a launch was made before the attach, after the detach, or in
 * between
 *
 * Work launched before the attach may end after it, and work launched after the detach may still be
 * recorded. The recording has no launch for such device records, but nothing was lost. The
 * correlation ids of these records show when the work was launched, because the launches of a
 * process get ascending ids. However, launches may pass the probe in another order than the order
 * of their ids. At the attach, each thread may be inside one launch, whose id is below all later
 * ids. So an unrecorded launch was made before the attach if the recorded launches with lower ids
 * are fewer than the process's threads. It was made after the detach if the recorded launches with
 * higher ids are fewer than the threads.
 *
 * A launch that began before the attach may get its id late, when it finally reaches the device: it
 * may have waited for its module to be loaded, while other threads made many launches. Its id is
 * below the id of the first recorded launch of its own thread.
 */
#ifndef MERGE_ATTACH_SPAN_H
#define MERGE_ATTACH_SPAN_H

#include <stdbool.h>
#include <stdint.h>

#include "util.h"

/* limit on nr_threads, and on the size of firsts */
#define ATTACH_MAX_THREADS	1024

enum attach_place {
	ATTACH_INSIDE,
	ATTACH_BEFORE,
	ATTACH_AFTER,
};

/* The launches of one API in a process. */
struct attach_span {
	struct attach_span *next;	/* span of another API of the process */
	uint32_t api;
	bool firsts_seen;		/* set by the caller once it has called
					 * attach_span__first() */
	struct idmap first_of;		/* the first launch of each thread */
	uint32_t nr_threads;
	/*
	 * low has the nr_threads smallest ids, and high the nr_threads largest ids. The most
	 * extreme id comes first.
	 */
	ARRAY(uint32_t) low, high;
	/* @firsts and @late are in descending order. */
	ARRAY(uint32_t) firsts;		/* the first recorded launch of each thread that existed at
					 * the attach */
	ARRAY(uint32_t) late;		/* launches that began before the attach, but got ids
					 * late */
};

/*
 * Makes the first span of a process. @nr_threads: how many threads launch in the process; 0 counts
 * as 1.
 */
struct attach_span *attach_span__new(uint32_t nr_threads);

/* Return: the span of @api in the same process, made at its first use; NULL if memory is short. */
struct attach_span *attach_span__of(struct attach_span *w, uint32_t api);

/* Frees the spans of all APIs. */
void attach_span__free(struct attach_span *w);

/* Notes that @thread has launched @correlation_id. Return: 0 or -ENOMEM. */
int attach_span__note_thread(struct attach_span *w, uint32_t thread, uint32_t correlation_id);

/* Notes that the launch @correlation_id was recorded. Return: 0 or -ENOMEM. */
int attach_span__see(struct attach_span *w, uint32_t correlation_id);

/*
 * Notes the first recorded launch, @correlation_id, of a thread that existed at the attach. Call it
 * for all these threads after all launches were noted. Return: 0 or -ENOMEM.
 */
int attach_span__first(struct attach_span *w, uint32_t correlation_id);

/*
 * Checks whether an unrecorded launch whose place is ATTACH_INSIDE may have begun before the
 * attach. Each thread has at most one such launch. Return: 1 if it may, 0 or -ENOMEM.
 */
int attach_span__is_late(struct attach_span *w, uint32_t correlation_id);

/*
 * Return: whether an unrecorded launch was made before the attach, after the detach, or between the
 * two. Call attach_span__see() for all recorded launches first.
 */
enum attach_place attach_span__place(const struct attach_span *w, uint32_t correlation_id);

#endif /* MERGE_ATTACH_SPAN_H */
