/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * session_samples.h - the second pass: CPU samples, and stacks that are unwound here
 */
#ifndef MERGE_SESSION_SAMPLES_H
#define MERGE_SESSION_SAMPLES_H

#include "join/session.h"

/* Each returns 0, or -ENOMEM or what a sink returned. */
int session__samples(struct session *s, const struct xpu_record_samples *rec);
int session__stack(struct session *s, const struct xpu_record_stack *rec);

/* When it is known which calls were waits: the samples in the others. */
int session__waiting_samples(struct session *s);

/* The call paths that were made here are not looked for any more: the recording is over. */
void session__forget_unwound(struct session *s);

#endif /* MERGE_SESSION_SAMPLES_H */
