/* SPDX-License-Identifier: MIT */
/*
 * paths.h - the call paths that a thread has launched from, and its log of launches
 *
 * Most launches come from a call path seen before. A thread remembers whole paths, and finds the
 * path of a launch by comparing all of it: the function called, every frame, and Python's lines,
 * too. With a path it also keeps a trace: the memory that the call chain was read from. Programs
 * run in loops, so the first guess is the path that followed the previous path last time. If all
 * words of its trace are unchanged, the chain need not be read again. If a word differs, the next
 * guess is a path whose trace had this word at this address, so that paths are found in any order.
 * A new path gets a number, and the probe is called with its frames. A launch from a known path is
 * an entry of 16 bytes in the thread's struct xpu_log; when the log is full, a probe is called for
 * it. The shim's own thread sends the logs of quiet threads.
 *
 * Memory events have paths, too. Most events are followed by a launch whose path differs only in
 * some inner frames. The event's trace then keeps only the words that differ, and refers to the
 * launch's trace for all other words. Nevertheless, all words are compared for the event, and soon
 * afterwards for the launch.
 *
 * Only a thread itself writes to its log and its paths. "busy" keeps other threads from sending or
 * emptying the log at the same time. Nobody waits for "busy": a thread that finds it set calls the
 * probe for its launch, as if the log were full. Entries may be sent twice if their sender was
 * killed halfway; the loader recognizes them by their numbers.
 */
#ifndef XPU_PRELOAD_PATHS_H
#define XPU_PRELOAD_PATHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hot.h"
#include "python/python.h"
#include "launch/unwind.h"
#include "xpu_slot.h"

struct alloc;
struct paths;		/* the paths of one thread */

/*
 * Whether launches are logged: true with XPUSHIM_PROBE=path, the default; false with
 * XPUSHIM_PROBE=launch. If false, every launch calls the probe, and the logs are for ranges.c only.
 */
extern bool paths__enabled HIDDEN;

/*
 * Reads XPUSHIM_PROBE. Must be called before any launch is tagged; only the first call does
 * anything.
 */
void paths__init(void);

/* Return: the bytes of a struct paths, for which the caller maps pages. */
size_t paths__bytes(void);

/* Return: the offset of the struct xpu_log in a struct paths. */
size_t paths__log_at(void);
#define PATHS_LOG_END	15992		/* the log ends here or before */

/*
 * Initializes @p, which has paths__bytes() of zeroed memory; called by the thread itself. Sets the
 * log's address in @slot.
 */
void paths__start(struct paths *p, struct xpu_slot *slot);

/* Frees the memory that @p has allocated, but not @p itself. Nobody may use it any more. */
void paths__free(struct paths *p);

/**
 * paths__guess - guess the path of a launch, or of a call that has waited
 * @p: the paths of the calling thread
 * @slot: says which function was called, and whether the call has waited
 * @python: which kinds of frames chains have
 *
 * Return: the trace of the path's native chain, if everything else that the path depends on is
 * unchanged; or NULL.
 */
const struct unwind_trace *paths__guess(struct paths *p, const struct xpu_slot *slot,
					enum python_mode python);

/*
 * After a wrong guess, finds another path by the word that differed. Not for calls that have
 * waited. Return: like paths__guess().
 */
const struct unwind_trace *paths__guess_again(struct paths *p, const struct xpu_slot *slot,
					      enum python_mode python,
					      const struct unwind_miss *miss);

/*
 * Logs the launch, or calls the probe for it, after a right guess. For a call that has waited,
 * always calls the probe. Return: like paths__tell_walked().
 */
uint64_t paths__tell_guessed(struct paths *p, struct xpu_slot *slot);

/**
 * paths__tell_walked - log a launch, or call the probe for the launch or for a call that has waited
 * @p: the paths of the calling thread
 * @slot: complete except for path_id, with frames
 * @u, @python: where the frames come from
 * @mode: which kinds of frames the chain has
 *
 * Not for launches that interrupt another launch on this thread. Return: the CPU's ticks just
 * before the launch was logged; 0 if the probe was called.
 */
uint64_t paths__tell_walked(struct paths *p, struct xpu_slot *slot, const struct unwinder *u,
			    const struct python *python, enum python_mode mode);

/**
 * paths__number - find the number of a memory event's path
 * @slot: uninitialized; its cbid and domain are set
 * @domain, @cbid: the function called
 *
 * Return: the number. PATHS_UNTOLD: the path has a number, but the listener is new, so
 * paths__define() has to be called. PATHS_WALKED: the chain had to be walked, and is in @slot's
 * frames, nr_frames and flags, so paths__number_walked() has to be called.
 */
#define PATHS_UNTOLD	(XPU_MAX_PATHS + 1)
#define PATHS_WALKED	(XPU_MAX_PATHS + 2)
uint32_t paths__number(struct paths *p, struct unwinder *u, struct xpu_slot *slot, uint32_t domain,
		       uint32_t cbid, enum python_mode python);

/*
 * Defines the last guessed path. This also tells the listener where the log is. @slot: complete
 * except for the path. Return: the path's number.
 */
uint32_t paths__define(struct paths *p, struct xpu_slot *slot);

/*
 * Does the work of paths__tell_walked() for a memory event, without logging it. Defines a path that
 * is new, or that a new listener may not know. Return: the path's number; 0 if it could not be
 * kept.
 */
uint32_t paths__number_walked(struct paths *p, struct xpu_slot *slot, const struct unwinder *u,
			      const struct python *python, enum python_mode mode);

/* Whether the current listener knows the thread and the thread's log. */
bool paths__is_told(const struct paths *p);

/*
 * Logs a memory event. @path: the number of its path, or 0. Return: false if there is no room, or
 * if the event has no path and the listener does not know the thread.
 */
bool paths__alloc(struct paths *p, const struct alloc *a, uint32_t path);

/*
 * Logs an event of NVTX ranges, see struct xpu_log_entry. @time_ns: 0 for the current time. Return:
 * false if there is no room.
 */
bool paths__range(struct paths *p, uint64_t time_ns, uint32_t id, uint32_t code);

/*
 * Sends the entries of the log, unless another thread is about to send them. May be called on any
 * thread.
 */
void paths__send(struct paths *p);

/* Makes each thread call the probe for its next launch, because there is a new listener. */
void paths__new_listener(void);

/* Sends the definition of every path again. May be called on any thread. */
void paths__repeat(struct paths *p);

/* Empties the log without sending it, because nobody listened. May be called on any thread. */
void paths__discard(struct paths *p);

#endif /* XPU_PRELOAD_PATHS_H */
