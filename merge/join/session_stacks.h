/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * session_stacks.h - names for the frames of all chains
 */
#ifndef MERGE_SESSION_STACKS_H
#define MERGE_SESSION_STACKS_H

#include "join/session.h"

/* Tells s->callchains where the names are that a recording has itself: Python's, a JIT's. */
void session__init_stacks(struct session *s);

/**
 * session__resolve_chains - after the last pass: chain.stack, for each of this recording's
 *
 * Counts in s->loss the stacks that are not there or not whole, and frames without a name.
 *
 * Return: 0 or -ENOMEM.
 */
int session__resolve_chains(struct session *s);

#endif /* MERGE_SESSION_STACKS_H */
