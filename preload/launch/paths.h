/* SPDX-License-Identifier: MIT */
/*
 * paths.h - the call paths that a thread has launched from, and its log of launches
 *
 * Most launches come from a call path seen before. A thread remembers its paths whole and finds the
 * one of a launch by comparing all of it: what was called, every frame, Python's lines, too. With a
 * path it also keeps what its call chain was made from. Programs go in circles: the path that
 * followed the last one the last time is tried first, and while all that it was made from is
 * there, nothing need be made of it again. A path not met before gets a number, and the probe is
 * called with its frames; a launch from a known one is an entry of 16 bytes in the thread's struct
 * xpu_log, which the probe is called for when it is full. The shim's own thread sends what is in
 * the logs of quiet threads.
 *
 * Only its thread writes to a log and to what it remembers; "busy" keeps apart those who send or
 * begin anew. Nobody waits for it: a thread that finds it taken calls the probe for its launch, as
 * it does where there is no room. What was sent twice because its sender was killed in between, the
 * loader can tell by the entries' numbers.
 */
#ifndef XPU_PRELOAD_PATHS_H
#define XPU_PRELOAD_PATHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "python/python.h"
#include "launch/unwind.h"
#include "xpu_slot.h"

struct paths;		/* of one thread */

/* Whether launches are logged: XPUSHIM_PROBE=launch|path, path being the default. If not, every one
 * calls the probe, and logs are for ranges.c. */
extern bool paths__enabled;

/* Finds that out. Before any launch is tagged; only its first call does anything. */
void paths__init(void);

/* What a struct paths takes, in pages of the caller's. */
size_t paths__bytes(void);

/* In paths__bytes() of zero memory; by the thread itself. The slot learns where the log is. */
void paths__start(struct paths *p, struct xpu_slot *slot);

/* Gives back what it has taken beside its own bytes, when nobody uses it any more. */
void paths__free(struct paths *p);

/**
 * paths__guess - the path that a launch is likely to have, or a call that has waited
 * @p: the calling thread's
 * @slot: says what is called, and whether it has waited
 * @python: whose frames there are
 *
 * Return: what its native chain was made from, and all else it was made from is there; or NULL.
 */
const struct unwind_trace *paths__guess(const struct paths *p, const struct xpu_slot *slot,
					enum python_mode python);

/*
 * The guess was right: logs the launch, or calls the probe for it, as it does for each call that
 * has waited. Return: as paths__tell_walked().
 */
uint64_t paths__tell_guessed(struct paths *p, struct xpu_slot *slot);

/**
 * paths__tell_walked - log a launch, or call the probe for it, or for a call that has waited
 * @p: the calling thread's
 * @slot: complete but for path_id, with frames
 * @u, @python: what they were made with
 * @mode: whose frames there are
 *
 * Not for launches that interrupt another one on this thread. Return: the CPU's ticks just before
 * the entry was made; 0 if the probe was called.
 */
uint64_t paths__tell_walked(struct paths *p, struct xpu_slot *slot, const struct unwinder *u,
			    const struct python *python, enum python_mode mode);

/*
 * Logs an event of NVTX ranges, see struct xpu_log_entry. @time_ns: 0 for now. As a launch is logged,
 * but return: false if there is no room now.
 */
bool paths__range(struct paths *p, uint64_t time_ns, uint32_t id, uint32_t code);

/* Sends what is in the log, unless somebody else is about to. On any thread. */
void paths__send(struct paths *p);

/* Somebody has come: each thread calls the probe for its next launch. */
void paths__new_listener(void);

/* Tells of every path again. On any thread. */
void paths__repeat(struct paths *p);

/* Forgets what is in the log: nobody listened. On any thread. */
void paths__discard(struct paths *p);

#endif /* XPU_PRELOAD_PATHS_H */
