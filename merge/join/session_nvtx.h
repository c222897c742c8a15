/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * session_nvtx.h - NVTX ranges: read, closed, summed up, told to the sink, and put on chains
 */
#ifndef MERGE_SESSION_NVTX_H
#define MERGE_SESSION_NVTX_H

#include <stdint.h>

#include "join/session.h"

/* First pass. Return: 0 or -ENOMEM. */
int session__collect_range(struct session *s, uint32_t proc, const struct xpu_record_range *rec);

/*
 * Between the passes: all events, in order, become ranges with a begin and an end.
 * Return: 0, -ENOMEM, or what the sink returned.
 */
int session__nvtx_resolve(struct session *s);

/* After the last pass: those that nobody has closed. The same. */
int session__nvtx_finish(struct session *s);

/**
 * session__nvtx_chain - a chain in a range
 * @s: the session
 * @proc: whose id it is
 * @range_id: as records have it, 0 for none
 * @chain: becomes that of the same call path in that range, if opts.by_range
 *
 * Return: the number of ids that nothing defines, or -ENOMEM.
 */
int session__nvtx_chain(struct session *s, uint32_t proc, uint32_t range_id, uint32_t *chain);

/* The same for an index in s->nvtx.ranges. Return: 0 or -ENOMEM. */
int session__ranged_chain(struct session *s, uint32_t range, uint32_t *chain);

/* Whether the filter wants what is in that range. Return: 1, 0 or -ENOMEM. */
int session__keeps_range(struct session *s, uint32_t range);

#endif /* MERGE_SESSION_NVTX_H */
