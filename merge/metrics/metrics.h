/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * metrics.h - the GPUs' own counters over time, recorded with --gpu-metrics
 *
 * Metrics that were sampled together on one GPU form a set; a row of a set has a value for each
 * metric. The counters do not know kernels or call paths; metric_sums.h has the values of kernels
 * and call paths.
 */
#ifndef MERGE_METRICS_H
#define MERGE_METRICS_H

#include <stdbool.h>
#include <stdint.h>

#include "model/gpu.h"
#include "util.h"
#include "xpu_record.h"

/* a metric, which several sets may have */
struct metric_name {
	const char *name, *unit;	/* interned, like the next strings */
	const char *title;		/* for people: "DRAM read %" */
	const char *key;		/* for programs: "dram_read_percent" */
	const char *error_key;		/* for programs: "dram_read_percent_error" */
	enum xpu_metric_kind kind;
};

struct metric_row {			/* rows are in order and do not overlap */
	uint64_t begin_ns, end_ns;
};

struct metric_set {
	uint32_t recording;		/* index of the input */
	uint16_t id;			/* the set's id in the recording */
	uint8_t uuid[16];
	uint32_t gpu;			/* index in gpus.list, set after the recording was read */
	uint32_t nr;			/* number of metrics */
	uint32_t names[XPU_MAX_METRICS];	/* index in metrics.names; NO_INDEX: undefined */
	ARRAY(struct metric_row) rows;
	ARRAY(float) values;		/* nr values for each row; NaN: no value */
};

struct metrics {
	struct strpool *strings;	/* owned by the caller */
	ARRAY(struct metric_set) sets;
	ARRAY(struct metric_name) names;	/* without duplicates */
	struct idmap by_name;		/* maps the key of a name and unit to an index in names */
	struct idmap by_set;		/* maps (recording, id) to an index in sets */
};

void metrics__init(struct metrics *m, struct strpool *strings);
void metrics__exit(struct metrics *m);

/*
 * Finds or adds a metric by its interned name and unit. Return: 0, or -ENOMEM if memory is short or
 * the name or the unit is NULL.
 */
int metrics__add_name(struct metrics *m, const struct metric_name *name, uint32_t *idx);

/* Adds a set. @m then owns it, unless this fails. Return: 0 or -ENOMEM. */
int metrics__add_set(struct metrics *m, const struct metric_set *set);

/* Takes the definition of a metric. Return: 0, -EINVAL if it is invalid, or -ENOMEM. */
int metrics__define(struct metrics *m, uint32_t recording, const struct xpu_record_metric *rec);

/*
 * Takes rows; @shift_ns is added to their times. Invalid rows are left out; *@nr_bad is set to
 * their number. Return: 0 or -ENOMEM.
 */
int metrics__add(struct metrics *m, uint32_t recording, const struct xpu_record_metrics *rec,
		 uint64_t shift_ns, uint32_t *nr_bad);

/* Return: the set with that id, or NULL. */
struct metric_set *metrics__set(const struct metrics *m, uint32_t recording, uint16_t id);

/*
 * Keeps only the rows between two timestamps. Rows across a timestamp are cut, and their amounts
 * are reduced.
 */
void metrics__cut(struct metrics *m, uint64_t begin_ns, uint64_t end_ns);

/*
 * Finds the GPU of each metric set of a recording. Must be called after the recording has been
 * read. Return: 0 or -ENOMEM.
 */
int metrics__find_gpus(struct metrics *m, uint32_t recording, struct gpus *gpus);

static inline const float *metric_set__row(const struct metric_set *set, size_t row)
{
	return set->values.v + row * set->nr;
}

/* Return: whether the samples of two sets overlap in time. */
bool metric_set__same_time(const struct metric_set *a, const struct metric_set *b);

/* Return: index of the first row that ends after @ns; rows.nr if no row does. */
size_t metric_set__after(const struct metric_set *set, uint64_t ns);

#endif /* MERGE_METRICS_H */
