// SPDX-License-Identifier: GPL-3.0-or-later
#include "import/importer.h"

#include <errno.h>
#include <stdlib.h>

#define LIST(id)	&id##_source,

static const struct source *const sources[] = { SOURCES(LIST) };

/* Return: the first source that the command line asks for, or NULL. */
static const struct source *importer__source(const struct importer *im)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sources); i++)
		if (sources[i]->file(&im->opts))
			return sources[i];
	return NULL;
}

bool importer__wanted(const struct importer *im)
{
	return importer__source(im) || im->opts.cpu;
}

const char *importer__name(const struct importer *im)
{
	return importer__source(im)->file(&im->opts);
}

const char *importer__option(const struct importer *im)
{
	const struct source *source = importer__source(im);

	return source ? source->option : "gpu";
}

const char *importer__reading(const struct importer *im)
{
	return im->import.file ?: importer__name(im);
}

int importer__open(struct importer *im, struct reader *r, struct msgs *msgs)
{
	int err;

	import__init(&im->import);
	im->source = importer__source(im);
	err = im->source->open(&im->state, &im->import, &im->opts, msgs);
	if (!err && !im->opts.events_only)
		err = import__finish(&im->import, r, importer__name(im));
	return err;
}

int importer__write_events(struct importer *im, FILE *f, struct msgs *msgs)
{
	return im->source->write_events(im->state, f, &im->opts, msgs);
}

int importer__write_recording(const struct importer *im, FILE *f)
{
	return import__write(&im->import, f);
}

void importer__close(struct importer *im)
{
	import__exit(&im->import);
	if (im->state)
		im->source->close(im->state);
	free(im->opts.more_gpu);
	free(im->opts.events.prefixes);
}

void importer__print(const struct importer *im, FILE *f)
{
	if (im->source->print)
		im->source->print(im->state, f, im->opts.summary);
}

bool importer__damaged(const struct importer *im)
{
	return im->source && im->source->damaged && im->source->damaged(im->state);
}

bool importer__clean(const struct importer *im)
{
	return !im->source || !im->source->clean || im->source->clean(im->state);
}
