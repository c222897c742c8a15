/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * nccl_clock.h - the clocks of several hosts, aligned by collectives that end together
 *
 * No rank of an all-reduce, all-gather, reduce-scatter or all-to-all can end before the last rank
 * has sent its part, so all ranks end within some microseconds. The offset between two clocks is
 * the median of their differences at many such ends, and its error is the median deviation from
 * this offset. Recordings of the same host and boot share one clock.
 */
#ifndef MERGE_NCCL_CLOCK_H
#define MERGE_NCCL_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "util.h"

/* the ends of one collective, by two clocks */
struct nccl_ends {
	uint32_t from, to;		/* numbers of two clocks; from < to */
	uint64_t time_ns;		/* when the collective ended, by the clock .from */
	int64_t difference_ns;		/* how far the clock .to is ahead of the clock .from */
};

/* a clock that several recordings may share */
struct nccl_clock {
	uint32_t input;			/* the first recording that has the clock */
	uint64_t nr_ends;		/* number of collectives that align this clock */
	bool aligned;			/* this clock is aligned to the first clock */
	int64_t offset_ns;		/* how far this clock is ahead of the first clock at
					 * base_ns */
	double drift;			/* increase of offset_ns per ns */
	uint64_t base_ns;
	uint64_t error_ns;		/* median deviation of the differences from the offset */
};

struct nccl_clocks {
	ARRAY(struct nccl_clock) list;	/* clocks are aligned to the first clock of this list */
	ARRAY(struct nccl_ends) ends;
};

void nccl_clocks__exit(struct nccl_clocks *c);

/* Adds a clock. Return: 0 or -ENOMEM. */
int nccl_clocks__add(struct nccl_clocks *c, uint32_t input);

/* Computes the offsets of all clocks from the differences. Return: 0 or -ENOMEM. */
int nccl_clocks__align(struct nccl_clocks *c);

/* Return: how far @clock is ahead of the first clock when @clock shows @time_ns. */
int64_t nccl_clocks__ahead(const struct nccl_clocks *c, uint32_t clock, uint64_t time_ns);

#endif /* MERGE_NCCL_CLOCK_H */
