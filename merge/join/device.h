/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * device.h - the second pass: launches and device work, through the join
 */
#ifndef MERGE_DEVICE_H
#define MERGE_DEVICE_H

#include "join/second_pass.h"
#include "read/reader.h"

/* Return: 0, -ENOMEM or the sink's error. */
int device__launches(struct second_pass *p, const struct xpu_record_launches *rec);
int device__batch(struct second_pass *p, const struct record_iter *outer,
		  const struct xpu_record_batch *batch);

/* Takes launches that count in an earlier file of the recording. */
int device__earlier(struct second_pass *p, const struct xpu_record_launches *rec);

/* For the third pass: gives the join launches that it had forgotten and that work waits for. */
int device__relaunches(struct second_pass *p, const struct xpu_record_launches *rec);

/* After the last pass: takes launches and work without a counterpart. */
int device__finish(struct second_pass *p);

#endif /* MERGE_DEVICE_H */
