// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/feature.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "join/second_pass.h"
#include "join/session.h"
#include "metrics/state.h"
#include "model/remap.h"
#include "read/collect.h"

const struct metrics_state *metrics_state__of(const struct model *m)
{
	static const struct metrics_state none;

	return m->features[FEATURE_metrics] ?: &none;
}

static void *metrics__new(struct model *m)
{
	struct metrics_state *s = calloc(1, sizeof(*s));

	if (s)
		metrics__init(&s->metrics, &m->strings);
	return s;
}

static void metrics__free(void *state)
{
	struct metrics_state *s = state;

	metric_sums__exit(&s->sums);
	metrics__exit(&s->metrics);
	free(s);
}

/* ---- records --------------------------------------------------------------------------------- */

static int take_metric(void *state, struct collect *c, uint32_t proc, const struct xpu_record *rec)
{
	struct metrics_state *s = state;
	int err = metrics__define(&s->metrics, c->model->machine.recording, (const void *)rec);

	(void)proc;
	c->loss->bad_metrics += err == -EINVAL;
	return err == -EINVAL ? 0 : err;
}

static int take_metrics(void *state, struct collect *c, uint32_t proc, const struct xpu_record *rec)
{
	struct metrics_state *s = state;
	uint32_t nr_bad;
	int err;

	(void)proc;
	err = metrics__add(&s->metrics, c->model->machine.recording, (const void *)rec,
			   c->found->shift_ns, &nr_bad);
	c->loss->bad_metrics += nr_bad;
	return err;
}

static int take_end(void *state, struct collect *c, uint32_t proc, const struct xpu_record *r)
{
	const struct xpu_record_metrics_end *rec = (const void *)r;
	struct metrics_state *s = state;
	const struct metric_set *set =
		metrics__set(&s->metrics, c->model->machine.recording, rec->set);

	(void)proc;
	if (set && rec->nr_rows > set->rows.nr)
		c->loss->missing_metrics += rec->nr_rows - set->rows.nr;
	c->loss->metric_overflows += rec->nr_overflows;
	c->loss->metric_gap_us += rec->lost_ns / 1000;
	return 0;
}

static const struct feature_record records[] = {
	{ XPU_RECORD_METRIC, false, take_metric },
	{ XPU_RECORD_METRICS, false, take_metrics },
	{ XPU_RECORD_METRICS_END, false, take_end },
	{ 0 },
};

static int metrics__begin(void *state, struct second_pass *p)
{
	struct metrics_state *s = state;

	p->sums->works.wanted |= s->metrics.sets.nr != 0;
	return metrics__find_gpus(&s->metrics, p->model->machine.recording, &p->model->gpus);
}

/* ---- all recordings -------------------------------------------------------------------------- */

/* Adds the metrics of another state. Moves rows and values instead of copying them. */
static int metrics__absorb(void *state, void *from_state, struct remap *r)
{
	struct metrics *from = &((struct metrics_state *)from_state)->metrics;
	struct metrics *to = &((struct metrics_state *)state)->metrics;
	size_t i;
	uint32_t k;
	int err = 0;

	for (i = 0; i < from->sets.nr && !err; i++) {
		struct metric_set set = from->sets.v[i];

		for (k = 0; k < set.nr && !err; k++) {
			struct metric_name name = from->names.v[set.names[k]];

			name.name = remap__text(r, name.name);
			name.unit = remap__text(r, name.unit);
			err = metrics__add_name(to, &name, &set.names[k]);
		}
		set.gpu = remap__find(r->gpus, set.gpu);
		err = err ?: metrics__add_set(to, &set);
		if (!err)
			memset(&from->sets.v[i], 0, sizeof(set));	/* @to now owns the set */
	}
	return err;
}

static int metrics__finish(void *state, struct session *session)
{
	const struct filter *filter = session->opts.filter;
	uint64_t start_ns = session->model.start_ns;
	struct metrics_state *s = state;

	metrics__cut(&s->metrics, filter__begin_ns(filter, start_ns),
		     filter__end_ns(filter, start_ns));
	/* Only tables and the page show values of kernels and call paths. */
	if (!session->opts.stats && !session->opts.by_time)
		return 0;
	return metric_sums__finish(&s->sums, &s->metrics, &session->model,
				   &session->sums.works);
}

