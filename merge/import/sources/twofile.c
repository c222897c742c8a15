// SPDX-License-Identifier: GPL-3.0-or-later
#include "import/twofile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "import/importer.h"

static const char *twofile_file(const struct import_opts *o)
{
	return o->gpu;
}

static int load(const char *path, char **buf, size_t *size, struct msgs *msgs)
{
	int err = import__load(path, buf, size);

	if (err)
		msgs__add(msgs, "%s: cannot be read: %s", path,
			  err == -EBADMSG ? "damaged or cut off: gzip -t tells more" :
			  strerror(-err));
	return err;
}

static int twofile_open(void **state, struct import *im, const struct import_opts *o,
			struct msgs *msgs)
{
	struct twofile_opts opts = {
		.cpu = o->cpu, .gpu = o->gpu, .tolerance_ns = o->tolerance_ns,
	};
	struct twofile *t = calloc(1, sizeof(*t));
	char *gpu = NULL;
	size_t gpu_bytes = 0;
	int err;

	*state = t;
	if (!t)
		return -ENOMEM;
	err = load(o->gpu, &gpu, &gpu_bytes, msgs);
	if (!err)
		err = twofile__read(t, im, &opts, o->cpu_lines.s, o->cpu_lines.len, gpu, gpu_bytes,
				    msgs);
	free(gpu);
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

	return !t->nr_uncertain && !t->nr_no_stack;
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
