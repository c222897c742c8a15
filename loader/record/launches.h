/* SPDX-License-Identifier: GPL-3.0-or-later */
/* launches.h - launches, one by one or from the shims' logs, and other records of that form */
#ifndef XPU_LOADER_LAUNCHES_H
#define XPU_LOADER_LAUNCHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xpu_record.h"

struct launches;
struct parts;
struct process;
struct recorder_stats;

/* @ranges: NVTX ranges are recorded; @memory: events of memory. Return: NULL without memory. */
struct launches *launches__new(const struct parts *parts, bool ranges, bool memory);
void launches__free(struct launches *l);

/* Takes a launch, a graph node or a wait for the device, with its call chain; or a chain alone. */
void launches__take(struct launches *l, const struct xpu_ring_launch *launch, size_t size);

/* Takes a log: launches with the numbers of their call chains, events of NVTX ranges and of memory. */
void launches__take_log(struct launches *l, const struct xpu_ring_log *log, size_t size);

/* Takes an event of memory that came by itself. @ns_tid: of @tid, in its own pid namespace */
void launches__take_alloc(struct launches *l, uint32_t proc_id, uint32_t tid, uint32_t ns_tid,
			  const struct xpu_record_alloc *alloc);

/* Forgets the numbers of call paths, and logs, of threads that have ended. */
void launches__sweep(struct launches *l, struct process *p);

void launches__stats(const struct launches *l, struct recorder_stats *stats);

#endif /* XPU_LOADER_LAUNCHES_H */
