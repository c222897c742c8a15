/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * diff.h - two recordings, compared by names
 *
 * Call paths of A and B are equal if their names are equal: pids, hosts and addresses may differ.
 * Devices are told apart only if struct diff_opts.by includes them. The compared values are sums:
 * device time, the count of device records, or bytes.
 */
#ifndef MERGE_DIFF_H
#define MERGE_DIFF_H

#include <stdint.h>
#include <stdio.h>

#include "write/folded.h"
#include "join/session.h"
#include "write/tree.h"

enum normalize {
	NORMALIZE_NONE,
	NORMALIZE_TOTAL,		/* both recordings count as if they had the same total */
	NORMALIZE_LAUNCHES,		/* both recordings count as if they had the same number of
					 * launches */
};

struct diff_opts {
	enum normalize normalize;
	enum unit unit;			/* any unit except UNIT_SAMPLES */
	uint32_t max_rows;		/* maximum number of rows in each table of the text; 0:
					 * all */
	struct by_list by;		/* the properties at the root; neither BY_PID nor BY_TID */
};

struct diff {
	struct diff_opts opts;
	const struct session *sides[TREE_SIDES];
	struct tree tree;
	uint64_t num, den;		/* values of A are multiplied by num/den */
};

/**
 * diff__init - prepare the comparison of two sessions
 * @a, @b: processed; must outlive @d
 *
 * Return: 0, -ENOMEM, or -EDOM if A has nothing to normalize by. The caller calls diff__exit(),
 * even after a failure.
 */
int diff__init(struct diff *d, const struct session *a, const struct session *b,
	       const struct diff_opts *opts);
void diff__exit(struct diff *d);

/*
 * Writes lines "thread;frame;\...;leaf A B", the format of difffolded.pl, for flamegraph.pl.
 * @waits: as in struct folded_opts
 * Return: 0 or -ENOMEM; an error of @f stays in its error flag.
 */
int diff__write_folded(const struct diff *d, FILE *f, bool waits, struct folded_result *result);

/* How text is laid out, as in struct text_opts. */
struct diff_text {
	bool human;
	unsigned int width;
	bool color;
};

/*
 * Writes the kernels, the other device work and the call paths that changed most. Also writes the
 * changed counters of kernels. Return: like diff__write_folded().
 */
int diff__write_text(const struct diff *d, FILE *f, const struct diff_text *o);

/**
 * diff__print_grown - print the call paths whose device time grew
 * @percent: print paths that grew by more than this, or are new
 *
 * A path counts if it grew by at least a thousandth of A's device time; anything less is noise.
 * Prints a line with the number of these paths, and a line for each of the opts.max_rows paths that
 * grew most. Return: the number of these paths, or -ENOMEM.
 */
int64_t diff__print_grown(const struct diff *d, FILE *f, double percent);

/* Writes the page with both sides; @unit: as html_opts.unit. Return: like diff__write_folded(). */
int diff__write_html(const struct diff *d, FILE *f, const char *unit);

#endif /* MERGE_DIFF_H */
