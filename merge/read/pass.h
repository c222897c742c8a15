/* SPDX-License-Identifier: GPL-3.0-or-later */
/* pass.h - one pass over all records of a recording */
#ifndef MERGE_PASS_H
#define MERGE_PASS_H

#include "read/reader.h"

/* The passes over all recordings, and the callback for their progress. */
struct passes {
	void (*tell)(void *ctx, unsigned int permille);		/* gets the progress; or NULL */
	void *ctx;
	unsigned int permille;		/* the last progress reported */
	unsigned int nr_inputs, input;	/* number of recordings, and the index of the recording that
					 * is being read */
};

typedef int (*pass_fn)(void *ctx, const struct record_iter *it, const struct xpu_record *rec);

/**
 * pass__run - call @record for each record that is not inside a batch
 * @it: afterwards tells where and why the walk ended
 * @from: progress in permille at the start of this pass ...
 * @to: ... and at its end
 *
 * Return: 0, or the first result of @record that is not 0, which ends the pass.
 */
int pass__run(const struct reader *r, struct passes *passes, pass_fn record, void *ctx,
	      unsigned int from, unsigned int to, struct record_iter *it);

#endif /* MERGE_PASS_H */
