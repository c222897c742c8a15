// SPDX-License-Identifier: GPL-3.0-or-later
#include <math.h>

#include "metrics/state.h"
#include "write/tables/tables_recording.h"

#define METRICS_COLUMNS(C)				\
	C(host, STRING, DICTIONARY, true)		\
	C(gpu, INT64, DICTIONARY, false)		\
	C(gpu_name, STRING, DICTIONARY, true)		\
	C(metric, STRING, DICTIONARY, false)		\
	C(unit, STRING, DICTIONARY, false)		\
	C(begin_ns, INT64, DELTA, false)		\
	C(end_ns, INT64, DELTA, false)			\
	C(value, DOUBLE, PLAIN, true)

static const struct parquet_column columns[] = { METRICS_COLUMNS(TABLES_COLUMN) };

static int put_metric_row(struct tables_recording *r, const struct model *m, uint32_t partition,
			  const struct metric_set *set, size_t row)
{
	const struct gpu *gpu = &m->gpus.list.v[set->gpu];
	const float *values = metric_set__row(set, row);
	uint32_t i;
	int err = 0;

	for (i = 0; i < set->nr && !err; i++) {
		const struct metric_name *name;

		if (set->names[i] == NO_INDEX)
			continue;
		name = &metrics__of(m)->names.v[set->names[i]];
		err = partitions__put(&r->partitions, partition, FEATURE_metrics, (int64_t[]){
			parquet__known(m->inputs.v[r->nr].host), gpu->number,
			parquet__known(gpu->name),
			parquet__string(name->key), parquet__string(name->unit),
			set->rows.v[row].begin_ns - r->shift_ns,
			set->rows.v[row].end_ns - r->shift_ns,
			isfinite(values[i]) ? parquet__double(values[i]) : PARQUET_NULL,
		});
	}
	return err;
}

static int put_metrics(const struct model *m, struct tables_recording *r, uint32_t partition)
{
	const struct metrics *metrics = metrics__of(m);
	size_t row;
	int err = 0;

	array_each_while(&metrics->sets, set, !err) {
		for (row = 0; set->recording == r->nr && row < set->rows.nr && !err; row++)
			err = put_metric_row(r, m, partition, set, row);
	}
	return err;
}

const struct feature_table metrics_table = {
	.columns = columns, .nr = ARRAY_SIZE(columns), .put = put_metrics,
};
