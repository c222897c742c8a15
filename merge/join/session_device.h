/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * session_device.h - the second pass: launches and device work, through the join into the sums
 */
#ifndef MERGE_SESSION_DEVICE_H
#define MERGE_SESSION_DEVICE_H

#include "join/session.h"

/* What the join tells goes under its call path. */
extern const struct join_ops session_join_ops;

/* Each returns 0, or -ENOMEM or what a sink returned. */
int session__launches(struct session *s, const struct xpu_record_launches *rec);
int session__batch(struct session *s, const struct record_iter *outer,
		   const struct xpu_record_batch *batch);

/* In a third pass, the launches that the join had forgotten and that work waits for. */
int session__relaunches(struct session *s, const struct xpu_record_launches *rec);

#endif /* MERGE_SESSION_DEVICE_H */
