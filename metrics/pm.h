/* SPDX-License-Identifier: MIT */
/*
 * pm.h - a GPU's performance monitors, sampled by CUPTI from outside the programs that use the GPU
 *
 * CUPTI collects raw counters in its own memory; this code computes each sample's metrics from
 * them.
 */
#ifndef METRICS_PM_H
#define METRICS_PM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sink.h"

/* How to compute a column from CUPTI's value, which is then multiplied by the column's factor. */
enum pm_column {
	PM_VALUE,
	PM_PER_NS,		/* the value, divided by the sample's ns */
	PM_OF_PEAK,		/* the value, divided by (the peak per cycle * the sample's
				 * cycles) */
};

struct pm_gpu {
	bool ready, running;
	uint64_t interval_ns;
	const char *chip;
	void *host, *sampling;		/* handles of CUPTI's objects */
	uint8_t *available;		/* image of the GPU's counters, which @host uses */
	uint8_t *config, *data;		/* images of the counters to collect, and of their values */
	size_t config_bytes, data_bytes;
	unsigned int max_samples;	/* maximum number of samples in @data */
	unsigned int nr, nr_peaks;
	const char *names[2 * XPU_MAX_METRICS];	/* CUPTI's names: for @nr columns, then for the
						 * peaks */
	enum pm_column columns[XPU_MAX_METRICS];
	double factors[XPU_MAX_METRICS];
	unsigned int cycles;		/* index of the column that counts cycles */
	struct set set;
};

/*
 * Opens CUPTI. @major: CUDA's major version. Return: false, after a message, if PM sampling is not
 * available.
 */
bool pm__open(int major);

/**
 * pm_gpu__prepare - prepare to sample a GPU, which takes some 0.3 s
 * @g: must be passed to pm_gpu__end(), even after an error
 * @index: CUDA's index of the GPU
 * @max_samples: how many samples fit between two drains; further samples are lost
 * @names: full names of metrics, NULL-terminated; NULL for the default metrics
 *
 * Return: false after a message.
 */
bool pm_gpu__prepare(struct pm_gpu *g, unsigned int index, const uint8_t uuid[16],
		     uint64_t interval_ns, unsigned int max_samples, const char *const *names);

/*
 * Begins to sample a GPU, if it is ready. A GPU that is sampled must be drained in time, but
 * pm_gpu__prepare() and pm_gpu__end() take long. So prepare all GPUs before you start the first
 * GPU, and stop all GPUs before you end the first GPU.
 */
void pm_gpu__start(struct pm_gpu *g, unsigned int index);

/* Computes and sends the metrics of the samples collected so far. */
void pm_gpu__drain(struct pm_gpu *g);

/* Stops sampling, and drains the GPU for the last time. */
void pm_gpu__stop(struct pm_gpu *g);

/* Stops sampling if the GPU is still sampled, and frees the GPU for other programs. */
void pm_gpu__end(struct pm_gpu *g);

#endif /* METRICS_PM_H */
