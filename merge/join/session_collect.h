/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * session_collect.h - the first pass: what other records refer to, and what the ids in them mean
 */
#ifndef MERGE_SESSION_COLLECT_H
#define MERGE_SESSION_COLLECT_H

#include <stdint.h>

#include "join/session.h"

/**
 * session__collect - read the definitions: processes, threads, maps, call paths, names, waits,
 * losses
 *
 * Says in s->msgs and s->loss where the recording is cut or damaged.
 *
 * Return: 0 or -ENOMEM.
 */
int session__collect(struct session *s);

/**
 * session__resolve - between the passes, when all definitions are there: ids become things
 *
 * Return: 0 or -ENOMEM.
 */
int session__resolve(struct session *s);

/*
 * Return: the string that a process has sent under that id, in the recording; NULL if it has not.
 */
const char *session__string(const struct session *s, uint32_t proc, uint32_t id);

/* Return: what a process says that a callback id of CUPTI's is called, or NULL. */
const char *session__api_name(const struct session *s, uint32_t proc, uint32_t domain,
			      uint32_t cbid);

/* Return: when the process that had @pid at @from_ns has ended; UINT64_MAX if that is not known. */
uint64_t session__exit_ns(const struct session *s, uint32_t pid, uint64_t from_ns);

#endif /* MERGE_SESSION_COLLECT_H */
