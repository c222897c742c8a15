// SPDX-License-Identifier: GPL-3.0-or-later
#include "join/hints.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/callchain.h"

#define LEAST_PERCENT	5		/* a hint needs at least this percentage of a process's
					 * launches and samples */

/* programs that generate code, and how to make them write the names of this code */
static const struct runtime {
	const char *name;		/* start of the program's name */
	const char *advice;
} runtimes[] = {
	{ "node", "start it as node --perf-basic-prof" },
	{ "java",
	  "start it as java -XX:+PreserveFramePointer -XX:+DumpPerfMapAtExit (JDK 17 or later)" },
	{ "python", "start it as python3 -X perf (3.12 or later), if that code is Python's own" },
	{ "dotnet", "start it with DOTNET_PerfMapEnabled=1" },
	{ "", "names for it are read from /tmp/perf-PID.map, if the program writes that" },
};

/* launches and samples of a process, and how many of them pass through generated code */
struct counts {
	uint64_t nr, nr_generated;
};

static bool stack__has_generated_code(const struct stack *stack)
{
	uint32_t i;

	for (i = 0; stack && i < stack->nr; i++)
		if (!strcmp(stack->frames[i]->name, "[anon]"))
			return true;
	return false;
}

static const struct runtime *runtime__of(const char *name)
{
	const struct runtime *r = runtimes;

	while (strncmp(name, r->name, strlen(r->name)))
		r++;
	return r;
}

void hints__generated_code(const struct model *m, struct msgs *msgs)
{
	struct counts *counts = calloc(m->machine.procs.nr + 1, sizeof(*counts));
	bool told[ARRAY_SIZE(runtimes)] = { false };
	size_t i;

	for (i = 0; i < m->chains.nr && counts; i++) {
		const struct chain *chain = &m->chains.v[i];
		struct counts *c = &counts[chain->proc];
		uint64_t nr = chain->nr_launches + chain->nr_samples;

		c->nr += nr;
		if (nr && stack__has_generated_code(chain->stack))
			c->nr_generated += nr;
	}
	for (i = 0; i < m->machine.procs.nr && counts; i++) {
		const struct runtime *r = runtime__of(model__proc_name(m, i));

		if (!counts[i].nr_generated || told[r - runtimes] ||
		    counts[i].nr_generated * 100 < counts[i].nr * LEAST_PERCENT)
			continue;
		told[r - runtimes] = true;
		msgs__add(msgs,
			  "%s (pid %" PRIu32 "): %" PRIu64 " %% of its samples and launches pass "
			  "through generated code that has no names ([anon]): %s",
			  model__proc_name(m, i), m->machine.procs.v[i].pid,
			  counts[i].nr_generated * 100 / counts[i].nr, r->advice);
	}
	free(counts);
}
