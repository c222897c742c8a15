/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * gate.h - whether recordings B are slower than recordings A, beyond the noise between recordings
 *
 * Each side has several recordings of one program. For each call path with its work, each recording
 * has one value, such as the average time of a kernel. The spread of these values between the
 * recordings of a side is the noise. Student's t test decides which changes count: if no path has
 * changed, at most one of a hundred comparisons finds a change, by chance. With one recording on
 * each side the noise is unknown, and so is the verdict.
 *
 * Averages are per launch, so that recordings with different numbers of steps can be compared.
 * Times of threads, which have no launch of their own, are divided by the number of all launches;
 * if the sides differ in this number, these times are not judged.
 */
#ifndef MERGE_GATE_H
#define MERGE_GATE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "join/session.h"
#include "util.h"
#include "write/changed_counters.h"

#define GATE_SIDES	2
#define GATE_CONFIDENCE	99		/* in percent */

enum gate_verdict { GATE_SAME, GATE_FASTER, GATE_SLOWER, GATE_UNKNOWN };

/* a value of one recording */
struct gate_value {
	char *key;			/* the path without lines of code; owned */
	char *path;			/* the path, with SHORTEN_FRAME between frames; owned */
	uint32_t kind;			/* enum gate_kind */
	uint32_t side, recording;
	uint64_t ns, nr;
};

/* a path, with the values of all recordings */
struct gate_row {
	const char *path;		/* owned by a value */
	uint32_t kind;
	enum gate_verdict verdict;
	bool more;			/* the number of records grew, not their time */
	uint32_t nr[GATE_SIDES];	/* number of recordings that have the path */
	double mean[GATE_SIDES];	/* ns, or number of records if @more */
	double change, error;		/* change of B in percent of A; half the width of the
					 * change's 95 % confidence interval, NAN: unknown */
	double share;			/* share of the time of all paths of its kind */
};

struct gate {
	double fail_over;		/* percent; smaller changes do not count */
	ARRAY(struct gate_value) values;
	ARRAY(uint64_t) launches[GATE_SIDES];	/* number of launches of each recording */
	uint64_t nr_lost[GATE_SIDES];
	ARRAY(struct gate_row) rows;	/* the judged paths, the worst first */
	size_t nr_small;		/* number of paths with too small a share to be judged */
	bool launches_differ;		/* if so, times of threads are not judged */
	double scale;			/* most paths have @scale times as many records in B as in
					 * A */
	enum gate_verdict verdict;
	struct changed_counters counters;	/* of kernels; the verdict does not use them */
};

/* Adds a processed recording. Return: 0 or -ENOMEM. The caller calls gate__exit() at the end. */
int gate__add(struct gate *g, const struct session *s, unsigned int side);

/* Judges the paths, after all recordings were added. Return: 0 or -ENOMEM. */
int gate__judge(struct gate *g);

/* Whether B is slower. If the noise is unknown: whether B is slower by more than fail_over. */
bool gate__fails(const struct gate *g);

/* Prints the verdict and at most @max_rows changes; 0: all. Return: 0 or -ENOMEM. */
int gate__print(const struct gate *g, FILE *f, uint32_t max_rows);

/* Writes doc/schema/diff.schema.json. Return: 0 or -ENOMEM. */
int gate__write_json(const struct gate *g, FILE *f, uint32_t max_rows);

void gate__exit(struct gate *g);

#endif /* MERGE_GATE_H */
