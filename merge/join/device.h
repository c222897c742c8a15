/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * device.h - the second pass: launches and device work, through the join
 */
#ifndef MERGE_DEVICE_H
#define MERGE_DEVICE_H

#include "join/second_pass.h"
#include "read/reader.h"

/* These functions read launches and device work. Return: 0, -ENOMEM or the sink's error. */
int device__launches(struct second_pass *p, const struct xpu_record_launches *rec);
int device__batch(struct second_pass *p, const struct record_iter *outer,
		  const struct xpu_record_batch *batch);

/* Adds launches that an earlier file of the recording has already counted. */
int device__earlier(struct second_pass *p, const struct xpu_record_launches *rec);

/*
 * In the third pass: passes launches to the join again, for device work whose launch was forgotten.
 */
int device__relaunches(struct second_pass *p, const struct xpu_record_launches *rec);

/* After the last pass: places the launches and device work that have no counterpart. */
int device__finish(struct second_pass *p);

#endif /* MERGE_DEVICE_H */
