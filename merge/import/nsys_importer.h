/* SPDX-License-Identifier: GPL-3.0-or-later */
/* nsys_importer.h - shared declarations of the files that import an export of Nsight Systems */
#ifndef MERGE_NSYS_IMPORTER_H
#define MERGE_NSYS_IMPORTER_H

#include <stdbool.h>
#include <stdint.h>

#include "import/import.h"
#include "import/nest.h"
#include "import/nsys.h"
#include "util.h"

struct nsys_importer {
	struct nsys *n;
	struct import *im;
	struct idmap threads;		/* maps globalTid to a thread of the recording */
	struct idmap paths;		/* maps the interned description of a path to the path */
	ARRAY(struct span) names;
	ARRAY(uint64_t) sweep_tids;	/* globalTids by number, for nest__sweep() */
	struct idmap sweep_ids;		/* maps a globalTid to its number */
	struct paths range_paths;
	uint32_t *calls;		/* all calls, sorted by thread and time */
};

/*
 * Return: the outermost CUDA call in which a thread was at @time_ns; NO_INDEX if it was in no call.
 */
uint32_t nsys_importer__call_at(const struct nsys_importer *i, uint64_t tid, uint64_t time_ns);

/* Return: the recording's id of a process or thread. */
uint32_t nsys_importer__proc(const struct nsys_importer *i, uint32_t proc);
uint32_t nsys_importer__thread(struct nsys_importer *i, uint64_t tid, uint32_t proc);

/*
 * Stores the names of @frames in i->names. @frames begins with the innermost frame, and i->names
 * begins with the root.
 */
void nsys_importer__names(struct nsys_importer *i, const struct nsys_frame *frames, uint32_t nr);

/*
 * Imports the times at which threads ran and waited, if context switches were recorded. Return: 0
 * or -errno.
 */
int nsys_importer__switches(struct nsys_importer *i);

#endif /* MERGE_NSYS_IMPORTER_H */
