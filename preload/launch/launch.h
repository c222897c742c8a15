/* SPDX-License-Identifier: MIT */
/* launch.h - what happens on the launching thread */
#ifndef XPU_PRELOAD_LAUNCH_H
#define XPU_PRELOAD_LAUNCH_H

#include <stdbool.h>
#include <stdint.h>

#include <cupti.h>

struct cupti;

/* Set before the callbacks are enabled. */
extern const struct cupti *launch__cupti;

/*
 * CUPTI calls this inside the application's launch calls (driver domain), and for graph nodes and
 * contexts (resource domain).
 */
void launch__callback(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
		      const void *data);

/* The callback if launches are recorded only in windows: see window.h. */
void launch__callback_in_windows(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
				 const void *data);

/* Whether the driver API call @name puts work on a device for which CUPTI makes a record. */
bool launch__is_launch(const char *name);

/* Starts and stops tagging, at once for every thread. */
void launch__enable(bool on);

/*
 * Stops tagging at once for every thread, and waits at most a tenth of a second for tagged launches
 * to return.
 */
void launch__close(void);

/*
 * Counts so far: launches, threads, range events, memory events and API calls, all of which were
 * sent.
 */
struct launch_totals {
	uint64_t nr_launches, nr_threads, nr_ranges, nr_allocs, nr_calls;
};

/* Return: how many launches were recorded so far. */
uint64_t launch__nr(void);

/* Sends all threads' logs. */
void launch__send(struct launch_totals *totals);

/* ---- for ranges.c, about the calling thread ---- */

/* Whether the caller interrupts a launch, as a signal handler may. */
bool launch__inside(void);

/* Gives the thread a log. Return: whether it has one; false without memory. */
bool launch__make_log(void);

/**
 * launch__log_range - log an event of NVTX ranges
 * @time_ns: 0: now
 * @id: the innermost open range, or the mark with XPU_RANGE_MARK
 * @code: a range's value of struct xpu_log_entry.path_id
 *
 * Return: whether it was logged.
 */
bool launch__log_range(uint64_t time_ns, uint32_t id, uint32_t code);

/*
 * Sets the range of the thread's next launches. @logged: the thread's log has it; if not,
 * ranges__sync() is called before the next launch.
 */
void launch__set_range(uint32_t id, bool logged);

/*
 * Marks the range in every thread's log as out of date, so that ranges__sync() is called before the
 * next launch.
 */
void launch__forget_ranges(void);

/*
 * Return: the address of the id of the NVTX range that this thread's log entries belong to; NULL if
 * the thread has no log. Another thread may set the id to LAUNCH_RANGE_UNKNOWN.
 */
#define LAUNCH_RANGE_UNKNOWN	0xffffffffu
_Atomic unsigned int *launch__range_logged(void);

/* Sends the definition of every call path again, for a new listener. */
void launch__repeat_definitions(void);

/*
 * Drops the entries that threads logged while nobody listened. To be called before
 * launch__enable(true).
 */
void launch__discard(void);

/* At the process's end: counts the calls that other threads are in. */
void launch__cut_calls(void);

/* The calling thread ends. */
void launch__exit(void);

/* In a forked child: none of the parent's threads exist, and CUPTI must not be called. */
void launch__forked(void);

#endif /* XPU_PRELOAD_LAUNCH_H */
