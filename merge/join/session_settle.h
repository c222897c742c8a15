/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * session_settle.h - what each process says it sent against what has arrived: the losses
 */
#ifndef MERGE_SESSION_SETTLE_H
#define MERGE_SESSION_SETTLE_H

#include <stdbool.h>
#include <stdint.h>

#include "join/session.h"
#include "join/session_tables.h"

/* Accounts for all processes up to @proc. Return: 0 or -ENOMEM. */
int session__new_accounts(struct session *s, uint32_t proc);

/* The account of a process; good until the next one is asked for. Return: 0 or -ENOMEM. */
static inline int session__account(struct session *s, uint32_t proc, struct account **account)
{
	int err = s->tables->accounts.nr <= proc ? session__new_accounts(s, proc) : 0;

	if (!err)
		*account = &s->tables->accounts.v[proc];
	return err;
}

/**
 * session__resolve_accounts - between the passes: who was there all along
 * @ends_known: a process without an end has none, rather than that ends are not recorded
 *
 * Tells the processes that were not recorded from their beginning or to their end, for they were
 * attached to or outlived the recording, from the others.
 *
 * Return: 0 or -ENOMEM.
 */
int session__resolve_accounts(struct session *s, bool ends_known);

/* Return: whether the process was still there when the recording that had found it there ended. */
bool session__outlived(const struct session *s, uint32_t proc);

/* After the last pass: s->loss becomes complete. */
void session__settle(struct session *s);

#endif /* MERGE_SESSION_SETTLE_H */
