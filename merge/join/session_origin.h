/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * session_origin.h - where a call came from: its chain, thread and thread's name, by ids
 */
#ifndef MERGE_SESSION_ORIGIN_H
#define MERGE_SESSION_ORIGIN_H

#include <stdint.h>

#include "join/session.h"
#include "join/session_tables.h"

/* The chain of a call path at a time of its recording. Return: 0 or -ENOMEM. */
int session__path_chain(struct session *s, uint32_t path_idx, uint64_t time_ns, uint32_t *idx);

/* The chain of what has no call path in that process. Return: 0 or -ENOMEM. */
int session__label_chain(struct session *s, uint32_t proc, enum label label, uint32_t *idx);

/* The chain of what one call path launched and another one captured. Return: 0 or -ENOMEM. */
int session__joined_chain(struct session *s, uint32_t launched, uint32_t captured, uint32_t *idx);

/* Return: the name of a process at a time, never NULL. */
const char *session__proc_comm(struct session *s, uint32_t proc, uint64_t time_ns);

/* Return: the name of a thread at a time, or else its process's; never NULL. */
const char *session__thread_comm(struct session *s, struct thread *thread, uint64_t time_ns);

/**
 * session__read_origin - where a call came from, by the ids of a record
 * @s: the session
 * @l: its time is known; chain, comm and thread are filled in
 * @procp: whose it is; NO_INDEX if the caller does not know, either
 * @pathp: set to its call path, NO_INDEX if it has none
 *
 * Return: the number of ids that nothing defines, or -errno.
 */
int session__read_origin(struct session *s, uint32_t path_id, uint32_t thread_id, struct launch *l,
			 uint32_t *procp, uint32_t *pathp);

#endif /* MERGE_SESSION_ORIGIN_H */
