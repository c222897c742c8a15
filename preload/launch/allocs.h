/* SPDX-License-Identifier: MIT */
/*
 * allocs.h - memory that the program gets from the GPU's API and gives back
 *
 * The vendor, or a hook of an allocator, reports each event by launch__tell_alloc(). An allocation
 * is reported when its call returns; a free takes its number when its call begins. Each event has a
 * number, which orders the events of an address correctly without a lock or a clock (see
 * XPU_RECORD_ALLOCS). An event goes into its thread's log, among the thread's launches. While
 * nobody wants memory events, no call is watched, and this costs nothing.
 */
#ifndef XPU_PRELOAD_ALLOCS_H
#define XPU_PRELOAD_ALLOCS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/hot.h"

/* An event; the members mean the same as in struct xpu_alloc. */
struct alloc {
	uint8_t what, space;
	uint16_t device;
	uint8_t api;
	uint32_t extra;
	uint64_t address, bytes;
	uint64_t order;
};

/* Whether events are recorded. Read at any time, on any thread. */
extern atomic_bool allocs__on HIDDEN;

static inline bool allocs__are_on(void)
{
	return atomic_load_explicit(&allocs__on, memory_order_relaxed);
}

/*
 * Every thread writes this counter at each event, so the counter has cache lines of its own:
 * accesses to other data should not wait for it.
 */
extern struct allocs_order {
	_Alignas(128) atomic_uint_fast64_t last;
} allocs__last HIDDEN;

/* Takes @nr numbers for events. Return: the first of them. */
static inline uint64_t allocs__order(unsigned int nr)
{
	return atomic_fetch_add_explicit(&allocs__last.last, nr, memory_order_relaxed) + 1;
}

/*
 * Starts recording. Must not be called again before allocs__stop(). @late: the process has already
 * used the GPU.
 */
void allocs__start(bool late);
void allocs__stop(void);

/* Tells a new listener the number of the next event, and that it has missed all earlier events. */
void allocs__repeat(void);

/* Whether the listener has missed events. */
bool allocs__are_late(void);

/* Reports that @bytes are in use in @space. With XPU_SPACE_REST, @total is the device's size. */
void allocs__tell_level(uint16_t device, uint8_t space, uint64_t bytes, uint64_t total);

/*
 * A thread's frees in progress. There are several if a signal handler frees, too. See
 * launch__alloc_call().
 */
struct alloc_call {
	struct alloc_free {
		uint64_t order;		/* the event's number; 0: unused */
		uint32_t id;		/* the vendor's id of the call */
	} frees[4];
	uint64_t device;		/* the vendor stores the last context's device here; 0:
					 * none */
};

/* The number of the last event before allocs__start(). */
extern atomic_uint_fast64_t allocs__order_at_start HIDDEN;

/*
 * Whether the free is in progress. If its order number is older than allocs__start(), it is left
 * over from a free whose end was not recorded.
 */
static inline bool alloc_free__is_begun(const struct alloc_free *f)
{
	return f->order > atomic_load_explicit(&allocs__order_at_start, memory_order_relaxed);
}

/*
 * Notes that the call @id begins to free, in an entry of @call. A signal handler that frees
 * meanwhile uses another entry, or has cleared the same entry when it returns.
 */
static inline void alloc_call__begin_free(struct alloc_call *call, uint32_t id)
{
	struct alloc_free *f = call->frees,
			  *end = f + sizeof(call->frees) / sizeof(call->frees[0]) - 1;
	uint64_t order = allocs__order(1);

	while (f < end && alloc_free__is_begun(f))
		f++;
	f->order = order;
	atomic_signal_fence(memory_order_seq_cst);
	f->id = id;
}

/* Return: the event number of the freeing that ends; 0 if its beginning was not recorded. */
static inline uint64_t alloc_call__end_free(struct alloc_call *call, uint32_t id)
{
	struct alloc_free *f = call->frees, *end = f + sizeof(call->frees) / sizeof(call->frees[0]);
	uint64_t order;

	while (f < end && (f->id != id || !alloc_free__is_begun(f)))
		f++;
	if (f == end)
		return 0;
	order = f->order;
	atomic_signal_fence(memory_order_seq_cst);
	f->order = 0;
	return order;
}

#endif /* XPU_PRELOAD_ALLOCS_H */
