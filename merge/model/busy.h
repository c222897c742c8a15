/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * busy.h - the time covered by at least one of many spans: overlaps count once
 *
 * Spans arrive nearly in order of time, as device work does. Spans that touch become one span. If
 * too many spans are still left, spans with the shortest gaps between them become one span, too, so
 * the memory is bounded.
 */
#ifndef MERGE_BUSY_H
#define MERGE_BUSY_H

#include <stdint.h>

#include "util.h"

struct busy_span {
	uint64_t start_ns, end_ns;
	uint64_t gaps_ns;		/* total length of the gaps between the spans that were
					 * joined */
};

typedef ARRAY(struct busy_span) busy_spans_t;

/* Zero the struct before use. */
struct busy {
	busy_spans_t spans;		/* in order, with a gap between neighbors */
	busy_spans_t late;		/* spans that arrived far too late, and are not yet at their
					 * places */
	uint64_t first_ns, last_ns;	/* start of the first span and end of the last; equal: no
					 * spans */
};

/* Adds a span in which device work ran. Return: 0 or -ENOMEM. */
int busy__add(struct busy *b, uint64_t start_ns, uint64_t end_ns);

/* Adds all spans of @from, which is empty afterwards. Return: 0 or -ENOMEM. */
int busy__absorb(struct busy *b, struct busy *from);

/* Puts all spans in order; call it before looking at them. Return: 0 or -ENOMEM. */
int busy__finish(struct busy *b);

static inline uint64_t busy_span__ns(const struct busy_span *span)
{
	return span->end_ns - span->start_ns - span->gaps_ns;
}

/* Return: the total length of the spans, after busy__finish(). */
uint64_t busy__ns(const struct busy *b);

void busy__free(struct busy *b);

#endif /* MERGE_BUSY_H */
