/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * profiles.h - makes profiles of each file of a recording, and sends them
 *
 * A child merges one file at a time, at low priority; xpuload-push sends the profiles. Before the
 * end, nothing waits for the child or for xpuload-push: if they are too slow, profiles are lost,
 * and counted.
 */
#ifndef MERGE_PROFILES_H
#define MERGE_PROFILES_H

#include <stdbool.h>
#include <stdint.h>

#include "write/profile_kind.h"

struct profiles;
struct profile_counts;			/* defined in split_journal.h */

/* values of *@waits of profiles__add(); 0: the file is finished */
#define PROFILES_WAIT		1
#define PROFILES_HANDED		2	/* some or all profiles of the file may have been sent */

/**
 * profiles__new - start xpuload-push
 * @url: see lib/push_url.h
 * @labels: "key=value,key=value", or NULL
 * @program: the path of xpuload-push
 * @remove: remove each file after it is merged
 * @counts: the counts of a killed program that this process replaces, or all 0
 *
 * Return: NULL after a failure and a message.
 */
struct profiles *profiles__new(const char *url, const char *labels, const char *program,
			       bool remove, struct profile_counts *counts);

/*
 * Adds a file to merge, and takes ownership of @name. @waits: PROFILES_WAIT, or the value that a
 * killed program left
 */
void profiles__add(struct profiles *p, char *name, const struct profile_time *time,
		   uint64_t *waits);

/*
 * Drops the file that was added with this @waits, so the file's profiles are lost. Does nothing if
 * the file is already merged.
 */
void profiles__give_up(struct profiles *p, const uint64_t *waits);

/*
 * Handles finished merges and answers, and starts new merges; never waits. Call it about every
 * second.
 */
void profiles__poll(struct profiles *p);

/*
 * Waits for remaining work, for a bounded time, prints how many profiles were sent and lost, and
 * frees @p.
 */
void profiles__finish(struct profiles *p);

#endif /* MERGE_PROFILES_H */
