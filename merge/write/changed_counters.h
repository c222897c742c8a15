/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * changed_counters.h - the counters of kernels that changed by more than their errors
 *
 * Two sides are compared. Each recording has a value and a standard error for a counter of a
 * kernel, or the value is unknown. A side may have several recordings: its value is their mean. The
 * error of a mean is the error of its values or their spread, whichever is larger. A change counts
 * if chance makes such a change in 0.27 % of counters at most: three standard errors, and more
 * where an error is the spread of few recordings (Student's t). Kernels that a recording cannot
 * tell apart have one common value, which is not compared.
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
	uint32_t nr;			/* recordings that know the value */
	double sum, squares, errors;	/* of the values, their squares, and the squared errors */
	double ns;			/* the time of the kernel */
};

/* a counter of a kernel; the texts belong to changed_counters.strings */
struct changed_counter {
	const char *kernel, *counter, *unit;
	struct counter_side sides[2];
	bool together;			/* a recording has only a value of several kernels */
	double change, error;		/* of the means */
};

struct changed_counters {		/* starts zeroed */
	struct strpool strings;
	struct idmap by_name;
	ARRAY(struct changed_counter) list;
	/* since changed_counters__find(), list has the changed counters, and these count others */
	size_t nr_compared;		/* counters of both sides, whether they changed or not */
	size_t nr_unknown;		/* counters that one side does not know */
	size_t nr_together;
	bool repeated;			/* a side has several recordings, whose spread shows */
};

/* Adds the counters of a recording's kernels. Return: 0 or -ENOMEM. */
int changed_counters__add(struct changed_counters *c, const struct session *s, unsigned int side);

/* Finds the counters that changed. Counters of kernels that take most time come first. */
void changed_counters__find(struct changed_counters *c);

/*
 * Writes a table, unless no side has counters. @t has a stream, a width and whether to use colour.
 * The table has at most @max_rows rows, or all if it is 0. Return: 0 or -ENOMEM.
 */
int changed_counters__print(const struct changed_counters *c, struct table t, uint32_t max_rows);

/* Writes the member "counters" of doc/schema/diff.schema.json. */
void changed_counters__json(const struct changed_counters *c, struct json_out *j,
			    uint32_t max_rows);

void changed_counters__exit(struct changed_counters *c);

#endif /* MERGE_CHANGED_COUNTERS_H */
