// SPDX-License-Identifier: GPL-3.0-or-later
#include "import/nsys.h"

#include <errno.h>
#include <stdlib.h>

#include "import/importer.h"

static const char *nsys_file(const struct import_opts *o)
{
	return o->nsys;
}

static int nsys_open(void **state, struct import *im, const struct import_opts *o,
		     struct msgs *msgs)
{
	struct nsys *n = calloc(1, sizeof(*n));
	int err;

	*state = n;
	if (!n)
		return -ENOMEM;
	err = nsys__open(n, o->nsys, msgs);
	if (err || o->events_only)
		return err;
	err = nsys__import(n, im);
	nsys__close(n);			/* the merge needs this memory */
	return err;
}

static void nsys_close(void *state)
{
	nsys__close(state);
	free(state);
}

static int nsys_write_events(void *state, FILE *f, const struct import_opts *o, struct msgs *msgs)
{
	struct nsys *n = state;

	n->msgs = msgs;
	return nsys__write_events(n, f, &o->events);
}

static bool nsys_clean(const void *state)
{
	const struct nsys *n = state;

	return !n->db.unclean;
}

const struct source nsys_source = {
	.option = "nsys",
	.file = nsys_file,
	.open = nsys_open,
	.close = nsys_close,
	.write_events = nsys_write_events,
	.clean = nsys_clean,
};
