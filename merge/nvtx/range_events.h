/* SPDX-License-Identifier: GPL-3.0-or-later */
/* range_events.h - opens, closes and sums up NVTX ranges, and passes them to the sink */
#ifndef MERGE_RANGE_EVENTS_H
#define MERGE_RANGE_EVENTS_H

#include "join/second_pass.h"
#include "nvtx/nvtx.h"

/*
 * Called before the pass: turns all events, in order, into ranges with a start and an end. Return:
 * 0, -ENOMEM or the sink's error.
 */
int range_events__open(struct nvtx *n, struct second_pass *p);

/*
 * Closes the ranges that are still open, after the last pass. Return: 0, -ENOMEM or the sink's
 * error.
 */
int range_events__close(struct nvtx *n, struct second_pass *p);

#endif /* MERGE_RANGE_EVENTS_H */
