// SPDX-License-Identifier: MIT
#include "life/runs.h"

#include <stddef.h>

struct runs runs;

struct run *runs__of(const struct vendor *vendor)
{
	struct run *run;

	for_each_run(run)
		if (run->vendor == vendor)
			return run;
	return NULL;
}

bool runs__any_awake(const struct run *but)
{
	struct run *run;

	for_each_awake(run)
		if (run != but)
			return true;
	return false;
}

bool runs__any_heard(const struct run *but)
{
	struct run *run;

	for_each_awake(run)
		if (run != but && !run->unheard)
			return true;
	return false;
}

void run__set_state(struct run *run, enum gpu_state state)
{
	run->state = state;
	atomic_store(&runs.awake, runs__any_awake(NULL));
}
