/* SPDX-License-Identifier: GPL-3.0-or-later */
/* roof_rows.h - the rows of the tables of roofs, and of the plot in the page */
#ifndef MERGE_ROOF_ROWS_H
#define MERGE_ROOF_ROWS_H

#include "human.h"
#include "metrics/roof.h"
#include "model/chain.h"

struct roof_row {
	const char *name;		/* name of a kernel or Python line; NULL for other rows */
	const struct stack *stack;	/* stack of a call path; NULL for kernels and lines */
	uint64_t ns;			/* device time of kernels */
	uint64_t nr;
	size_t order;			/* order of appearance */
	struct roof_use use;
	char texts[3][HUMAN_MAX];	/* the used share of the roof, operations for each byte and
					 * operations for each ns, for people */
};

#endif /* MERGE_ROOF_ROWS_H */
