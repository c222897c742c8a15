/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * importer.h - imports the files named on the command line as one recording
 *
 * Each kind of import is a struct source, defined in a file in sources/. To add a source, write its
 * file, add a line to SOURCES(), and add a member for the name of its input file to struct
 * import_opts.
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
	struct input_file *cpu_lines;	/* the stacks of launches in the file @cpu, in the form of
					 * twofile.h, or NULL; set by importer__open() */
	const char *buildid_dir;	/* perf's build-id cache; NULL: the default directory */
	bool srcline;			/* show source lines if the file @cpu contains them */
	const char **more_gpu;		/* more files after gpu; importer__close() frees this */
	size_t nr_more_gpu;
	uint64_t tolerance_ns;
	bool summary;
	bool events_only;		/* only call importer__write_events(); make no recording */
	struct nsys_events_opts events;	/* importer__close() frees its prefixes */
};

struct source {
	const char *option;		/* the option that names the input file */

	/*
	 * Return: the file to name in messages; NULL if the command line does not use this source.
	 */
	const char *(*file)(const struct import_opts *o);

	/*
	 * Reads the files into @im or, with events_only, for write_events(). Return: 0 or -errno,
	 * with messages in @msgs except for -ENOMEM. *@state is passed to the other functions;
	 * close() frees it, even after a failure.
	 */
	int (*open)(void **state, struct import *im, const struct import_opts *o,
		    struct msgs *msgs);
	void (*close)(void *state);

	/* Each of the functions below may be NULL. */
	int (*write_events)(void *state, FILE *f, const struct import_opts *o, struct msgs *msgs);
	void (*print)(const void *state, FILE *f, bool summary);
	bool (*damaged)(const void *state);	/* whether the input is damaged, so that the output
						 * is incomplete */
	bool (*clean)(const void *state);	/* whether all records of the input were imported */
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

/* Return: whether the command line requests an import. */
bool importer__wanted(const struct importer *im);

/* Return: the file name for messages, or the option that named the file. */
const char *importer__name(const struct importer *im);
const char *importer__option(const struct importer *im);

/* Return: the file that importer__open() was reading when memory ran out. */
const char *importer__reading(const struct importer *im);

/**
 * importer__open - read the files
 * @r: opened on the imported recording, and valid until importer__close(); not changed if
 * events_only is set
 * @beside: the first of the recordings with which the import is merged, or NULL
 * @msgs: messages for the user, with the reason of a failure other than -ENOMEM
 *
 * Return: 0 or -errno. The caller must call importer__close(), even after a failure.
 */
int importer__open(struct importer *im, struct reader *r, const struct reader *beside,
		   struct msgs *msgs);
void importer__close(struct importer *im);

/*
 * Writes the events of an nsys export. Call this after importer__open(). Return: as
 * nsys__write_events().
 */
int importer__write_events(struct importer *im, FILE *f, struct msgs *msgs);

/* Writes the import as a recording, for later use: see import__write(). */
int importer__write_recording(const struct importer *im, FILE *f);

/* Prints the results of the import for the user. */
void importer__print(const struct importer *im, FILE *f);

/* Return: whether the input is damaged, so that the output is incomplete. */
bool importer__damaged(const struct importer *im);

/* Return: whether the output contains every record of the input. */
bool importer__clean(const struct importer *im);

#endif /* MERGE_IMPORTER_H */
