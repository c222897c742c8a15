/* SPDX-License-Identifier: MIT */
/*
 * paths.h - the call paths that a thread has launched from, and its log of launches
 *
 * Most launches come from a call path seen before. A thread remembers its paths whole, and finds
 * the path of a launch by comparing all of it: the function called, every frame, and Python's
 * lines, too. With a path it also keeps a trace: the memory that its call chain was read from.
 * Programs run in loops: the path that followed the previous one the last time is tried first, and
 * while all words of its trace are unchanged, the chain need not be read again. If one is changed, the path
 * that had that word there is tried next, so that paths in any order are found, too. A new path gets a
 * number, and the probe is called with its frames. A launch from a known path is an entry of 16
 * bytes in the thread's struct xpu_log; when the log is full, a probe is called for it. The shim's
 * own thread sends the logs of quiet threads.
 *
 * Events of memory have paths, too. Most stand beside a launch that follows, and differ from it in some inner
 * frames only: then the event's trace keeps only its own words, and refers to the launch's for the others.
 * All of them are compared nevertheless, just before the launch compares them once more.
 *
 * Only its own thread writes to a log and to its paths. "busy" excludes other threads from sending
 * or emptying the log at the same time. Nobody waits for it: a thread that finds it taken calls the
 * probe for its launch, as it does if there is no room. Entries may be sent twice if their sender
 * was killed in between; the loader recognizes them by their numbers.
 */
#ifndef XPU_PRELOAD_PATHS_H
#define XPU_PRELOAD_PATHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "python/python.h"
#include "launch/unwind.h"
#include "xpu_slot.h"

struct alloc;
struct paths;		/* the paths of one thread */

/*
 * Whether launches are logged: XPUSHIM_PROBE=launch|path, with path as the default. If not, every
 * launch calls the probe, and the logs are for ranges.c only.
 */
extern bool paths__enabled;

/*
 * Reads XPUSHIM_PROBE. To be called before any launch is tagged; only the first call does anything.
 */
void paths__init(void);

/* Return: the bytes of a struct paths, for which the caller maps pages. */
size_t paths__bytes(void);

/* Return: where a struct xpu_log is in a struct paths. */
size_t paths__log_at(void);
#define PATHS_LOG_END	15992		/* and at most here it ends */

/*
 * Sets @p up, in paths__bytes() of zero memory; called by the thread itself. Sets the log's address
 * in @slot.
 */
void paths__start(struct paths *p, struct xpu_slot *slot);

/* Frees the memory that @p has taken beside its own bytes, when nobody uses it any more. */
void paths__free(struct paths *p);

/**
 * paths__guess - guess the path of a launch, or of a call that has waited
 * @p: the calling thread's
 * @slot: has the function called, and whether the call has waited
 * @python: which kinds of frames chains have
 *
 * Return: the trace of the path's native chain, if all else that the path was made from is
 * unchanged; or NULL.
 */
const struct unwind_trace *paths__guess(struct paths *p, const struct xpu_slot *slot,
					enum python_mode python);

/*
 * The guess was wrong: finds another path by the word that was not as expected. Not for calls that waited.
 * Return: as paths__guess().
 */
const struct unwind_trace *paths__guess_again(struct paths *p, const struct xpu_slot *slot,
					      enum python_mode python, const struct unwind_miss *miss);

/*
 * The last guess was right: logs the launch, or calls the probe for it. For a call that has waited it
 * always calls the probe. Return: as paths__tell_walked().
 */
uint64_t paths__tell_guessed(struct paths *p, struct xpu_slot *slot);

/**
 * paths__tell_walked - log a launch, or call the probe for the launch or for a call that has waited
 * @p: the calling thread's
 * @slot: complete but for path_id, with frames
 * @u, @python: the sources of the frames
 * @mode: which kinds of frames there are
 *
 * Not for launches that interrupt another one on this thread. Return: the CPU's ticks just before
 * the entry was made; 0 if the probe was called.
 */
uint64_t paths__tell_walked(struct paths *p, struct xpu_slot *slot, const struct unwinder *u,
			    const struct python *python, enum python_mode mode);

/**
 * paths__number - the number of the path of an event of memory
 * @slot: gets what is called, @cbid of @domain; all else is undefined ...
 *
 * Return: the number; or PATHS_UNTOLD if the path is known, but the listener is new: then it is to be told by
 * paths__define(). Or PATHS_WALKED: the chain had to be walked, and is ... in @slot's frames, nr_frames and
 * flags, for paths__number_walked().
 */
#define PATHS_UNTOLD	(XPU_MAX_PATHS + 1)
#define PATHS_WALKED	(XPU_MAX_PATHS + 2)
uint32_t paths__number(struct paths *p, struct unwinder *u, struct xpu_slot *slot, uint32_t domain,
		       uint32_t cbid, enum python_mode python);

/*
 * Defines the last path that was guessed, so that the listener also learns where the log is. @slot: complete
 * but for the path. Return: its number.
 */
uint32_t paths__define(struct paths *p, struct xpu_slot *slot);

/*
 * As paths__tell_walked(), for an event of memory, which is not logged here: it only gets its path's number.
 * A path that is new, or that a new listener may not know, is defined. Return: the number; 0 if no path could
 * be kept.
 */
uint32_t paths__number_walked(struct paths *p, struct xpu_slot *slot, const struct unwinder *u,
			      const struct python *python, enum python_mode mode);

/* Whether the present listener knows of the thread, and so of its log. */
bool paths__is_told(const struct paths *p);

/*
 * Logs an event of memory. @path: its number, or 0. Return: false if there is no room now; or, of an event
 * without a path, if the listener does not know of the thread.
 */
bool paths__alloc(struct paths *p, const struct alloc *a, uint32_t path);

/*
 * Logs an event of NVTX ranges, see struct xpu_log_entry. @time_ns: 0 for now. Return: false if
 * there is no room now.
 */
bool paths__range(struct paths *p, uint64_t time_ns, uint32_t id, uint32_t code);

/* Sends the entries of the log, unless another thread is about to. On any thread. */
void paths__send(struct paths *p);

/* A new listener has come: each thread calls the probe for its next launch. */
void paths__new_listener(void);

/* Sends the definition of every path again. On any thread. */
void paths__repeat(struct paths *p);

/* Empties the log without sending it, because nobody listened. On any thread. */
void paths__discard(struct paths *p);

#endif /* XPU_PRELOAD_PATHS_H */
