/* SPDX-License-Identifier: GPL-3.0-or-later */
/* place_calls.h - the second pass: CUDA API calls, as recorded with --api */
#ifndef MERGE_PLACE_CALLS_H
#define MERGE_PLACE_CALLS_H

#include "join/second_pass.h"

/* Reads a batch of calls. Return: 0, -ENOMEM or the sink's error. */
int calls__read(struct second_pass *p, uint32_t proc, const struct xpu_record_batch *batch,
		const struct xpu_record_calls *rec);

#endif /* MERGE_PLACE_CALLS_H */
