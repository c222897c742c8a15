/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * origin.h - where a call came from: its chain, thread and thread's name, by ids
 */
#ifndef MERGE_ORIGIN_H
#define MERGE_ORIGIN_H

#include <stdint.h>

#include "join/join.h"
#include "read/found.h"

/**
 * origin__read - where a call came from, by the ids of a record
 * @f: what the ids mean
 * @m: its chains grow
 * @l: its time is known; chain, comm and thread are filled in
 * @procp: whose it is; NO_INDEX if the caller does not know, either
 * @pathp: set to its call path, NO_INDEX if it has none
 *
 * Return: the number of ids that nothing defines, or -errno.
 */
int origin__read(const struct found *f, struct model *m, uint32_t path_id, uint32_t thread_id,
		 struct launch *l, uint32_t *procp, uint32_t *pathp);

#endif /* MERGE_ORIGIN_H */
