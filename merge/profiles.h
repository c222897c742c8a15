/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * profiles.h - makes profiles of each file of a recording, and has them sent
 *
 * A child merges a file, at low priority, one at a time; xpuload-push sends the profiles. Neither is ever
 * waited for before the end: where they are too slow, profiles are lost, and counted.
 */
#ifndef MERGE_PROFILES_H
#define MERGE_PROFILES_H

#include <stdbool.h>
#include <stdint.h>

#include "write/profile_kind.h"

struct profiles;
struct profile_counts;			/* in split_journal.h */

/* *@waits of profiles__add(); 0: the file is done with */
#define PROFILES_WAIT		1
#define PROFILES_HANDED		2	/* profiles of the file may have been sent, or some of them */

/**
 * profiles__new - start xpuload-push
 * @url: see lib/push_url.h
 * @labels: "key=value,key=value", or NULL
 * @program: the path of xpuload-push
 * @remove: remove each file once it is merged
 * @counts: those of a program that was killed, in whose place this one goes on; or all 0
 *
 * Prints a message on failure. Return: NULL then.
 */
struct profiles *profiles__new(const char *url, const char *labels, const char *program, bool remove,
			       struct profile_counts *counts);

/* Has a file merged. @name becomes ours. @waits: PROFILES_WAIT, or as a program that was killed left it */
void profiles__add(struct profiles *p, char *name, const struct profile_time *time, uint64_t *waits);

/* Goes on with what has been done meanwhile; never waits. To be called every second or so. */
void profiles__poll(struct profiles *p);

/* Waits, for a bounded time, for what is left, says how many profiles were sent and lost, and frees. */
void profiles__finish(struct profiles *p);

#endif /* MERGE_PROFILES_H */
