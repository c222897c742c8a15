// SPDX-License-Identifier: GPL-3.0-or-later
#include "import/importer.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

#define LIST(id)	&id##_source,

static const struct source *const sources[] = { SOURCES(LIST) };

/* Return: the first source whose option is on the command line, or NULL. */
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
	return importer__source(im);
}

const char *importer__name(const struct importer *im)
{
	return importer__source(im)->file(&im->opts);
}

const char *importer__option(const struct importer *im)
{
	return importer__source(im)->option;
}

const char *importer__reading(const struct importer *im)
{
	return im->import.file ?: importer__name(im);
}

/* Reads the file given with --cpu. Return: as importer__open(). */
static int importer__open_cpu(struct importer *im, struct msgs *msgs)
{
	struct import_opts *o = &im->opts;
	int err;

	im->import.file = o->cpu;
	err = cpu_side__read(&im->cpu, o->cpu, o->srcline, msgs);
	if (err)
		return err;
	im->import.file = NULL;
	if (im->cpu.kind == CPU_SIDE_LINES && !o->gpu)
		return msgs__refuse(msgs, o->nsys ?
				    "%s: stacks of launches need --gpu: an export for --nsys has "
				    "its own stacks, if any" :
				    "%s: expected perf.data or the output of perf script: stacks "
				    "of launches need --gpu", o->cpu);
	o->cpu_lines = cpu_side__lines(&im->cpu);
	return 0;
}

int importer__open(struct importer *im, struct reader *r, const struct reader *beside,
		   struct msgs *msgs)
{
	const char *other = im->opts.nsys ?: im->opts.gpu;
	int err = 0;

	import__init(&im->import);
	if (im->opts.cpu)
		err = importer__open_cpu(im, msgs);
	/*
	 * If the file given with --cpu contains the stacks of launches, this chooses the source
	 * that reads both stacks and device records.
	 */
	im->source = importer__source(im);
	err = err ?: im->source->open(&im->state, &im->import, &im->opts, msgs);
	err = err ?: cpu_side__write(&im->cpu, &im->import, other, beside, im->opts.buildid_dir,
				     msgs);
	if (!err && !im->opts.events_only)
		err = import__finish(&im->import, r, importer__name(im));
	/*
	 * The tables used only for reading are freed, but free() has not returned their memory to
	 * the system, because other data lies between them.
	 */
	malloc_trim(0);
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
	cpu_side__exit(&im->cpu);
	free(im->opts.more_gpu);
	free(im->opts.events.prefixes);
}

void importer__print(const struct importer *im, FILE *f)
{
	if (im->source->print)
		im->source->print(im->state, f, im->opts.summary);
	if (im->opts.summary)
		cpu_side__print(&im->cpu, f);
}

bool importer__damaged(const struct importer *im)
{
	return im->cpu.damaged ||
	       (im->source && im->source->damaged && im->source->damaged(im->state));
}

bool importer__clean(const struct importer *im)
{
	return !im->cpu.odd &&
	       (!im->source || !im->source->clean || im->source->clean(im->state));
}
