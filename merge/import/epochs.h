/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * epochs.h - distinguishes calls and device work whose correlation ids restart
 *
 * A correlation id is unique in a process during one profiler session. A file may hold several
 * sessions, and several processes with one pid, so one id may belong to several calls. An epoch is
 * a run of calls whose ids differ; it ends where one of these ids occurs again. Device work belongs
 * to the latest call with its id. However, the call of the work is unknown if an earlier call with
 * that id may still lack its own work, or if a call that may have had the id was lost. Work of an
 * unknown call gets no id, and is counted.
 *
 * If only the calls of one epoch are present, no call id occurs again. In that case two kernels
 * with the id of one launch, or work long before its call, show that ids restarted.
 */
#ifndef MERGE_EPOCHS_H
#define MERGE_EPOCHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util.h"

enum epoch_works {			/* how much device work a call may cause */
	EPOCH_NO_WORK,
	EPOCH_ONE_WORK,			/* usually one record; a copy may be split into several
					 * records */
	EPOCH_ONE_KERNEL,		/* at most one kernel */
	EPOCH_ANY_WORK,
};

struct epoch_call {
	uint64_t start_ns, end_ns, tid;
	uint32_t proc;
	uint32_t id;			/* set to an id that only this call and the calls inside
					 * this call have in the process; 0: no id */
	bool driver;			/* the call may be inside a runtime call */
	enum epoch_works works;
};

struct epoch_work {
	uint64_t start_ns;
	uint32_t proc;			/* 0: unknown */
	uint32_t id;			/* set to the id of the call that caused the work, or 0 */
	bool kernel;
};

struct epochs {
	uint64_t nr_restarts;		/* number of times that ids restart */
	uint64_t nr_unclear;		/* activity records that may belong to several calls */
	uint64_t nr_foreign;		/* activity records whose call is certainly missing */
};

/*
 * Sets the ids of calls and device work, in place. An id that only one call has is not changed.
 * Return: 0 or -ENOMEM.
 */
int epochs__renumber(struct epochs *e, struct epoch_call *calls, size_t nr_calls,
		     struct epoch_work *works, size_t nr_works);

/* Adds messages about ids that restart in the file called @name. */
void epochs__complain(const struct epochs *e, const char *name, struct msgs *msgs);

#endif /* MERGE_EPOCHS_H */
