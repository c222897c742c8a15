/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * pass.h - going once over all records of a recording
 */
#ifndef MERGE_PASS_H
#define MERGE_PASS_H

#include "read/reader.h"

/* The passes over all recordings, and who is told now and then how far they are. */
struct passes {
	void (*tell)(void *ctx, unsigned int permille);		/* NULL: nobody */
	void *ctx;
	unsigned int permille;		/* what it was told last */
	unsigned int nr_inputs, input;	/* recordings, and which of them is being read */
};

typedef int (*pass_fn)(void *ctx, const struct record_iter *it, const struct xpu_record *rec);

/**
 * pass__run - call @record for each record that is not inside of a batch
 * @it: for the caller to see where the records ended, and why
 * @from: of 1000, how far the recording is when this begins ...
 * @to: ... and when it has ended
 *
 * Return: 0, or what @record returned first that is not 0, which ends it.
 */
int pass__run(const struct reader *r, struct passes *passes, pass_fn record, void *ctx,
	      unsigned int from, unsigned int to, struct record_iter *it);

#endif /* MERGE_PASS_H */
