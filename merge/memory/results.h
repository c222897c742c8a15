/* SPDX-License-Identifier: GPL-3.0-or-later */
/* results.h - memory in the summary and in the html page */
#ifndef MERGE_MEMORY_RESULTS_H
#define MERGE_MEMORY_RESULTS_H

#include <stdint.h>
#include <stdio.h>

#include "join/session.h"
#include "memory/heap.h"

struct json_out;

/* text_memory.c: who held memory */
extern const struct section section_memory_devices, section_memory_moments, section_memory_holders,
	section_memory_leaks, section_memory_churn, section_memory_failures;

/* the time when the most GPU memory was in use, and who held most of it */
struct memory_peak {
	uint64_t bytes;			/* 0: no memory was recorded, or none was used */
	uint64_t at_ns;			/* time since the start */
	size_t nr_recordings;		/* number of recordings with memory; the peak belongs to one
					 * recording */
	/*
	 * The sums that --memory peak shows, for devices and for the host, at the peaks of all
	 * recordings.
	 */
	struct heap_parts parts;
	uint64_t host_bytes;
	bool by_device;			/* each device is counted at its own peak */
	uint64_t holder_bytes;
	char *holder;			/* call path and kind of memory, with SHORTEN_FRAME between
					 * them; NULL: none */
};

/*
 * Finds the peak of memory. Return: 0 or -ENOMEM; the caller frees peak->holder, even after a
 * failure.
 */
int memory__peak(const struct session *s, struct memory_peak *peak);

/* Writes the peak of memory and its largest holder, if memory was recorded. */
void memory__summary(const struct session *s, FILE *f);

/* page_memory.c: prints what the page says about memory. Return: 0 or -ENOMEM. */
int memory__page_head(const struct session *s, struct json_out *j);
int memory__page(const struct session *s, struct json_out *j);

#endif /* MERGE_MEMORY_RESULTS_H */
