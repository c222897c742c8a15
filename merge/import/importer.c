// SPDX-License-Identifier: GPL-3.0-or-later
#include "import/importer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool importer__wanted(const struct importer *im)
{
	return im->cpu || im->gpu || im->nsys;
}

const char *importer__name(const struct importer *im)
{
	return im->nsys ?: im->gpu;
}

static int importer__load(const char *path, char **buf, size_t *size, struct msgs *msgs)
{
	int err = import__load(path, buf, size);

	if (err)
		msgs__add(msgs, "%s: cannot be read: %s", path,
			  err == -EBADMSG ? "damaged or cut off: gzip -t tells more" : strerror(-err));
	return err;
}

static int importer__open_twofile(struct importer *im, struct msgs *msgs)
{
	struct twofile_opts opts = {
		.cpu = im->cpu, .gpu = im->gpu, .tolerance_ns = im->tolerance_ns,
	};
	char *cpu = NULL, *gpu = NULL;
	size_t cpu_bytes = 0, gpu_bytes = 0;
	int err = 0;

	if (im->cpu)
		err = importer__load(im->cpu, &cpu, &cpu_bytes, msgs);
	if (!err)
		err = importer__load(im->gpu, &gpu, &gpu_bytes, msgs);
	if (!err)
		err = twofile__read(&im->twofile, &im->import, &opts, cpu, cpu_bytes, gpu,
				    gpu_bytes, msgs);
	free(cpu);
	free(gpu);
	return err;
}

int importer__open(struct importer *im, struct reader *r, struct msgs *msgs)
{
	int err;

	import__init(&im->import);
	if (im->nsys) {
		err = nsys__open(&im->nsys_export, im->nsys, msgs);
		if (!err && !im->events_only)
			err = nsys__import(&im->nsys_export, &im->import);
	} else {
		err = importer__open_twofile(im, msgs);
	}
	if (!err && !im->events_only)
		err = import__finish(&im->import, r, importer__name(im));
	if (err == -ENOMEM)
		msgs__add(msgs, "%s: %s", importer__name(im), strerror(ENOMEM));
	return err;
}

int importer__write_events(struct importer *im, FILE *f)
{
	return nsys__write_events(&im->nsys_export, f, &im->events);
}

int importer__write_recording(const struct importer *im, FILE *f)
{
	return import__write(&im->import, f);
}

void importer__close(struct importer *im)
{
	import__exit(&im->import);
	nsys__close(&im->nsys_export);
	free(im->events.prefixes);
}

void importer__print(const struct importer *im, FILE *f)
{
	if (!im->nsys)
		twofile__print(&im->twofile, f, im->summary);
}

bool importer__damaged(const struct importer *im)
{
	return im->twofile.damaged;
}

bool importer__clean(const struct importer *im)
{
	return !im->twofile.nr_uncertain && !im->twofile.nr_no_stack;
}
