/* SPDX-License-Identifier: MIT */
/*
 * pm.h - a GPU's performance monitors, sampled by CUPTI from outside of the programs that use the GPU
 *
 * CUPTI collects raw counters in memory of its own; each sample is evaluated here.
 */
#ifndef METRICS_PM_H
#define METRICS_PM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sink.h"

/* How a column is made of the value that CUPTI has for its name; each times the column's factor. */
enum pm_column {
	PM_VALUE,
	PM_PER_NS,		/* the value / the sample's ns */
	PM_OF_PEAK,		/* the value / (the most in a cycle * the sample's cycles) */
};

struct pm_gpu {
	bool ready, running;
	uint64_t interval_ns;
	const char *chip;
	void *host, *sampling;		/* CUPTI's objects */
	uint8_t *available;		/* images: what can be collected, which @host refers to; */
	uint8_t *config, *data;		/* what to collect, and what was */
	size_t config_bytes, data_bytes;
	unsigned int max_samples;	/* in @data */
	unsigned int nr, nr_peaks;
	const char *names[2 * XPU_MAX_METRICS];	/* as CUPTI calls them; of @nr columns, then of peaks */
	enum pm_column columns[XPU_MAX_METRICS];
	double factors[XPU_MAX_METRICS];
	unsigned int cycles;		/* the column that has them */
	struct set set;
};

/* Opens CUPTI. @major: CUDA's version. Return: false without PM sampling, after a message. */
bool pm__open(int major);

/**
 * pm_gpu__prepare - get all ready for sampling a GPU, which takes some 0.3 s
 * @g: to be passed to pm_gpu__end() in any case
 * @index: CUDA's of the GPU
 * @max_samples: to have room for between two drains; when there is none for more, those are lost
 * @names: metrics by their full names, up to NULL; or NULL: those that most people want
 *
 * Return: false after a message.
 */
bool pm_gpu__prepare(struct pm_gpu *g, unsigned int index, const uint8_t uuid[16], uint64_t interval_ns,
		     unsigned int max_samples, const char *const *names);

/*
 * Samples a GPU, if it is ready: from then on it is to be drained in time, so that all GPUs are prepared
 * before the first one is started, and stopped before the first one is let go.
 */
void pm_gpu__start(struct pm_gpu *g, unsigned int index);

/* Evaluates and sends what was collected. */
void pm_gpu__drain(struct pm_gpu *g);

/* Drains for the last time. */
void pm_gpu__stop(struct pm_gpu *g);

/* Stops, and lets go of the GPU. */
void pm_gpu__end(struct pm_gpu *g);

#endif /* METRICS_PM_H */
