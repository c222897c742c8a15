/* SPDX-License-Identifier: GPL-3.0-or-later */
/* origin.h - finds where a call comes from: its chain, its thread and the thread's name */
#ifndef MERGE_ORIGIN_H
#define MERGE_ORIGIN_H

#include <stdint.h>

#include "join/join.h"
#include "read/found.h"

/**
 * origin__read - find the origin of a call by the ids of a record
 * @f: resolves the ids
 * @m: new chains are added
 * @l: its time must be set; gets chain, comm and thread
 * @procp: the process; NO_INDEX if the caller does not know it
 * @pathp: set to the call path of the call; NO_INDEX if the call has no path
 *
 * Return: the number of undefined ids, or -errno.
 */
int origin__read(const struct found *f, struct model *m, uint32_t path_id, uint32_t thread_id,
		 struct launch *l, uint32_t *procp, uint32_t *pathp);

#endif /* MERGE_ORIGIN_H */
