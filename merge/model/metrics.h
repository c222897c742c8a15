/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * metrics.h - the GPUs' own counters over time, recorded with --gpu-metrics
 *
 * Metrics that were sampled together are a set, of one GPU; a row of a set has a value for each. The
 * counters know no kernel and no call path: their averages are over the time in which the work ran,
 * whatever else ran then.
 */
#ifndef MERGE_METRICS_H
#define MERGE_METRICS_H

#include <stdbool.h>
#include <stdint.h>

#include "model/gpu.h"
#include "util.h"
#include "xpu_record.h"

/* A metric that sets may have, several of them, too. */
struct metric_name {
	const char *name, *unit;	/* interned, as the others */
	const char *title;		/* for people: "DRAM read %" */
	const char *key;		/* for programs: "dram_read_percent" */
	enum xpu_metric_kind kind;
};

struct metric_row {			/* in order, not overlapping */
	uint64_t begin_ns, end_ns;
};

struct metric_set {
	uint32_t recording;		/* index of the input */
	uint16_t id;			/* in it */
	uint8_t uuid[16];
	uint32_t gpu;			/* index in gpus.list, when the recording was read */
	uint32_t nr;			/* of metrics */
	uint32_t names[XPU_MAX_METRICS];	/* index in metrics.names; NO_INDEX: not defined */
	ARRAY(struct metric_row) rows;
	ARRAY(float) values;		/* nr of each row; NaN: none */
};

struct metrics {
	struct strpool *strings;	/* the caller's */
	ARRAY(struct metric_set) sets;
	ARRAY(struct metric_name) names;	/* each once */
	struct idmap by_name;		/* key of name and unit to index in names */
	struct idmap by_set;		/* (recording, id) to index in sets */
};

void metrics__init(struct metrics *m, struct strpool *strings);
void metrics__exit(struct metrics *m);

/* Finds or adds a name, of its interned name and unit, NULL for want of memory. Return: 0 or -ENOMEM. */
int metrics__add_name(struct metrics *m, const struct metric_name *name, uint32_t *idx);

/* Adds a set, which is @m's afterwards, unless this fails. Return: 0 or -ENOMEM. */
int metrics__add_set(struct metrics *m, const struct metric_set *set);

/* Takes the definition of a metric. Return: 0, -EINVAL if it cannot be, or -ENOMEM. */
int metrics__define(struct metrics *m, uint32_t recording, const struct xpu_record_metric *rec);

/*
 * Takes rows; @shift_ns is added to their times. *@nr_bad gets the number of those that cannot be,
 * which are left out. Return: 0 or -ENOMEM.
 */
int metrics__add(struct metrics *m, uint32_t recording, const struct xpu_record_metrics *rec,
		 uint64_t shift_ns, uint32_t *nr_bad);

/* Return: the set of that id, or NULL. */
struct metric_set *metrics__set(const struct metrics *m, uint32_t recording, uint16_t id);

/* Finds the GPUs of the sets of a recording, which has been read. Return: 0 or -ENOMEM. */
int metrics__find_gpus(struct metrics *m, uint32_t recording, struct gpus *gpus);

static inline const float *metric_set__row(const struct metric_set *set, size_t row)
{
	return set->values.v + row * set->nr;
}

/* Return: the first row that ends after @ns; rows.nr if there is none. */
size_t metric_set__after(const struct metric_set *set, uint64_t ns);

#endif /* MERGE_METRICS_H */
