/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * gpu_metrics.h - the program xpuload-metrics, which samples the GPUs' own counters for --gpu-metrics
 *
 * It runs beside the recorder, with the user's privileges and no more, and touches no target. Without
 * it, or when it fails, the recording goes on.
 */
#ifndef XPU_LOADER_GPU_METRICS_H
#define XPU_LOADER_GPU_METRICS_H

#include <stdbool.h>
#include <stdint.h>

struct writer;
struct gpu_metrics;

struct gpu_metrics_stats {
	uint64_t nr_rows;		/* recorded */
	uint64_t nr_overflows;		/* the hardware's memory was full */
	uint64_t lost_ns;		/* between rows, of all GPUs */
	uint64_t nr_malformed;		/* records that it should not have sent */
	bool failed;			/* it ended early, or had to be ended */
};

/*
 * Starts the program, before there is much that it would inherit. @hz: samples a second; 0: NVML alone;
 * @names: of metrics, with commas between, or NULL. Return: NULL after a message if it cannot be started.
 */
struct gpu_metrics *gpu_metrics__start(uint32_t hz, const char *names);

/* Waits until it samples, some seconds at most. All functions may be given NULL. */
void gpu_metrics__await(struct gpu_metrics *m, struct writer *w);

/* Writes what it has sent. */
void gpu_metrics__drain(struct gpu_metrics *m, struct writer *w);

/* Lets it end, and writes the rest. */
void gpu_metrics__finish(struct gpu_metrics *m, struct writer *w, struct gpu_metrics_stats *stats);

void gpu_metrics__free(struct gpu_metrics *m);

#endif /* XPU_LOADER_GPU_METRICS_H */
