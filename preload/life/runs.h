/* SPDX-License-Identifier: MIT */
/*
 * runs.h - the state of each vendor
 *
 * The shim's thread owns the state while that thread runs. Before and after, the thread that starts
 * and joins the shim's thread owns it.
 */
#ifndef XPU_PRELOAD_RUNS_H
#define XPU_PRELOAD_RUNS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "gpu/vendor.h"
#include "life/drain.h"

/* A vendor and its state. */
struct run {
	const struct vendor *vendor;
	enum gpu_state state;
	bool unheard;			/* the vendor is awake although nobody listens: see
					 * follow_beside() */
	bool has_memory;		/* memory events are wanted */
	bool begins;			/* life__used() is running, so the program has no GPU memory
					 * yet */
	atomic_bool late;		/* the vendor still records for the last window: see
					 * windows.late */
	atomic_bool stays;		/* device work is recorded outside of windows, too */
};

struct runs {
	struct run v[MAX_VENDORS];
	atomic_uint nr;
	atomic_bool awake;		/* whether any vendor is awake; read by other threads */
};

extern struct runs runs;

#define for_each_run(run)	\
	for ((run) = runs.v; (run) < runs.v + runs.nr; (run)++)

#define for_each_awake(run)	\
	for_each_run(run)	\
		if ((run)->state != GPU_AWAKE) continue; else

/* Return: the vendor's run, or NULL. */
struct run *runs__of(const struct vendor *vendor);

/* Whether any vendor other than @but is awake. */
bool runs__any_awake(const struct run *but);

/* Whether launches of any vendor other than @but are recorded. */
bool runs__any_heard(const struct run *but);

void run__set_state(struct run *run, enum gpu_state state);

#endif /* XPU_PRELOAD_RUNS_H */
