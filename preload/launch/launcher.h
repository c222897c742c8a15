/* SPDX-License-Identifier: MIT */
/* launcher.h - the slot, the paths and the logs of each thread that has launched */
#ifndef XPU_PRELOAD_LAUNCHER_H
#define XPU_PRELOAD_LAUNCHER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/hot.h"
#include "launch/allocs.h"
#include "launch/calls.h"
#include "launch/paths.h"
#include "launch/unwind.h"
#include "python/python.h"
#include "xpu_shm.h"
#include "xpu_slot.h"

/*
 * The data of a thread that has launched. The struct has its own pages, so that the totals in it
 * outlive the thread.
 */
struct launcher {
	struct xpu_slot slot;
	struct paths *paths;			/* in the memory after this struct */
	struct unwinder *unwinder;		/* in the memory after @paths, or NULL */
	struct python *python;			/* NULL without Python on this thread */
	struct call_log *calls;			/* in the memory after @unwinder */
	unsigned int level;			/* number of launches being recorded; 2 or more only
						 * in signal handlers */
	atomic_uint range_logged;		/* the range_id that the log's entries belong to */
	atomic_uint_fast64_t nr_launches;	/* written by the thread alone */
	atomic_uint_fast64_t nr_ranges;		/* written by the thread alone */
	uint32_t stuck_id;			/* a launch that launcher__close() has waited for in
						 * vain; under lock */
	atomic_uint_fast64_t nr_allocs;		/* written by the thread alone */
	struct alloc_call alloc_call;
	struct launcher *next;
	unsigned int pages;			/* @taken of shm__take_pages(), for the thread's
						 * shared pages */
	atomic_bool dead;			/* the thread has ended */
} __attribute__((aligned(128)));		/* threads share no pair of cache lines */

_Static_assert(sizeof(struct launcher) + PATHS_LOG_END <= XPU_SHM_THREAD_BYTES,
	       "the first pages have the log");

/* NULL on a thread that has not launched yet. */
extern __thread struct launcher *launcher__this
	__attribute__((tls_model("initial-exec"))) HIDDEN;

/* 0: launches are not recorded; otherwise a number that changes each time recording is enabled. */
extern atomic_uint launcher__gate HIDDEN;

/* Number of launches by signal handlers that interrupted another launch. */
extern atomic_uint_fast64_t launcher__nr_nested;

/*
 * Number of launches without a struct launcher, because memory was short. They are reported as
 * missing.
 */
extern atomic_uint_fast64_t launcher__nr_untagged;

/*
 * Number of memory events on threads without a struct launcher: they were sent singly, or are
 * missing. Number of waits on such threads, which are missing.
 */
extern atomic_uint_fast64_t launcher__nr_other_allocs, launcher__nr_lost_waits;

/*
 * Notes that the calling thread is in the launch @id; 0: in no launch. launcher__close() reads
 * this.
 */
static inline void launcher__set_launch(struct launcher *t, uint32_t id)
{
	__atomic_store_n(&t->slot.correlation_id, id, __ATOMIC_RELEASE);
}

/*
 * Makes the struct at the first launch of a thread. Return: the struct; NULL if memory is short:
 * the launch is then not tagged. This may run in a signal handler that interrupted malloc(), and a
 * signal may arrive while the lock is held.
 */
struct launcher *launcher__new(void);

/* Starts or stops tagging, at once for every thread. */
void launcher__enable(bool on);

/*
 * Stops tagging at once for every thread, and waits at most a tenth of a second for tagged launches
 * to return. Return: whether all of them have returned.
 */
bool launcher__close(void);

/* Return: whether any other thread is inside a launch that was tagged. */
bool launcher__any_in_launch(void);

/* How many launches, threads, range events, memory events and API calls were sent so far. */
struct launch_totals {
	uint64_t nr_launches, nr_threads, nr_ranges, nr_allocs, nr_calls;
};

/* Return: how many launches were recorded so far. */
uint64_t launcher__nr(void);

/* Sends all threads' logs. */
void launcher__send(struct launch_totals *totals);

/* Sends the definition of every call path again, for a new listener. */
void launcher__repeat_definitions(void);

/*
 * Drops the entries that threads logged while nobody listened. Must be called before
 * launcher__enable(true).
 */
void launcher__discard(void);

/* Called when the process ends: counts the calls in progress on other threads as cut off. */
void launcher__cut_calls(void);

/* Sends everything that the calling thread, which is about to end, has not sent yet. */
void launcher__exit(void);

/* Forgets all threads in a forked child, where none of the parent's threads exist. */
void launcher__forked(void);

/* ---- for ranges.c, about the calling thread ---- */

/* Whether the caller interrupts a launch, as a signal handler may. */
bool launcher__inside(void);

/* Gives the thread a log. Return: whether it has one; false if memory is short. */
bool launcher__make_log(void);

/**
 * launcher__log_range - log an event of NVTX ranges
 * @time_ns: the event's time; 0: now
 * @id: the id of the innermost open range; with XPU_RANGE_MARK, the id of the mark
 * @code: the value for struct xpu_log_entry.path_id
 *
 * Return: whether the event was logged.
 */
bool launcher__log_range(uint64_t time_ns, uint32_t id, uint32_t code);

/*
 * Sets the range of the thread's next launches. @logged: whether the thread's log has the range; if
 * not, ranges__sync() is called before the next launch.
 */
void launcher__set_range(uint32_t id, bool logged);

/*
 * Marks the range in every thread's log as outdated, so that each thread calls ranges__sync()
 * before its next launch.
 */
void launcher__forget_ranges(void);

/*
 * Return: the address of the id of the NVTX range that this thread's log entries belong to; NULL if
 * the thread has no log. Another thread may set the id to LAUNCH_RANGE_UNKNOWN.
 */
#define LAUNCH_RANGE_UNKNOWN	0xffffffffu
_Atomic unsigned int *launcher__range_logged(void);

#endif /* XPU_PRELOAD_LAUNCHER_H */
