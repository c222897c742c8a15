/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * busy.h - when at least one of many spans of time lasted: spans that overlap count once
 *
 * Spans come nearly in order, as pieces of a device's work do. Those that touch become one, and where that
 * leaves too many, the ones with the shortest gaps between them do, too: the memory is bounded.
 */
#ifndef MERGE_BUSY_H
#define MERGE_BUSY_H

#include <stdint.h>

#include "util.h"

struct busy_span {
	uint64_t start_ns, end_ns;
	uint64_t gaps_ns;		/* of that time: between spans that were joined over gaps */
};

typedef ARRAY(struct busy_span) busy_spans_t;

/* Zero it to start. */
struct busy {
	busy_spans_t spans;		/* in order, with a gap before each */
	busy_spans_t late;		/* that came far behind their place, to be put there */
	uint64_t first_ns, last_ns;	/* of all spans; equal: there was none */
};

/* Return: 0 or -ENOMEM. */
int busy__add(struct busy *b, uint64_t start_ns, uint64_t end_ns);

/* Adds all of @from, which may be moved to @b, and is empty then. Return: 0 or -ENOMEM. */
int busy__absorb(struct busy *b, struct busy *from);

/* Puts all spans in order, whenever they are to be looked at. Return: 0 or -ENOMEM. */
int busy__finish(struct busy *b);

static inline uint64_t busy_span__ns(const struct busy_span *span)
{
	return span->end_ns - span->start_ns - span->gaps_ns;
}

/* Return: the time in which there was a span, after busy__finish(). */
uint64_t busy__ns(const struct busy *b);

void busy__free(struct busy *b);

#endif /* MERGE_BUSY_H */
