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

struct pm_gpu {
	bool running;
	uint64_t interval_ns;
	const char *chip;
	void *host, *sampling;		/* CUPTI's objects */
	bool has_chosen;		/* how to evaluate */
	struct evaluator *evaluator;	/* NULL: CUPTI does it */
	uint8_t *available;		/* images: what can be collected, which @host refers to; */
	uint8_t *config, *data;		/* what to collect, and what was */
	size_t config_bytes, data_bytes;
	unsigned int nr;
	const char *names[XPU_MAX_METRICS];	/* as CUPTI calls them */
	double factors[XPU_MAX_METRICS];
	struct set set;
};

/* Opens CUPTI. @major: CUDA's version. Return: false without PM sampling, after a message. */
bool pm__open(int major);

/**
 * pm_gpu__start - sample a GPU
 * @g: to be passed to pm_gpu__end() in any case
 * @index: CUDA's of the GPU
 * @names: metrics by their full names, up to NULL; or NULL: those that most people want
 *
 * Return: false after a message.
 */
bool pm_gpu__start(struct pm_gpu *g, unsigned int index, const uint8_t uuid[16], uint64_t interval_ns,
		   const char *const *names);

/* Evaluates and sends what was collected. */
void pm_gpu__drain(struct pm_gpu *g);
void pm_gpu__end(struct pm_gpu *g);

#endif /* METRICS_PM_H */
