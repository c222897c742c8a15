/* SPDX-License-Identifier: GPL-3.0-or-later */
/* samples.h - CPU samples, and the stacks of samples and of blocked threads */
#ifndef XPU_LOADER_SAMPLES_H
#define XPU_LOADER_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

#include "xpu_record.h"

struct recorder_parts;
struct recorder_stats;
struct samples;

/*
 * Makes the collector of samples. @period_ns: the time that a sample stands for if its thread's CPU
 * time is not known. Return: NULL if memory runs out.
 */
struct samples *samples__new(const struct recorder_parts *parts, uint32_t period_ns);
void samples__free(struct samples *s);

void samples__take(struct samples *s, const struct xpu_ring_sample *sample, size_t size);

void samples__take_rest(struct samples *s, const struct xpu_ring_cpu_rest *rest);

/* Writes the stack of a blocked thread; it does not count as a sample. */
void samples__take_off_stack(struct samples *s, const struct xpu_ring_off_stack *stack,
			     uint32_t thread_id, uint32_t path_id);

/* Return: how many bytes follow the frames in a record that has a stack copy. */
static inline size_t samples__copy_bytes(uint32_t nr_python, uint32_t stack_bytes)
{
	return nr_python * sizeof(struct xpu_python_frame) + XPU_NR_REGS * sizeof(__u64) +
	       stack_bytes;
}

/* Drops the data kept for a thread. Must be called when no more samples of the thread come. */
void samples__end_thread(struct samples *s, uint32_t thread_id);

/* Makes the recorder write the next stack of each thread in full. */
void samples__cut(struct samples *s);

void samples__stats(const struct samples *s, struct recorder_stats *stats);

#endif /* XPU_LOADER_SAMPLES_H */
