// SPDX-License-Identifier: GPL-3.0-or-later
#include "write/page_meters.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "write/page_json.h"

#define MAX_METER_POINTS	10000
#define ALL_DIGITS		17
#define VALUE_DIGITS		7	/* as in chrome.c */

/*
 * Replaces the points of each interval of @step_ns or more by one point with their mean, weighted
 * by time. The last point ends the curve, and stays.
 */
static void meter__thin(struct meter *m, uint64_t step_ns)
{
	struct meter_point *v = m->points.v;
	size_t i, first, nr = 0;

	for (first = 0; first + 1 < m->points.nr; first = i) {
		uint64_t from_ns = v[first].time_ns, length_ns;
		double sum = 0;

		for (i = first; i + 1 < m->points.nr && v[i].time_ns - from_ns < step_ns; i++)
			sum += v[i].value * (v[i + 1].time_ns - v[i].time_ns);
		length_ns = v[i].time_ns - from_ns;
		v[nr++] = (struct meter_point){
			from_ns, length_ns ? sum / length_ns : v[first].value,
		};
	}
	v[nr++] = v[m->points.nr - 1];
	m->points.nr = nr;
}

/* Prints a meter that has points. @digits: digits of each value */
static void put_meter(struct json_out *j, struct meter *m, const struct session *s, int digits)
{
	uint64_t last_ns = s->model.start_ns, step_ns = 0;
	size_t i;

	if (m->points.nr > MAX_METER_POINTS) {
		step_ns = (m->points.v[m->points.nr - 1].time_ns - m->points.v[0].time_ns) /
			  MAX_METER_POINTS + 1;
		meter__thin(m, step_ns);
	}
	json_out__line(j, 0);
	json_out__open(j, '{');
	json_out__member_u64(j, "gpu", s->model.gpus.list.v[m->gpu].number);
	json_out__key(j, "name");
	json_out__string(j, m->title);
	json_out__key(j, "unit");
	json_out__string(j, m->unit);
	json_out__member_u64(j, "step", step_ns);
	page__open_array(j, "at");
	for (i = 0; i < m->points.nr; last_ns = m->points.v[i++].time_ns)
		json_out__double(j, (int64_t)(m->points.v[i].time_ns - last_ns), ALL_DIGITS);
	page__next_array(j, "value");
	for (i = 0; i < m->points.nr; i++)
		json_out__double(j, m->points.v[i].value, digits);
	json_out__close(j, ']');
	json_out__close(j, '}');
}

/* Writes a counter of a GPU. Return: 0 or -ENOMEM. */
static int write_counter(struct json_out *j, const struct timeline *t, const struct session *s,
			 uint32_t gpu, unsigned int what)
{
	struct meter m = {
		.gpu = gpu, .title = timeline_counter__name(what),
		.unit = what == COUNTER_IN_FLIGHT ? "" : "bytes",
	};
	counter_points_t points = { 0 };
	int err = timeline__count(t, s, gpu, what, &points);
	size_t i;

	for (i = 0; i < points.nr && !err; i++)
		err = array_push(&m.points, ((struct meter_point){
			points.v[i].time_ns, points.v[i].value,
		}));
	if (!err && points.nr)
		put_meter(j, &m, s, ALL_DIGITS);
	array_free(&points);
	array_free(&m.points);
	return err;
}

int page_meters__write(struct json_out *j, const struct timeline *t, const struct session *s,
		       bool whole)
{
	struct meter_walk walk = { 0 };
	struct meter meter = { 0 };
	unsigned int what;
	uint32_t gpu;
	int err = 0;

	page__open_array(j, "meters");
	for (gpu = 0; gpu < s->model.gpus.list.nr; gpu++)
		for (what = whole ? 0 : NR_COUNTERS; what < timeline__nr_counters() && !err; what++)
			err = write_counter(j, t, s, gpu, what);
	while (!err && (err = meter_walk__next(&walk, s, true, &meter)) > 0) {
		if (meter.points.nr)
			put_meter(j, &meter, s, VALUE_DIGITS);
		array_free(&meter.points);
		err = 0;
	}
	array_free(&meter.points);
	json_out__close(j, ']');
	return err;
}
