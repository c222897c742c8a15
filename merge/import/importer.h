/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * importer.h - opens the files that the command line asks to import as a recording
 *
 * Each kind of import is a struct source, in a file of sources/. To add one, write its file, and
 * add a line to SOURCES() and a member to struct import_opts for the file's name.
 */
#ifndef MERGE_IMPORTER_H
#define MERGE_IMPORTER_H

#include <stdbool.h>
#include <stdio.h>

#include "import/import.h"
#include "import/input.h"
#include "import/nsys.h"
#include "import/perf/side.h"
#include "read/reader.h"
#include "util.h"

struct import_opts {
	const char *cpu, *gpu, *nsys;	/* names of files, or NULL */
	struct input_file *cpu_lines;	/* set by importer__open(): stacks of launches in the
					 * file cpu, or NULL */
	const char *buildid_dir;	/* perf's cache of files, or NULL for its default */
	bool srcline;			/* show source lines, if the file cpu has them */
	const char **more_gpu;		/* more files after gpu; importer__close() frees the
					 * array */
	size_t nr_more_gpu;
	uint64_t tolerance_ns;
	bool summary;
	bool events_only;		/* call only importer__write_events(); make no recording */
	struct nsys_events_opts events;	/* importer__close() frees its prefixes */
};

struct source {
	const char *option;		/* the option that names the file */

	/* Return: the file to name in messages, or NULL if this source is not asked for. */
	const char *(*file)(const struct import_opts *o);

	/*
	 * Reads the files into @im, or, with events_only, for write_events(). Return: 0 or -errno,
	 * with messages in @msgs except for -ENOMEM. The other functions get *@state; close() frees
	 * it, even after a failure.
	 */
	int (*open)(void **state, struct import *im, const struct import_opts *o,
		    struct msgs *msgs);
	void (*close)(void *state);

	/* The functions below may be NULL. */
	int (*write_events)(void *state, FILE *f, const struct import_opts *o, struct msgs *msgs);
	void (*print)(const void *state, FILE *f, bool summary);
	bool (*damaged)(const void *state);	/* Whether the input is damaged, so that the output
						 * is incomplete. */
	bool (*clean)(const void *state);	/* Whether no record of the input is missing. */
};

#define SOURCES(SOURCE)		\
	SOURCE(nsys)		\
	SOURCE(trace)		\
	SOURCE(twofile)		\
	SOURCE(cpu)

#define DECLARE_SOURCE(id)	extern const struct source id##_source;
SOURCES(DECLARE_SOURCE)

struct importer {
	struct import_opts opts;
	/* Set by importer__open(). */
	const struct source *source;
	void *state;
	struct cpu_side cpu;
	struct import import;
};

/* Return: whether the command line asks for an import. */
bool importer__wanted(const struct importer *im);

/* Return: the name of the file for messages, or the option that named it. */
const char *importer__name(const struct importer *im);
const char *importer__option(const struct importer *im);

/* Return: the file that importer__open() was reading when memory ran out. */
const char *importer__reading(const struct importer *im);

/**
 * importer__open - read the files
 * @r: opened on the recording made from the files, valid until importer__close(); untouched with
 * events_only
 * @beside: the first of the recordings that the import is merged with, or NULL
 * @msgs: messages for the user, with the reason of a failure other than -ENOMEM
 *
 * Return: 0 or -errno; the caller calls importer__close(), even after a failure.
 */
int importer__open(struct importer *im, struct reader *r, const struct reader *beside,
		   struct msgs *msgs);
void importer__close(struct importer *im);

/* Writes the events of an export, after importer__open(). Return: like nsys__write_events(). */
int importer__write_events(struct importer *im, FILE *f, struct msgs *msgs);

/* Writes the import as a recording, for later use: see import__write(). */
int importer__write_recording(const struct importer *im, FILE *f);

/* Prints the results of the import for the user. */
void importer__print(const struct importer *im, FILE *f);

/* Return: whether the input is damaged, so that the output is incomplete. */
bool importer__damaged(const struct importer *im);

/* Return: whether the output has every record of the input. */
bool importer__clean(const struct importer *im);

#endif /* MERGE_IMPORTER_H */
