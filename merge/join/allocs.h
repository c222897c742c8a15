/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * allocs.h - events of memory, put into order and given to the heap
 *
 * Threads send their events as their logs fill up. Each process has numbered its events, so those of one
 * process are held until all with lower numbers have come. Between processes there is only the clock.
 */
#ifndef MERGE_ALLOCS_H
#define MERGE_ALLOCS_H

#include "join/second_pass.h"
#include "read/pass.h"

/*
 * Before the pass: makes the heap, and, if an allocator's blocks are among the events, a pass of its own to
 * find the segments. Return: 0 or -ENOMEM.
 */
int allocs__open(struct second_pass *p, struct passes *passes);

int allocs__read(struct second_pass *p, const struct xpu_record_allocs *rec);

/* After the pass: takes the events that are still held. Return: 0 or -ENOMEM. */
int allocs__finish(struct second_pass *p);
void allocs__exit(struct second_pass *p);

struct session;
struct session_opts;

/*
 * Return: whether --memory peak shows that place of the recording, or file of one, at *@moment: at the peak
 * of all devices together, or, if devices are picked, at its own.
 */
bool heap__shows_peak(const struct heap *h, const struct session_opts *opts, uint32_t place,
		      enum heap_moment *moment);

/*
 * After all inputs: sums up. Of several files of a recording, the last one has what is live, and one has the
 * peak. Return: 0 or -ENOMEM.
 */
int allocs__settle(struct session *s);

#endif /* MERGE_ALLOCS_H */
