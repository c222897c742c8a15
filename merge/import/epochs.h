/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * epochs.h - tells apart calls and device work whose correlation ids begin again
 *
 * A correlation id is unique in a process as long as one profiler session lasts. A file may have several
 * sessions, and processes whose pids are equal, so an id may be of several calls. Each run of ids is
 * an epoch: it ends where an id comes again that the epoch has had. Device work is of the latest call with
 * its id, if no earlier call with that id can still wait for its own work, and if no call was lost that
 * may have had the id. Otherwise nothing tells whose work it is: it gets no id, and is counted.
 */
#ifndef MERGE_EPOCHS_H
#define MERGE_EPOCHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util.h"

enum epoch_works {			/* device work that a call may have */
	EPOCH_NO_WORK,
	EPOCH_ONE_WORK,
	EPOCH_ANY_WORK,
};

struct epoch_call {
	uint64_t start_ns, end_ns, tid;
	uint32_t proc;
	uint32_t id;			/* set to one that no other call of the process has, except
					 * those inside this call; 0: none */
	bool driver;			/* may be inside a call of the runtime */
	enum epoch_works works;
};

struct epoch_work {
	uint64_t start_ns;
	uint32_t proc;			/* 0: unknown */
	uint32_t id;			/* set to its call's, or 0 */
};

struct epochs {
	uint64_t nr_restarts;		/* how often ids begin again */
	uint64_t nr_unclear;		/* works that may be of several calls */
};

/*
 * Sets the ids of calls and works, in place. Ids that are of one call each stay as they are.
 * Return: 0 or -ENOMEM.
 */
int epochs__renumber(struct epochs *e, struct epoch_call *calls, size_t nr_calls,
		     struct epoch_work *works, size_t nr_works);

/* Adds messages about ids of the file called @name that begin again. */
void epochs__complain(const struct epochs *e, const char *name, struct msgs *msgs);

#endif /* MERGE_EPOCHS_H */
