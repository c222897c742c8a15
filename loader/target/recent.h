/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * recent.h - the last events of processes that are not recorded, for those that turn out to be
 *
 * A process of which nothing is known yet is taken up when its first record comes out of a ring. If
 * it has ended by then, /proc has no mappings of it any more: a program of a tenth of a second on a
 * busy machine. Its events are still here, from its last exec on.
 */
#ifndef XPU_LOADER_RECENT_H
#define XPU_LOADER_RECENT_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct recent;

/* Return: NULL without memory. */
struct recent *recent__new(void);
void recent__free(struct recent *r);

/**
 * recent__add - keep a copy of an event, and forget those that are too old or too many
 * @pid: the process it is about
 * @begins: it is an exec: earlier events of @pid are about another image
 * @time_ns: its time; events are added in the order of their times
 *
 * Without memory for it, all events of @pid are forgotten.
 */
void recent__add(struct recent *r, pid_t pid, bool begins, uint64_t time_ns,
		 const struct perf_event_header *event);

/* Forgets the events of @pid: a new process has its number, or it is recorded from now on. */
void recent__forget(struct recent *r, pid_t pid);

/**
 * recent__take - pass the events of @pid to @fn, in their order, and forget them
 *
 * These are all since its last exec, or none if they are not all here.
 */
void recent__take(struct recent *r, pid_t pid,
		  void (*fn)(void *ctx, const struct perf_event_header *event), void *ctx);

#endif
