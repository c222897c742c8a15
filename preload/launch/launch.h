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
 * CUPTI's callback: for the launch ids of the driver domain, inside the application's API call, and
 * for graph nodes and contexts of the resource domain.
 */
void launch__callback(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
		      const void *data);

/* Whether the driver API call @name puts work on a device that CUPTI makes a record of. */
bool launch__is_launch(const char *name);

/* Starts and stops tagging, at once for every thread. */
void launch__enable(bool on);

/* What was tagged and logged so far, none of it still in a log, and by how many threads. */
struct launch_totals {
	uint64_t nr_launches, nr_threads, nr_ranges;
};

/* Sends what threads have logged. */
void launch__send(struct launch_totals *totals);

/* ---- for ranges.c, of the calling thread ---- */

/* Whether this interrupts a launch. */
bool launch__inside(void);

/* Return: whether it has a log; false: no memory. */
bool launch__make_log(void);

/**
 * launch__log_range - log an event of NVTX ranges
 * @time_ns: 0 for now
 * @id: the innermost that is open, or with XPU_RANGE_MARK the mark
 * @code: as struct xpu_log_entry.path_id has it
 *
 * Return: whether it is in the log.
 */
bool launch__log_range(uint64_t time_ns, uint32_t id, uint32_t code);

/*
 * Launches from now on are in that range. @logged: their log says so; if not, ranges__sync() is
 * called before the next one.
 */
void launch__set_range(uint32_t id, bool logged);

/* What any thread's log says of that is not to be gone by, as above. */
void launch__forget_ranges(void);

/*
 * In what range the log has this thread. Another thread may say that this is not so any more.
 * NULL: it has no log.
 */
#define LAUNCH_RANGE_UNKNOWN	0xffffffffu
_Atomic unsigned int *launch__range_logged(void);

/* Tells of every call path again: somebody new is listening. */
void launch__repeat_definitions(void);

/* Forgets what threads have logged while nobody listened; before launch__enable(true). */
void launch__discard(void);

/* The calling thread ends. */
void launch__exit(void);

/* In a forked child: none of the parent's threads exist, and CUPTI must not be called. */
void launch__forked(void);

#endif /* XPU_PRELOAD_LAUNCH_H */
