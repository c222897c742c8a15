/* SPDX-License-Identifier: GPL-3.0-or-later */
/* event_packer.h - collects small, frequent events into records that hold many of them */
#ifndef XPU_LOADER_EVENT_PACKER_H
#define XPU_LOADER_EVENT_PACKER_H

#include <stdbool.h>
#include <stdint.h>

#include "xpu_record.h"

struct event_packer;
struct writer;

/*
 * Makes a packer. @sample_period_ns: the time that each CPU sample stands for. Return: NULL if
 * memory runs out.
 */
struct event_packer *event_packer__new(struct writer *w, uint32_t sample_period_ns);
void event_packer__free(struct event_packer *e);

/* Adds a launch, and sets its delta_ns from @time_ns. @range_id: 0 if it is in no range */
void event_packer__add_launch(struct event_packer *e, uint64_t time_ns, struct xpu_launch launch,
			      uint32_t range_id);
void event_packer__add_range(struct event_packer *e, uint64_t time_ns,
			     struct xpu_range_event range);
/* Adds a sample. @ran_ns: the thread's CPU time since its last sample; 0: not known */
void event_packer__add_sample(struct event_packer *e, uint64_t time_ns, struct xpu_sample sample,
			      uint32_t ran_ns);

/* Adds a memory event of process @proc_id, and sets its deltas from @time_ns and @order. */
void event_packer__add_alloc(struct event_packer *e, uint32_t proc_id, uint64_t time_ns,
			     uint64_t order, struct xpu_alloc alloc);

/* Writes the collected events as records. */
void event_packer__flush(struct event_packer *e);

#endif /* XPU_LOADER_EVENT_PACKER_H */
