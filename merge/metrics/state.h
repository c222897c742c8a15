/* SPDX-License-Identifier: GPL-3.0-or-later */
/* state.h - the state of the feature metrics: the GPUs' own counters */
#ifndef MERGE_METRICS_STATE_H
#define MERGE_METRICS_STATE_H

#include "metrics/metric_sums.h"
#include "metrics/metrics.h"
#include "model/feature.h"
#include "model/model.h"

struct metrics_state {
	struct metrics metrics;
	struct metric_sums sums;	/* complete after finish() */
};

/* Return: the state; it is empty if the recordings have no metrics. */
const struct metrics_state *metrics_state__of(const struct model *m);

static inline const struct metrics *metrics__of(const struct model *m)
{
	return &metrics_state__of(m)->metrics;
}

/* text_metrics.c: the GPUs' own counters, by device, kernel and call path */
extern const struct section section_gpu_metrics, section_kernel_metrics, section_path_metrics;
int metrics__kernel_values(const struct session *s, kernel_values_t *values);

/* text_roof.c: the time that perfect kernels would save, by kernel, call path and line */
extern const struct section section_kernel_roof, section_path_roof, section_line_roof;
void roof__answer(const struct session *s, FILE *f, const struct feature_answer *a);

/* page_roof.c: the roof plot of the page */
int roof__page(const struct session *s, struct json_out *j);

/* metrics_table.c */
extern const struct feature_table metrics_table;

#endif /* MERGE_METRICS_STATE_H */
