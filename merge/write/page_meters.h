/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * page_meters.h - values of GPUs over time in the html page: metrics, power, memory, work in flight
 *
 * They are the values of timelines (timeline.h). Each meter keeps at most MAX_METER_POINTS points;
 * if it has more, each kept point is the mean over an interval.
 */
#ifndef MERGE_PAGE_METERS_H
#define MERGE_PAGE_METERS_H

#include "json_out.h"
#include "write/timeline.h"

/**
 * page_meters__write - write the member "meters", which page_events.h describes
 * @t: prepared
 * @whole: @t has all events; without them, the work in flight is unknown
 *
 * Return: 0 or -ENOMEM.
 */
int page_meters__write(struct json_out *j, const struct timeline *t, const struct session *s,
		       bool whole);

#endif /* MERGE_PAGE_METERS_H */
