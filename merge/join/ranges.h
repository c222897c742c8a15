/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ranges.h - opens, closes and sums up NVTX ranges, passes them to the sink, and adds them to
 * chains
 */
#ifndef MERGE_RANGES_H
#define MERGE_RANGES_H

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

/**
 * ranges__chain - find a chain in a range
 * @proc: the process of the id
 * @range_id: the id in the records, 0 for no range
 * @chain: with opts.by_range, replaced by the chain of its call path in that range
 *
 * Return: the number of undefined ids, or -ENOMEM.
 */
int ranges__chain(struct second_pass *p, uint32_t proc, uint32_t range_id, uint32_t *chain);

#endif /* MERGE_RANGES_H */
