/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ranges.h - NVTX ranges: opened, closed, summed up, told to the sink, and put on chains
 */
#ifndef MERGE_RANGES_H
#define MERGE_RANGES_H

#include "join/second_pass.h"

/*
 * Before the pass: all events, in order, become ranges with a begin and an end.
 * Return: 0, -ENOMEM, or what the sink returned.
 */
int ranges__open(struct second_pass *p);

/*
 * After the last pass: those that nobody has closed. Return: 0, -ENOMEM, or what the sink returned.
 */
int ranges__finish(struct second_pass *p);

/**
 * ranges__chain - a chain in a range
 * @proc: whose id it is
 * @range_id: as records have it, 0 for none
 * @chain: becomes that of the same call path in that range, if opts.by_range
 *
 * Return: the number of ids that nothing defines, or -ENOMEM.
 */
int ranges__chain(struct second_pass *p, uint32_t proc, uint32_t range_id, uint32_t *chain);

#endif /* MERGE_RANGES_H */
