/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * recent.h - keeps the last events of processes that may be adopted later
 *
 * An unknown process is adopted when its first record comes out of a ring. On a busy machine, a
 * program that ran for a tenth of a second may have ended by then, and /proc no longer shows its
 * mappings. This module still has the program's events since its last exec.
 */
#ifndef XPU_LOADER_RECENT_H
#define XPU_LOADER_RECENT_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct recent;

/* Makes an empty list of events. Return: NULL if memory runs out. */
struct recent *recent__new(void);
void recent__free(struct recent *r);

/**
 * recent__add - keep a copy of an event, and drop events that are too old or too many
 * @pid: the event's process
 * @begins: the event is an exec: earlier events of @pid belong to another image
 * @time_ns: the event's timestamp; events must be added in the order of timestamps
 *
 * If memory runs out, all events of @pid are dropped.
 */
void recent__add(struct recent *r, pid_t pid, bool begins, uint64_t time_ns,
		 const struct perf_event_header *event);

/* Drops the events of @pid, because a new process has this pid, or the process is recorded now. */
void recent__forget(struct recent *r, pid_t pid);

/**
 * recent__take - pass the events of @pid to @fn, in order, and drop them
 *
 * @fn gets all events since the last exec of @pid, or no events if some were dropped.
 */
void recent__take(struct recent *r, pid_t pid,
		  void (*fn)(void *ctx, const struct perf_event_header *event), void *ctx);

#endif
