/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sampler.h - the clocks that call the sampling program: one perf event on each CPU
 *
 * The event is Linux's cpu-clock, a timer. So each sample stands for the same time on every CPU, at
 * every clock rate, and in virtual machines, and the times of samples can be added up.
 */
#ifndef XPU_LOADER_SAMPLER_H
#define XPU_LOADER_SAMPLER_H

#include <stdint.h>

struct sampler;

/**
 * sampler__open - begin to sample all CPUs
 * @prog_fd: the program, of type perf_event
 * @period_ns: time between two samples on a CPU
 *
 * CPUs that are offline are left out until they come online: see sampler__rescan().
 *
 * Return: 0, or a negative errno if no CPU can be sampled.
 */
int sampler__open(int prog_fd, uint64_t period_ns, struct sampler **s);
void sampler__close(struct sampler *s);

/* Begins to sample CPUs that have come online. Call it now and then. */
void sampler__rescan(struct sampler *s);

/* Return: how many samples Linux allows per second; 0 if Linux does not say. */
uint64_t sampler__max_hz(void);

#endif /* XPU_LOADER_SAMPLER_H */
