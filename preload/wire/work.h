/* SPDX-License-Identifier: MIT */
/* work.h - device work, as vendors report it; the caller holds the lock of sender.h */
#ifndef XPU_PRELOAD_WORK_H
#define XPU_PRELOAD_WORK_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/wire.h"

/* A kernel, a copy or a memset. */
struct gpu_work {
	uint16_t type;			/* XPU_RECORD_KERNEL, _MEMCPY or _MEMSET */
	uint8_t api;			/* enum xpu_api */
	uint32_t correlation_id;	/* id of its launch */
	uint32_t stream;		/* see wire__stream() */
	uint64_t start, end;		/* in ns; 0: unknown, or not ended */
	int64_t shift_ns;		/* add this to both times, to get CLOCK_MONOTONIC */
	bool may_be_unfinished;		/* an unknown end is no sign of a fault */
	uint64_t graph_node_id;		/* 0: the work has no node */
	uint32_t graph_id;

	uint32_t name;			/* name of a kernel: see wire__kernel() */

	uint64_t bytes;			/* this and the members below are for a copy or memset */
	bool is_async;
	uint8_t copy_kind, src_kind, dst_kind;
};

/* Packs @w and counts it. */
void wire__work(const struct gpu_work *w);

#endif /* XPU_PRELOAD_WORK_H */
