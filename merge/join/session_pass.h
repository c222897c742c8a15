/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * session_pass.h - going once over all records of the recording that a session reads
 */
#ifndef MERGE_SESSION_PASS_H
#define MERGE_SESSION_PASS_H

#include "read/reader.h"
#include "join/session.h"

typedef int (*session_record_fn)(struct session *s, const struct record_iter *it,
				 const struct xpu_record *rec);

/**
 * session__pass - call @record for each record that is not inside of a batch
 * @it: for the caller to see where the records ended, and why
 * @from: of 1000, how far all is when this begins ...
 * @to: ... and when it has ended; told to opts.progress
 *
 * Return: 0, or what @record returned first that is not 0, which ends it.
 */
int session__pass(struct session *s, session_record_fn record, unsigned int from, unsigned int to,
		  struct record_iter *it);

#endif /* MERGE_SESSION_PASS_H */
