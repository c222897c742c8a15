/* SPDX-License-Identifier: GPL-3.0-or-later */
/* stall_rows.h - PC samples by kernel, place and reason, of all GPUs and call paths: for tables */
#ifndef MERGE_STALL_ROWS_H
#define MERGE_STALL_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "model/stalls.h"

struct stall_reason_row {
	const char *kernel, *place, *reason;	/* interned */
	uint64_t samples, not_issued;		/* not_issued: of these, nothing was issued then */
};

/*
 * Return: 0 or -ENOMEM; *@v: *@nr rows in order of kernel, place and reason, for the caller to free(), also
 * when there are none.
 */
int stall_rows__collect(const struct stalls *s, struct stall_reason_row **v, size_t *nr);

#endif /* MERGE_STALL_ROWS_H */
