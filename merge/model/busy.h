/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * busy.h - how long at least one of many spans of time lasted: spans that overlap count once
 *
 * Spans come nearly in order, as pieces of a device's work do, and are not kept: the memory is bounded.
 */
#ifndef MERGE_BUSY_H
#define MERGE_BUSY_H

#include <stdbool.h>
#include <stdint.h>

#include "util.h"

struct busy_span {
	uint64_t start_ns, end_ns;
};

/* Zero it to start. */
struct busy {
	ARRAY(struct busy_span) spans;
	bool unsorted;			/* they are not in order, or overlap */
	uint64_t done_ns;		/* of the spans before until_ns, which are forgotten; what comes
					 * later of that time is not counted */
	uint64_t until_ns;
	uint64_t first_ns, last_ns;	/* of all spans; equal: there was none */
};

/* Return: 0 or -ENOMEM. */
int busy__add(struct busy *b, uint64_t start_ns, uint64_t end_ns);

/* Adds all of @from, which may be moved to @b, and is empty then. Return: 0 or -ENOMEM. */
int busy__absorb(struct busy *b, struct busy *from);

/* To be called when all spans have been added. */
void busy__finish(struct busy *b);

/* Return: the time in which there was a span, after busy__finish(). */
uint64_t busy__ns(const struct busy *b);

void busy__free(struct busy *b);

#endif /* MERGE_BUSY_H */
