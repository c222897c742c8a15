/* SPDX-License-Identifier: MIT */
/*
 * allocs.h - memory that the program gets from CUDA and gives back
 *
 * CUPTI calls back at the entry and the exit of each driver call that makes or frees memory; an
 * allocation's address is known at the exit. Each event has a number, which orders the events of an
 * address correctly without a lock or a clock (see XPU_RECORD_ALLOCS). An event goes into its
 * thread's log, among the thread's launches. While nobody wants memory events, no call is watched,
 * and this costs nothing.
 */
#ifndef XPU_PRELOAD_ALLOCS_H
#define XPU_PRELOAD_ALLOCS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <cupti.h>

#include "base/hot.h"

struct cupti;

/* An event; the members mean the same as in struct xpu_alloc. */
struct alloc {
	uint8_t what, space;
	uint16_t device;
	uint32_t extra;
	uint64_t address, bytes;
	uint64_t order;
};

/* Whether events are recorded. Read at any time, on any thread. */
extern atomic_bool allocs__on;

static inline bool allocs__are_on(void)
{
	return atomic_load_explicit(&allocs__on, memory_order_relaxed);
}

/*
 * Every thread writes it with each event, so it has cache lines of its own: no other data should
 * wait for them.
 */
extern struct allocs_order {
	_Alignas(128) atomic_uint_fast64_t last;
} allocs__last;

/* Takes @nr numbers for events. Return: the first of them. */
static inline uint64_t allocs__order(unsigned int nr)
{
	return atomic_fetch_add_explicit(&allocs__last.last, nr, memory_order_relaxed) + 1;
}

/*
 * Whether the driver call @name with callback id @cbid has to be watched, since it makes or frees
 * memory.
 */
bool allocs__watch(uint32_t cbid, const char *name);

/*
 * Starts recording; not to be called again before allocs__stop(). @late: the process has already
 * used CUDA.
 */
void allocs__start(const struct cupti *c, bool late);
void allocs__stop(void);

/* Tells a new listener which number comes next, and that it has missed the events before that. */
void allocs__repeat(void);

/*
 * Asks CUDA about memory that it takes by itself, see levels.h. Called now and then by the shim's
 * thread.
 */
void allocs__look(void);

/*
 * The process exits: contexts that end now are ended by CUDA, not by the program, and are not
 * recorded.
 */
void allocs__exiting(void);

/* Records that a watched call begins or ends on the calling thread. */
void allocs__call(CUpti_CallbackId cbid, const CUpti_CallbackData *d);

/* Records that a context is about to end, with all memory that it owns. */
void allocs__end_context(CUcontext context);

/*
 * A thread's frees in progress: several if a signal handler frees, too. Each launcher in launch.c
 * has one.
 */
struct alloc_call {
	struct alloc_free {
		uint64_t order;		/* the event's number; 0: unused */
		uint32_t id;		/* CUPTI's id of the call */
	} frees[4];
	uint64_t device;		/* of the last context: CUPTI's id of it << 16 | the
					 * device's number; 0: none */
};

/* The following are in launch.c: */

/*
 * Records an event of the calling thread, with its call path to function @cbid of @domain. Takes no
 * lock and makes no system call once the thread is warm.
 */
void launch__tell_alloc(const struct alloc *a, uint32_t domain, uint32_t cbid);

/* Return: the struct of the calling thread, or NULL without memory. */
struct alloc_call *launch__alloc_call(void);

#endif /* XPU_PRELOAD_ALLOCS_H */
