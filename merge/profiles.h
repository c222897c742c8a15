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

/**
 * profiles__new - start xpuload-push
 * @url: see lib/push_url.h
 * @labels: "key=value,key=value", or NULL
 * @program: the path of xpuload-push
 * @remove: remove each file once it is merged
 *
 * Prints a message on failure. Return: NULL then.
 */
struct profiles *profiles__new(const char *url, const char *labels, const char *program, bool remove);

/* Has a file merged. @name becomes ours. */
void profiles__add(struct profiles *p, char *name, const struct profile_time *time);

/* Goes on with what has been done meanwhile; never waits. To be called every second or so. */
void profiles__poll(struct profiles *p);

/* Waits, for a bounded time, for what is left, says how many profiles were sent and lost, and frees. */
void profiles__finish(struct profiles *p);

#endif /* MERGE_PROFILES_H */
