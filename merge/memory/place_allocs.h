/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * place_allocs.h - memory events, sorted and passed to the heap
 *
 * Threads send their events as their logs fill up. Each process numbers its events, so an event is
 * held until all events of its process with lower numbers have arrived. Events of different
 * processes are ordered only by the clock.
 */
#ifndef MERGE_PLACE_ALLOCS_H
#define MERGE_PLACE_ALLOCS_H

#include "join/second_pass.h"
#include "memory/state.h"
#include "read/pass.h"

struct collect;

/*
 * Notes, in the first pass, which events a record has, and when they happened. Return: 0 or
 * -ENOMEM.
 */
int allocs__take(struct alloc_records *records, struct collect *c,
		 const struct xpu_record_allocs *rec);

/*
 * Makes the heap, before the pass. If the events include blocks of an allocator, an extra pass
 * finds the segments. Return: 0 or -ENOMEM.
 */
int allocs__open(struct second_pass *p, struct passes *passes);

int allocs__read(struct second_pass *p, const struct xpu_record_allocs *rec);

/* After the pass, takes and then forgets the events that are still held. Return: 0 or -ENOMEM. */
int allocs__finish(struct second_pass *p);
void allocs__exit(struct memory_state *state);

struct session;
struct session_opts;

/*
 * Return: whether --memory peak shows @place of a recording or file. Sets *@moment to the peak of
 * all devices together, or, if devices are selected, to the peak of the place.
 */
bool heap__shows_peak(const struct heap *h, const struct session_opts *opts, uint32_t place,
		      enum heap_moment *moment);

/*
 * Called after all inputs. If a recording has several files, only its last file counts the live
 * memory, and only one file counts the peak. Return: 0 or -ENOMEM.
 */
int allocs__settle(struct memory_state *state, struct session *s);

#endif /* MERGE_PLACE_ALLOCS_H */
