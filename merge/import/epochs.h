/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * epochs.h - tells apart calls and device work whose correlation ids begin again
 *
 * A correlation id is unique in a process as long as one profiler session lasts. A file may hold
 * several sessions, and several processes with one pid, so an id may name several calls. Each run
 * of ids is an epoch: it ends where an id that the epoch already had comes again. Device work
 * belongs to the latest call with its id, if no earlier call with that id can still wait for its
 * own work, and if no call that may have had the id was lost. Otherwise nothing shows whose work it
 * is: it gets no id, and is counted.
 *
 * If the calls of all runs but one were lost, no id of a call comes again. Then two kernels of one
 * launch, or work long before its call, show that ids began again.
 */
#ifndef MERGE_EPOCHS_H
#define MERGE_EPOCHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util.h"

enum epoch_works {			/* how much device work a call may cause */
	EPOCH_NO_WORK,
	EPOCH_ONE_WORK,			/* normally one: copies may be cut into several */
	EPOCH_ONE_KERNEL,		/* never more than one kernel */
	EPOCH_ANY_WORK,
};

struct epoch_call {
	uint64_t start_ns, end_ns, tid;
	uint32_t proc;
	uint32_t id;			/* set to an id unique in the process, shared only with
					 * calls inside this call; 0: none */
	bool driver;			/* the call may be inside a call of the runtime */
	enum epoch_works works;
};

struct epoch_work {
	uint64_t start_ns;
	uint32_t proc;			/* 0: unknown */
	uint32_t id;			/* set to the id of the work's call, or 0 */
	bool kernel;
};

struct epochs {
	uint64_t nr_restarts;		/* how often ids begin again */
	uint64_t nr_unclear;		/* number of device works that may belong to several
					 * calls */
	uint64_t nr_foreign;		/* number of device works whose own call is certainly
					 * missing */
};

/*
 * Sets the ids of calls and works, in place. Ids that a single call has stay as they are.
 * Return: 0 or -ENOMEM.
 */
int epochs__renumber(struct epochs *e, struct epoch_call *calls, size_t nr_calls,
		     struct epoch_work *works, size_t nr_works);

/* Adds messages about ids that begin again in the file called @name. */
void epochs__complain(const struct epochs *e, const char *name, struct msgs *msgs);

#endif /* MERGE_EPOCHS_H */
