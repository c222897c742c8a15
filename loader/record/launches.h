/* SPDX-License-Identifier: GPL-3.0-or-later */
/* launches.h - launches, sent one by one or in shims' logs, and the other entries of these logs */
#ifndef XPU_LOADER_LAUNCHES_H
#define XPU_LOADER_LAUNCHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xpu_record.h"

struct launches;
struct recorder_parts;
struct process;
struct recorder_stats;

/*
 * Makes the collector of launches. @ranges: NVTX ranges are recorded; @memory: memory events are
 * recorded. Return: NULL if memory runs out.
 */
struct launches *launches__new(const struct recorder_parts *parts, bool ranges, bool memory);
void launches__free(struct launches *l);

/*
 * Takes a launch, a graph node or a wait for the device, with its call chain; or only a call
 * chain.
 */
void launches__take(struct launches *l, const struct xpu_ring_launch *launch, size_t size);

/* Takes a log: memory events, range events, and launches with their call chains' numbers. */
void launches__take_log(struct launches *l, const struct xpu_ring_log *log, size_t size);

/*
 * Takes a memory event that was not sent in a log. @ns_tid: the thread's id in its own pid
 * namespace
 */
void launches__take_alloc(struct launches *l, uint32_t proc_id, uint32_t tid, uint32_t ns_tid,
			  const struct xpu_record_alloc *alloc);

/* Counts an unreadable record of the process. */
void launches__malformed(struct launches *l, uint32_t proc_id);

/* Frees the call paths and logs of ended threads. */
void launches__sweep(struct launches *l, struct process *p);

void launches__stats(const struct launches *l, struct recorder_stats *stats);

#endif /* XPU_LOADER_LAUNCHES_H */
