/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * device.h - the second pass: launches and device work, through the join
 */
#ifndef MERGE_DEVICE_H
#define MERGE_DEVICE_H

#include "join/second_pass.h"
#include "read/reader.h"

/* Each returns 0, or -ENOMEM or what a sink returned. */
int device__launches(struct second_pass *p, const struct xpu_record_launches *rec);
int device__batch(struct second_pass *p, const struct record_iter *outer,
		  const struct xpu_record_batch *batch);

/* In a third pass, the launches that the join had forgotten and that work waits for. */
int device__relaunches(struct second_pass *p, const struct xpu_record_launches *rec);

/* After the last pass: what has found no counterpart. */
int device__finish(struct second_pass *p);

#endif /* MERGE_DEVICE_H */
