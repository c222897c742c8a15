/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * mixture.h - the share of each kind of work in the time of each sample of a GPU's counters
 *
 * A sample is the mean of a counter over an interval. It is known to the nanosecond which pieces of
 * work ran then, so a sample is a known mixture of kinds of work and idle time.
 */
#ifndef MERGE_MIXTURE_H
#define MERGE_MIXTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "metrics/metrics.h"

struct piece { /* a piece of work, in the order of begin_ns */
	uint64_t begin_ns, end_ns;
	uint32_t kind;			/* smaller than mixture_of.nr_kinds */
};

struct mixture_of {
	const struct metric_row *rows;	/* the samples' intervals */
	size_t nr_rows;
	const struct piece *pieces;
	size_t nr_pieces;
	uint32_t nr_kinds;
	const double *mean_ns;		/* for each kind: the mean duration of a piece */
};

struct mixture_part {
	uint32_t kind;			/* nr_kinds: nothing ran */
	float share;			/* fraction of the row's interval */
};

/* The parts of row i are parts[first[i]] to parts[first[i + 1] - 1], each kind once. */
struct mixture {
	size_t nr_rows;
	size_t *first;
	struct mixture_part *parts;
};

struct mixture_as {
	double shift_ns;		/* added to the timestamps of pieces */
	bool amounts;			/* all pieces of a kind have the same amount, such as
					 * bytes, however long they take; otherwise all have the
					 * same rate */
	double slope;			/* the rate of a piece falls from 1 + slope to 1 - slope */
};

/* Makes the mixtures of all samples. Return: 0 or -ENOMEM; call mixture__exit() in either case. */
int mixture__make(struct mixture *m, const struct mixture_of *of, const struct mixture_as *as);
void mixture__exit(struct mixture *m);

#endif /* MERGE_MIXTURE_H */
