/* SPDX-License-Identifier: MIT */
/*
 * allocs.h - memory that the program has of CUDA, and that it gives back
 *
 * CUPTI calls back at the entry and the exit of each driver call of these; the address of an allocation is
 * known at its exit. Each event has a number, and the numbers order events of one address rightly without a
 * lock or a clock (see XPU_RECORD_ALLOCS). An event goes into its thread's log, with the launches around
 * it. While nobody asks for memory no call is watched, and nothing here costs anything.
 */
#ifndef XPU_PRELOAD_ALLOCS_H
#define XPU_PRELOAD_ALLOCS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <cupti.h>

#include "base/hot.h"

struct cupti;

/* One event, in the terms of struct xpu_alloc. */
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

/* All threads write it, with each event: on cache lines of its own, which nothing else has to wait for. */
extern struct allocs_order {
	_Alignas(128) atomic_uint_fast64_t last;
} allocs__last;

/* Return: the next number of an event, and takes the @nr - 1 behind it, too. */
static inline uint64_t allocs__order(unsigned int nr)
{
	return atomic_fetch_add_explicit(&allocs__last.last, nr, memory_order_relaxed) + 1;
}

/* Whether the driver call @name, of callback id @cbid, makes or frees memory: then it is to be watched. */
bool allocs__watch(uint32_t cbid, const char *name);

/* Begins to record; not to be called again before allocs__stop(). @late: the process has used CUDA before. */
void allocs__start(const struct cupti *c, bool late);
void allocs__stop(void);

/* Tells a new listener which number comes next. @late: as above, or others have listened before. */
void allocs__repeat(void);

/* Asks CUDA what it holds without a call for each piece. For the shim's thread, now and then. */
void allocs__look(void);

/* The process exits: CUDA ends its contexts, which is no doing of the program's any more. */
void allocs__exiting(void);

/* A watched call begins or ends, on the calling thread. */
void allocs__call(CUpti_CallbackId cbid, const CUpti_CallbackData *d);

/* A context is about to end, with all that it owns. */
void allocs__end_context(CUcontext context);

/* The frees that the calling thread is in: a signal handler may free, too. For launch.c. */
struct alloc_call {
	struct alloc_free {
		uint64_t order;		/* its number; 0: there is none */
		uint32_t id;		/* CUPTI's, of the call */
	} frees[4];
	uint64_t device;		/* the last context's: CUPTI's id of that, and behind it 16 bits of
					 * the device's number; 0: none */
};

/* In launch.c: */

/*
 * Records an event of the calling thread under its call path, which calls function @cbid of @domain.
 * No lock and no system call once the thread is warm.
 */
void launch__tell_alloc(const struct alloc *a, uint32_t domain, uint32_t cbid);

/* Return: the calling thread's, or NULL without memory. */
struct alloc_call *launch__alloc_call(void);

#endif /* XPU_PRELOAD_ALLOCS_H */
