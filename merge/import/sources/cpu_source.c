// SPDX-License-Identifier: GPL-3.0-or-later
#include "import/importer.h"

/*
 * Imports CPU samples without device work. importer__open() itself reads the file given with --cpu,
 * whatever the source is.
 */
static const char *cpu_file(const struct import_opts *o)
{
	return o->cpu;
}

static int cpu_open(void **state, struct import *im, const struct import_opts *o,
		    struct msgs *msgs)
{
	(void)state, (void)im, (void)o, (void)msgs;
	return 0;
}

const struct source cpu_source = {
	.option = "cpu",
	.file = cpu_file,
	.open = cpu_open,
};
