/* SPDX-License-Identifier: GPL-3.0-or-later */
/* events.h - what is small and comes often, on its way into records of many */
#ifndef XPU_LOADER_EVENTS_H
#define XPU_LOADER_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "xpu_record.h"

struct events;
struct writer;

/* @sample_period_ns: what each CPU sample stands for. Return: NULL without memory. */
struct events *events__new(struct writer *w, uint32_t sample_period_ns);
void events__free(struct events *e);

/* Of the event that is given, delta_ns is set here, to mean @time_ns. @range_id: 0 for none */
void events__add_launch(struct events *e, uint64_t time_ns, struct xpu_launch launch,
			uint32_t range_id);
void events__add_range(struct events *e, uint64_t time_ns, struct xpu_range_event range);
void events__add_sample(struct events *e, uint64_t time_ns, struct xpu_sample sample);

/* Writes what is there as records. */
void events__flush(struct events *e);

#endif /* XPU_LOADER_EVENTS_H */
