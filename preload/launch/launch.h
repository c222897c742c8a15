/* SPDX-License-Identifier: MIT */
/*
 * launch.h - what happens on the launching thread
 *
 * A vendor's callback (gpu/) calls these functions inside the program's calls. A call is named by
 * its domain, which includes the vendor's API (see XPU_WITH_API()), and its number in the domain.
 * Each function can be called in signal handlers, and takes no lock and makes no system call once
 * the thread is warm.
 */
#ifndef XPU_PRELOAD_LAUNCH_H
#define XPU_PRELOAD_LAUNCH_H

#include <stdbool.h>
#include <stdint.h>

#include "launch/allocs.h"
#include "launch/wait.h"

/* ---- launches, copies and sets ---- */

/**
 * launch__entered - record a launch that begins now
 * @id: the launch's correlation id; the launch's device work has the same id
 * @start: a word that the vendor keeps until the call ends; set to the call's start, in CPU ticks
 * @timed: if not 0, the call may wait: this is noted for the thread, and *@start is set
 *
 * A vendor's callback should end with this call, so that the compiler makes it a jump: an extra
 * stack frame would be one more to unwind.
 */
void launch__entered(uint32_t domain, uint32_t call, uint32_t id, uint64_t *start,
		     uint32_t timed);

/* Like launch__entered(), for launches that are recorded only in windows: see capture_window.h. */
void launch__entered_in_windows(uint32_t domain, uint32_t call, uint32_t id, uint64_t *start,
				uint32_t timed);

/*
 * Notes that a launch with device work returns. If a timed launch took long, the vendor then calls
 * launch__waited().
 */
void launch__left(void);

/*
 * Notes that the launch @id returns without device work; called instead of launch__left(). @why:
 * the API's error, or XPU_REFUSED_NO_BYTES; not 0
 */
void launch__refused(uint32_t domain, uint32_t id, uint32_t why);

/* With capture windows: sets *@start to 0 if the launch began before the window. */
void launch__forget_start(uint64_t *start);

/* Whether launches are recorded at the moment. */
bool launch__is_on(void);

/* Whether the calling thread is recording a launch, which a signal handler may interrupt. */
bool launch__is_inside(void);

/* Return: the launch of @api that the calling thread is in, or 0. */
uint32_t launch__current(unsigned int api);

/* ---- calls that wait ---- */

/*
 * Note the start and the end of a call that may wait, but launches nothing. @start: as for
 * launch__entered()
 */
void launch__wait_entered(uint64_t *start);
void launch__wait_left(void);

/*
 * Records that a timed call may have waited for the device. @w: filled in by wait__measure() and
 * the vendor
 */
void launch__waited(uint32_t domain, uint32_t call, const struct gpu_wait *w);

/* ---- graphs ---- */

/*
 * Records the new node of a graph. If the thread is in a launch that is being captured, the launch
 * made the node; otherwise @call of @domain made it.
 */
void launch__node_made(uint64_t node, uint32_t domain, uint32_t call);

/* ---- calls of the API, see calls.h ---- */

/*
 * Note that a call of the API begins and ends. @call: as in struct xpu_call; @frame: an address in
 * the stack frame of the vendor's callback
 */
void launch__call_entered(uint16_t call, uint32_t id, const void *frame);
void launch__call_left(uint16_t call, uint32_t id);

/* ---- memory, see allocs.h ---- */

/*
 * Records an event of the calling thread, with its call path to function @call of @domain. Takes no
 * lock and makes no system call once the thread is warm.
 */
void launch__tell_alloc(const struct alloc *a, uint32_t domain, uint32_t call);

/*
 * Return: the struct of the calling thread; NULL if memory is short. An event that cannot be
 * recorded then counts as missing with launch__alloc_lost().
 */
struct alloc_call *launch__alloc_call(void);
void launch__alloc_lost(void);

#endif /* XPU_PRELOAD_LAUNCH_H */
