// SPDX-License-Identifier: GPL-3.0-or-later
#include "import/trace.h"

#include <errno.h>
#include <stdlib.h>

#include "import/importer.h"

/*
 * Return: the name of the trace file; NULL if the stacks are in another file and are matched by
 * time, because twofile_source.c then reads the trace.
 */
static const char *trace_file(const struct import_opts *o)
{
	return o->cpu_lines ? NULL : o->gpu;
}

static int trace_open(void **state, struct import *im, const struct import_opts *o,
		      struct msgs *msgs)
{
	const char **names = calloc(o->nr_more_gpu + 1, sizeof(*names));
	struct trace *t = calloc(1, sizeof(*t));
	size_t i;
	int err = -ENOMEM;

	*state = t;
	if (t && names) {
		names[0] = o->gpu;
		for (i = 0; i < o->nr_more_gpu; i++)
			names[i + 1] = o->more_gpu[i];
		err = trace__read(t, im, names, o->nr_more_gpu + 1, msgs);
	}
	free(names);
	return err;
}

static void trace_print(const void *state, FILE *f, bool summary)
{
	trace__print(state, f, summary);
}

static bool trace_damaged(const void *state)
{
	const struct trace *t = state;

	return t && t->damaged;
}

static bool trace_clean(const void *state)
{
	const struct trace *t = state;

	return !t->odd && !t->nr_too_deep && (!t->nr_ops || !t->nr_no_stack);
}

const struct source trace_source = {
	.option = "gpu",
	.file = trace_file,
	.open = trace_open,
	.close = free,
	.print = trace_print,
	.damaged = trace_damaged,
	.clean = trace_clean,
};
