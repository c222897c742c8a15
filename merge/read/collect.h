/* SPDX-License-Identifier: GPL-3.0-or-later */
/* collect.h - the first pass: collects the definitions that other records refer to by id */
#ifndef MERGE_COLLECT_H
#define MERGE_COLLECT_H

#include "model/feature.h"
#include "read/found.h"
#include "read/pass.h"

#define COLLECT_TYPES	128		/* features handle only types of records below this */

struct collect_take {
	const struct feature_record *how;	/* NULL: no feature handles records of this type */
	enum feature_id feature;
};

struct collect {
	struct found *found;		/* result: the definitions by id */
	struct model *model;		/* result: the definitions */
	struct loss *loss;		/* result: the damage to the recording */
	struct msgs *msgs;		/* descriptions of this damage */
	bool has_recorder;		/* the recording was recorded, not imported */
	uint64_t begin_ns;		/* when the recording, or its first file, began */
	uint64_t made_ns;		/* latest time in the recorder's and Linux's records */
	int status;			/* -EBADMSG: the recording is damaged; otherwise 0 */
	struct collect_take takes[COLLECT_TYPES];	/* set by collect__run() */
};

/**
 * collect__run - read the definitions: processes, threads, maps, call paths, names, waits, losses
 *
 * Return: 0 or -ENOMEM.
 */
int collect__run(struct collect *c, struct passes *passes);

#endif /* MERGE_COLLECT_H */
