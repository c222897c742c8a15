/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * stall_rows.h - table rows of PC samples by kernel, place and reason, over all GPUs and call paths
 */
#ifndef MERGE_STALL_ROWS_H
#define MERGE_STALL_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "stalls/stalls.h"

struct stall_reason_row {
	const char *kernel, *place, *reason;	/* interned */
	uint64_t samples, not_issued;		/* not_issued: samples in which the warp issued no
						 * instruction */
};

/*
 * Sets *@v to *@nr rows in order of kernel, place and reason; the caller frees it, even if *@nr is
 * 0. Return: 0 or -ENOMEM.
 */
int stall_rows__collect(const struct stalls *s, struct stall_reason_row **v, size_t *nr);

#endif /* MERGE_STALL_ROWS_H */
