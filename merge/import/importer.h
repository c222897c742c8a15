/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * importer.h - what the command line asks to import, opened as a recording
 *
 * What there is to import from is a struct source each, in a file of sources/. To add one: its file,
 * its line in SOURCES() and, for what names its files, a member of struct import_opts.
 */
#ifndef MERGE_IMPORTER_H
#define MERGE_IMPORTER_H

#include <stdbool.h>
#include <stdio.h>

#include "import/import.h"
#include "import/nsys.h"
#include "read/reader.h"
#include "util.h"

struct import_opts {
	const char *cpu, *gpu, *nsys;	/* files, or NULL */
	const char **more_gpu;		/* behind gpu; they are ours to free */
	size_t nr_more_gpu;
	uint64_t tolerance_ns;
	bool summary;
	bool events_only;		/* for importer__write_events(), no recording */
	struct nsys_events_opts events;	/* its prefixes are ours to free */
};

struct source {
	const char *option;		/* what names its file on the command line */

	/* Return: the file that messages are about, or NULL: this is not asked for. */
	const char *(*file)(const struct import_opts *o);

	/*
	 * Reads the files into @im, or with events_only for write_events(). Return: 0 or -errno,
	 * with what is to be told in @msgs; *@state is what the others get, and is closed in any
	 * case.
	 */
	int (*open)(void **state, struct import *im, const struct import_opts *o,
		    struct msgs *msgs);
	void (*close)(void *state);

	/* What follows may be NULL. */
	int (*write_events)(void *state, FILE *f, const struct import_opts *o, struct msgs *msgs);
	void (*print)(const void *state, FILE *f, bool summary);
	bool (*damaged)(const void *state);	/* then the output is not all there is */
	bool (*clean)(const void *state);	/* everything found its place */
};

#define SOURCES(SOURCE)		\
	SOURCE(nsys)		\
	SOURCE(trace)		\
	SOURCE(twofile)

#define DECLARE_SOURCE(id)	extern const struct source id##_source;
SOURCES(DECLARE_SOURCE)

struct importer {
	struct import_opts opts;
	/* importer__open() makes these. */
	const struct source *source;
	void *state;
	struct import import;
};

/* Return: whether anything is to be imported. */
bool importer__wanted(const struct importer *im);

/* Return: the file that messages are about; the option that names it. */
const char *importer__name(const struct importer *im);
const char *importer__option(const struct importer *im);

/**
 * importer__open - read the files
 * @r: opened on what they hold, until importer__close(); with events_only left alone
 * @msgs: what is to be told; also why it failed
 *
 * Return: 0 or -errno; importer__close() is due in any case.
 */
int importer__open(struct importer *im, struct reader *r, struct msgs *msgs);
void importer__close(struct importer *im);

/* Writes the events of an export, after importer__open(). Return: as nsys__write_events(). */
int importer__write_events(struct importer *im, FILE *f, struct msgs *msgs);

/* Writes what was imported as a recording, for another time: as import__write(). */
int importer__write_recording(const struct importer *im, FILE *f);

/* Prints what the user should know of how it went. */
void importer__print(const struct importer *im, FILE *f);

/* Return: whether something is damaged: then the output is not all there is. */
bool importer__damaged(const struct importer *im);

/* Return: whether everything found its place. */
bool importer__clean(const struct importer *im);

#endif /* MERGE_IMPORTER_H */
