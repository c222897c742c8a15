/* SPDX-License-Identifier: GPL-3.0-or-later */
/* place_ranges.h - opens, closes and sums up NVTX ranges, and passes them to the sink */
#ifndef MERGE_PLACE_RANGES_H
#define MERGE_PLACE_RANGES_H

#include "join/second_pass.h"

/*
 * Turns all events, in order, into ranges with a begin and an end, before the pass. Return: 0,
 * -ENOMEM or the sink's error.
 */
int ranges__open(struct second_pass *p);

/*
 * Closes the ranges that are still open, after the last pass. Return: 0, -ENOMEM or the sink's
 * error.
 */
int ranges__finish(struct second_pass *p);

#endif /* MERGE_PLACE_RANGES_H */
