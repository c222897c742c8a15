// SPDX-License-Identifier: GPL-3.0-or-later
#include "import/twofile.h"

#include <errno.h>
#include <stdlib.h>

#include "import/importer.h"

static const char *twofile_file(const struct import_opts *o)
{
	return o->gpu;
}

static int load(struct import *im, const char *path, struct input_file *in, struct msgs *msgs)
{
	int err = input_file__open(in, path);

	im->file = err ? path : NULL;
	if (err && err != -ENOMEM)
		msgs__add(msgs, "%s: cannot be read: %s", path, import__load_error(err));
	return err;
}

static int twofile_open(void **state, struct import *im, const struct import_opts *o,
			struct msgs *msgs)
{
	struct twofile_opts opts = {
		.cpu = o->cpu, .gpu = o->gpu, .tolerance_ns = o->tolerance_ns,
	};
	struct twofile *t = calloc(1, sizeof(*t));
	struct input_file gpu = { 0 };
	int err;

	*state = t;
	if (!t)
		return -ENOMEM;
	err = load(im, o->gpu, &gpu, msgs);
	err = err ?: twofile__read(t, im, &opts, o->cpu_lines, &gpu, msgs);
	input_file__close(&gpu);
	return err;
}

static void twofile_print(const void *state, FILE *f, bool summary)
{
	twofile__print(state, f, summary);
}

static bool twofile_damaged(const void *state)
{
	const struct twofile *t = state;

	return t && t->damaged;
}

static bool twofile_clean(const void *state)
{
	const struct twofile *t = state;

	return !t->odd && !t->nr_uncertain && !t->nr_no_stack;
}

const struct source twofile_source = {
	.option = "gpu",
	.file = twofile_file,
	.open = twofile_open,
	.close = free,
	.print = twofile_print,
	.damaged = twofile_damaged,
	.clean = twofile_clean,
};
