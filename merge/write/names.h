/* SPDX-License-Identifier: GPL-3.0-or-later */
/* names.h - adds the names of all call paths to a recording */
#ifndef MERGE_NAMES_H
#define MERGE_NAMES_H

#include <stdbool.h>
#include <stdio.h>

#include "join/session.h"

struct names_result {
	uint64_t nr_places;		/* places and stacks that were added */
	uint64_t nr_cut;		/* places and stacks beyond the limit RECORDED_NAMES_MAX */
	uint64_t nr_left;		/* call paths and source lines that were not looked up when
					 * is_over() ended the look-up */
	uint64_t bytes;			/* number of bytes that the file grows by */
};

/**
 * names__write - look up the names that a recording lacks, and write them in the recording's format
 * @r: the recording
 * @opts: where to find files
 * @whole: write a copy of the recording with the names; false: write only the names, to append
 * them to the recording
 * @is_over: polled often; may be NULL. If it returns true, the look-up ends early, and the names
 * found so far are written
 * @msgs: gets messages about files and the recording
 *
 * An error of @f stays in its error flag. Return: 0 or -ENOMEM.
 */
int names__write(const struct reader *r, const struct session_opts *opts, bool whole,
		 bool (*is_over)(void *ctx), FILE *f, struct names_result *result,
		 struct msgs *msgs);

#endif /* MERGE_NAMES_H */
