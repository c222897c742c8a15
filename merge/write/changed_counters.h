/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * changed_counters.h - finds counters of kernels whose values changed by more than their errors
 *
 * Two sides are compared. For a counter of a kernel, each recording has a value with a standard
 * error, or the value is unknown. If a side has several recordings, the mean of their values is
 * compared. The error of a mean follows from the errors of the values or from their spread,
 * whichever error is larger. A change counts if fewer than 0.27 % of counters would change as much
 * by chance. That takes a change of three standard errors, or more if an error is the spread of few
 * recordings (Student's t). Kernels that a recording cannot tell apart have one common value, which
 * is not compared.
 */
#ifndef MERGE_CHANGED_COUNTERS_H
#define MERGE_CHANGED_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "join/session.h"
#include "util.h"
#include "write/table.h"

struct json_out;

struct counter_side {
	uint32_t nr;			/* number of recordings in which the value is known */
	double sum, squares, errors;	/* sums: of values, of squared values, of squared errors */
	double ns;			/* the time of the kernel */
};

/* a counter of a kernel; the texts belong to changed_counters.strings */
struct changed_counter {
	const char *kernel, *counter, *unit;
	struct counter_side sides[2];
	bool together;			/* a recording has one value for several kernels */
	double change, error;		/* difference of the means, and its error */
};

struct changed_counters {		/* starts zeroed */
	struct strpool strings;
	struct idmap by_name;
	ARRAY(struct changed_counter) list;
	/*
	 * changed_counters__find() leaves only the changed counters in @list, and sets the members
	 * below.
	 */
	size_t nr_compared;		/* counters of both sides, whether they changed or not */
	size_t nr_unknown;		/* counters that one side does not know */
	size_t nr_together;
	bool repeated;			/* a side has several recordings, so the spread is known */
};

/* Adds the counters of a recording's kernels. Return: 0 or -ENOMEM. */
int changed_counters__add(struct changed_counters *c, const struct session *s, unsigned int side);

/* Finds the counters that changed. Counters of the kernels with the most time come first. */
void changed_counters__find(struct changed_counters *c);

/*
 * Writes a table, unless no side has counters. Only the stream, width and colour of @t are set. The
 * table has at most @max_rows rows, or all rows if @max_rows is 0. Return: 0 or -ENOMEM.
 */
int changed_counters__print(const struct changed_counters *c, struct table t, uint32_t max_rows);

/* Writes the member "counters" of doc/schema/diff.schema.json. */
void changed_counters__json(const struct changed_counters *c, struct json_out *j,
			    uint32_t max_rows);

void changed_counters__exit(struct changed_counters *c);

#endif /* MERGE_CHANGED_COUNTERS_H */
