/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * gpu_metrics.h - the program xpuload-metrics, which samples the GPUs' own counters for
 * --gpu-metrics
 *
 * The program runs next to the recorder, with only the user's privileges, and touches no target. If
 * it is missing or fails, the recording continues.
 */
#ifndef XPU_LOADER_GPU_METRICS_H
#define XPU_LOADER_GPU_METRICS_H

#include <stdbool.h>
#include <stdint.h>

struct writer;
struct gpu_metrics;

struct gpu_metrics_stats {
	uint64_t nr_rows;		/* number of recorded rows */
	uint64_t nr_overflows;		/* how often the hardware's buffer was full */
	uint64_t lost_ns;		/* time missing between rows, summed over all GPUs */
	uint64_t nr_malformed;		/* number of invalid records */
	bool failed;			/* the program ended too soon, or had to be killed */
};

/*
 * Starts xpuload-metrics. Must be called early, so that the program inherits few descriptors. @hz:
 * samples a second; 0: only NVML. @names: metrics, separated by commas, or NULL. Return: NULL after
 * a message if the program cannot be started.
 */
struct gpu_metrics *gpu_metrics__start(uint32_t hz, const char *names);

/*
 * Waits until xpuload-metrics takes samples, for a few seconds at most. All functions accept NULL
 * as @m.
 */
void gpu_metrics__await(struct gpu_metrics *m, struct writer *w);

/* Writes the records that have arrived. */
void gpu_metrics__drain(struct gpu_metrics *m, struct writer *w);

/* Ends the program, and writes its last records. */
void gpu_metrics__finish(struct gpu_metrics *m, struct writer *w, struct gpu_metrics_stats *stats);

void gpu_metrics__free(struct gpu_metrics *m);

#endif /* XPU_LOADER_GPU_METRICS_H */
