/* SPDX-License-Identifier: GPL-3.0-or-later */
/* source_text.h - the text of the source lines that PC samples name */
#ifndef MERGE_SOURCE_TEXT_H
#define MERGE_SOURCE_TEXT_H

#include <stddef.h>

#include "stalls/stalls.h"
#include "util.h"

struct source_text {
	struct idmap by_place;		/* maps the address of a place's name to an index in
					 * lines */
	ARRAY(char *) lines;		/* without the spaces around them */
};

/*
 * source_text__read - find files in the user's directories, and read the lines that places name
 * @t: zeros; the caller calls source_text__exit(), even after a failure
 * @dirs: directories, with ":" between them; files are searched in all of their subdirectories
 * @stalls: places such as "a.cu:9;f(int) at b.h:3"; only the line of the last frame is read
 * @start_ns: CLOCK_REALTIME of the recording's start; 0: unknown
 * @msgs: gets messages about files that have the same name, that are newer than the recording, or
 *	  that cannot be read
 *
 * A place names a file without its directory, so a file with the same name in another directory
 * would be shown. Files whose names begin with a dot, and symbolic links, are not read.
 * Return: 0 or -ENOMEM.
 */
int source_text__read(struct source_text *t, const char *dirs, const struct stalls *stalls,
		      uint64_t start_ns, struct msgs *msgs);
void source_text__exit(struct source_text *t);

/* Return: the text of a place's line; "" if it is not known. */
const char *source_text__of(const struct source_text *t, const char *place);

#endif /* MERGE_SOURCE_TEXT_H */
