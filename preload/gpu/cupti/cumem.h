/* SPDX-License-Identifier: MIT */
/*
 * cumem.h - CUDA's calls that make or free memory
 *
 * CUPTI calls back at the entry and the exit of each driver call that makes or frees memory; an
 * allocation's address is known at the exit. While nobody wants memory events, no call is watched
 * or slowed down.
 */
#ifndef XPU_PRELOAD_CUPTI_CUMEM_H
#define XPU_PRELOAD_CUPTI_CUMEM_H

#include <stdbool.h>
#include <stdint.h>

#include <cupti.h>

struct cupti;

/*
 * Whether the driver call @name with callback id @cbid has to be watched, because it makes or frees
 * memory.
 */
bool cumem__watch(uint32_t cbid, const char *name);

/*
 * Finds the driver's functions, and calls allocs__start(). @late: the process has already used
 * CUDA.
 */
void cumem__start(const struct cupti *c, bool late);

/* Prepares for a new listener. Called after allocs__repeat(). */
void cumem__repeat(void);

/*
 * Asks CUDA about memory that CUDA takes on its own, see levels.h. The shim's thread calls it now
 * and then.
 */
void cumem__look(void);

/*
 * Notes that the process is exiting. After this, the ends of contexts are not recorded, because
 * CUDA ends the contexts, not the program.
 */
void cumem__exiting(void);

/* Records that a watched call begins or ends on the calling thread. */
void cumem__call(CUpti_CallbackId cbid, const CUpti_CallbackData *d);

/* Records that a context is about to end, with all memory that it owns. */
void cumem__end_context(CUcontext context);

#endif /* XPU_PRELOAD_CUPTI_CUMEM_H */