/* ---- results --------------------------------------------------------------------------------- */

static void print_value(const struct metric_name *name, const struct metric_use *use,
			double value, FILE *f)
{
	fprintf(f, "; %s %.3g", name->name, value);
	if (metric__is_solved(name))
		fprintf(f, "+-%.1g", metric_use__error(use));
	fprintf(f, " %s", name->unit);
}

/* Prints a kernel's metrics, except clocks and metrics that are always 0. */
static int metrics__kernel(const struct session *s, uint32_t leaf, FILE *f)
{
	const struct metrics *metrics = metrics__of(&s->model);
	struct metric_use *uses;
	size_t i;

	if (!metrics->names.nr)
		return 0;
	uses = calloc(metrics->names.nr, sizeof(*uses));
	if (!uses)
		return -ENOMEM;
	metric_sums__of_leaf(&metrics_state__of(&s->model)->sums, metrics, leaf, uses);
	for (i = 0; i < metrics->names.nr; i++) {
		const struct metric_name *name = &metrics->names.v[i];
		double value = metric_use__value(&uses[i], name->kind);

		if (value >= (name->kind == XPU_METRIC_SUM ? 1e-6 : 0.01) &&
		    strcmp(name->unit, "MHz"))
			print_value(name, &uses[i], value, f);
	}
	free(uses);
	return 1;
}

static int meter__put(struct meter *m, uint64_t time_ns, double value)
{
	if (m->points.nr && m->points.v[m->points.nr - 1].value == value)
		return 0;
	return array_push(&m->points, ((struct meter_point){ time_ns, value }));
}

/* Computes a metric over time; it is 0 where there are no samples. Return: 0 or -ENOMEM. */
static int meter__fill(struct meter *m, const struct metric_set *set, uint32_t metric)
{
	const struct metric_row *row, *last = NULL;
	size_t i;
	int err = 0;

	for (i = 0; i < set->rows.nr && !err; i++) {
		double value = metric_set__row(set, i)[metric];

		row = &set->rows.v[i];
		if (last && row->begin_ns - last->end_ns > row->end_ns - row->begin_ns)
			err = meter__put(m, last->end_ns, 0);
		if (!err && isfinite(value)) {
			err = meter__put(m, row->begin_ns, value);
			last = row;
		}
	}
	return err ?: last ? meter__put(m, last->end_ns, 0) : 0;
}

static int metrics__meter(const struct session *s, size_t i, bool points, struct meter *meter)
{
	const struct metrics *metrics = metrics__of(&s->model);
	const struct metric_set *set;
	const struct metric_name *name;
	size_t k;

	for (k = 0; k < metrics->sets.nr && i >= metrics->sets.v[k].nr; k++)
		i -= metrics->sets.v[k].nr;
	if (k == metrics->sets.nr)
		return 0;
	set = &metrics->sets.v[k];
	name = &metrics->names.v[set->names[i]];
	*meter = (struct meter){
		.gpu = set->gpu, .name = name->name, .title = name->title, .unit = name->unit,
		.first_ns = set->rows.nr ? set->rows.v[0].begin_ns : UINT64_MAX,
	};
	return (points ? meter__fill(meter, set, i) : 0) ?: 1;
}

static const struct section *const sections[] = {
	&section_gpu_metrics, &section_kernel_metrics, &section_path_metrics,
	&section_kernel_roof, &section_path_roof, &section_line_roof, NULL
};

const struct feature metrics_feature = {
	.name = "metrics",
	.new = metrics__new,
	.free = metrics__free,
	.records = records,
	.announced_by = XPU_RECORD_METRIC,
	.begin = metrics__begin,
	.absorb = metrics__absorb,
	.finish = metrics__finish,
	.answer = roof__answer,
	.sections = sections,
	.page = roof__page,
	.kernel = metrics__kernel,
	.kernel_values = metrics__kernel_values,
	.meter = metrics__meter,
	.table = &metrics_table,
};
