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

struct piece { /* a piece of work; pieces are in the order of begin_ns */
	uint64_t begin_ns, end_ns;
	uint32_t kind;			/* smaller than mixture_of.nr_kinds */
};

/*
 * Samples of one GPU: ranges of rows and pieces. Several sources may have the same pieces, because
 * several recordings may sample one GPU at the same time.
 */
struct mixture_source {
	size_t row, nr_rows;
	size_t piece, nr_pieces;
	uint32_t idle;			/* number of the GPU, smaller than mixture_of.nr_idle */
};

struct mixture_of {
	const struct metric_row *rows;	/* the samples' intervals; in the order of time in each
					 * source */
	size_t nr_rows;
	const struct piece *pieces;
	size_t nr_pieces;
	uint32_t nr_kinds;
	const double *mean_ns;		/* for each kind: the mean duration of a piece */
	const struct mixture_source *sources;	/* together they have all rows, in order */
	uint32_t nr_sources;		/* 0: one source has everything */
	uint32_t nr_idle;		/* number of kinds of idle time; 0: one kind */
};

struct mixture_part {
	uint32_t kind;			/* mixture_of.nr_kinds + mixture_source.idle: nothing ran */
	float share;			/* fraction of the row's interval */
};

/* Row i has parts[first[i]] to parts[first[i + 1] - 1], at most one part of each kind. */
struct mixture {
	size_t nr_rows;
	size_t *first;
	struct mixture_part *parts;
};

/* how far the clock of samples is ahead of the clock of pieces */
struct mixture_shift {
	double ns, error_ns;
};

struct mixture_as {
	const struct mixture_shift *shifts;	/* for each source; NULL: no shift */
	double errors;			/* each shift is increased by this many times its error */
	bool amounts;			/* all pieces of a kind have the same amount, such as
					 * bytes, however long they take; otherwise all have the
					 * same rate */
	double slope;			/* the rate of a piece falls from 1 + slope to 1 - slope */
};

/* Return: a source, and the number of sources. */
struct mixture_source mixture_of__source(const struct mixture_of *of, uint32_t i);

static inline uint32_t mixture_of__nr_sources(const struct mixture_of *of)
{
	return of->nr_sources ?: 1;
}

/* Return: the number of all kinds, idle time included. */
static inline uint32_t mixture_of__nr_all(const struct mixture_of *of)
{
	return of->nr_kinds + (of->nr_idle ?: 1);
}

/* Return: the part of @of that belongs to @source, as if there were no other source. */
struct mixture_of mixture_of__part(const struct mixture_of *of,
				   const struct mixture_source *source);

/* Makes the mixtures of all samples. Return: 0 or -ENOMEM; call mixture__exit() in either case. */
int mixture__make(struct mixture *m, const struct mixture_of *of, const struct mixture_as *as);
void mixture__exit(struct mixture *m);

#endif /* MERGE_MIXTURE_H */
