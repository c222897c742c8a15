/* SPDX-License-Identifier: GPL-3.0-or-later */
/* collect.h - the first pass: collects the definitions that other records refer to by id */
#ifndef MERGE_COLLECT_H
#define MERGE_COLLECT_H

#include "read/found.h"
#include "read/pass.h"

struct collect {
	struct found *found;		/* filled */
	struct model *model;		/* grows */
	struct loss *loss;		/* gets the damage to the recording, and ... */
	struct msgs *msgs;		/* ... its description */
	bool has_recorder;		/* it was recorded, not imported */
	uint64_t begin_ns;		/* of the recording; of a series, of its first file */
	uint64_t made_ns;		/* of the latest record whose time the recorder or the kernel tells */
	int status;			/* -EBADMSG: the recording is damaged; else 0 */
};

/**
 * collect__run - read the definitions: processes, threads, maps, call paths, names, waits, losses
 *
 * Return: 0 or -ENOMEM.
 */
int collect__run(struct collect *c, struct passes *passes);

#endif /* MERGE_COLLECT_H */
