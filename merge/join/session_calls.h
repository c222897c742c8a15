/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * session_calls.h - calls of CUDA's API, as recorded with --api
 */
#ifndef MERGE_SESSION_CALLS_H
#define MERGE_SESSION_CALLS_H

#include <stdint.h>

#include "join/session.h"
#include "join/session_tables.h"

/* In the first pass: how a record of calls may name this thread. Return: 0 or -ENOMEM. */
int session__collect_tid(struct session *s, const struct xpu_record_thread *rec, uint32_t proc,
			 uint32_t thread);

/* In the second pass. Return: 0, -ENOMEM or what a sink returned. */
int session__calls(struct session *s, uint32_t proc, const struct xpu_record_batch *batch,
		   const struct xpu_record_calls *rec);

/* Before the next recording is read. */
void session__free_calls(struct session *s);

#endif /* MERGE_SESSION_CALLS_H */
