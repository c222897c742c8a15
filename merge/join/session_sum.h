/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * session_sum.h - the sums, struct aggregate, and what the filter keeps out of them
 */
#ifndef MERGE_SESSION_SUM_H
#define MERGE_SESSION_SUM_H

#include <stdint.h>

#include "join/session.h"

/* Something was there from then to then, in common time: s->first_ns, s->last_ns. */
void session__see_time(struct session *s, uint64_t from_ns, uint64_t to_ns);

/**
 * session__keeps - ask the filter
 * @w: device work; NULL for a launch, or what a thread did
 *
 * Return: 1 if the filter lets it pass, or there is none; 0 if not, or -ENOMEM.
 */
int session__keeps(struct session *s, uint32_t chain, uint32_t thread, const char *comm,
		   uint64_t time_ns, const struct work *w);

/* The same for something that a thread did or was in. */
int session__keeps_call(struct session *s, uint32_t thread, const char *comm, uint64_t time_ns);

/* The same for a thread's whole life, which is of no time and no device. */
int session__keeps_thread(struct session *s, const struct thread_account *a);

/**
 * session__add - add to the sum of (chain, leaf, comm), and of thread and stream where asked for
 * @w: its time and bytes; NULL: only count it
 *
 * Return: 0 or -ENOMEM.
 */
int session__add(struct session *s, uint32_t chain, const char *comm, uint32_t thread,
		 uint32_t leaf, const struct work *w);

/* To the sum that session__add() has just added to: @nr more, which took @ns together. */
void session__add_more(struct session *s, uint32_t chain, const char *comm, uint32_t leaf,
		       uint64_t nr, uint64_t ns);

/* To opts.sink, if it wants to know. Return: 0, or what it returned. */
int session__tell_placed(struct session *s, const struct placed *placed);

/* Frees what finds them again; s->aggregates stays. */
void session__free_sums(struct session *s);

#endif /* MERGE_SESSION_SUM_H */
