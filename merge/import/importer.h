/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * importer.h - what the command line asks to import, opened as a recording
 */
#ifndef MERGE_IMPORTER_H
#define MERGE_IMPORTER_H

#include <stdbool.h>
#include <stdio.h>

#include "import/import.h"
#include "import/nsys.h"
#include "read/reader.h"
#include "import/twofile.h"
#include "util.h"

struct importer {
	const char *cpu, *gpu, *nsys;	/* files, or NULL */
	uint64_t tolerance_ns;
	bool summary;
	bool events_only;		/* nsys: for importer__write_events(), no recording */
	struct nsys_events_opts events;	/* its prefixes are ours to free */
	/* importer__open() makes these. */
	struct import import;
	struct twofile twofile;
	struct nsys nsys_export;
};

/* Return: whether anything is to be imported. */
bool importer__wanted(const struct importer *im);

/* Return: the file that messages are about. */
const char *importer__name(const struct importer *im);

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
int importer__write_events(struct importer *im, FILE *f);

/* Writes what was imported as a recording, for another time: as import__write(). */
int importer__write_recording(const struct importer *im, FILE *f);

/* Prints what the user should know of how it went. */
void importer__print(const struct importer *im, FILE *f);

/* Return: whether something is damaged: then the output is not all there is. */
bool importer__damaged(const struct importer *im);

/* Return: whether everything found its place. */
bool importer__clean(const struct importer *im);

#endif /* MERGE_IMPORTER_H */
