/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * session_off.h - threads that did not run: off-CPU time, waits for the device, accounts of lives
 */
#ifndef MERGE_SESSION_OFF_H
#define MERGE_SESSION_OFF_H

#include "join/session.h"

/* In the second pass. Each returns 0, or -ENOMEM or what a sink returned. */
int session__off_cpu(struct session *s, const struct xpu_record_off_cpu *rec);
int session__off(struct session *s, const struct xpu_record_off *rec);

/* For waits__share(), @ctx being the session: so long did a wait wait for that leaf. */
int session__wait_share(void *ctx, const struct wait *wait, uint32_t device_leaf, uint64_t ns);

/* At the end, what the accounts of threads and devices need beside the sums. */
int session__finish_accounts(struct session *s);

#endif /* MERGE_SESSION_OFF_H */
