/* SPDX-License-Identifier: GPL-3.0-or-later */
/* datafile.h - the recording as a whole: its header and what is told of it in the first records */
#ifndef XPU_LOADER_DATAFILE_H
#define XPU_LOADER_DATAFILE_H

struct options;
struct safefile;
struct writer;

/**
 * datafile__create - begin a recording
 * @opts: its name, and what is told of how it came to be
 * @f: the file, to remove it or for safefile__close(); if this fails it holds nothing
 * @w: for writer__close()
 *
 * From here on the recording has its name: whatever happens, what is written so far can be read.
 * One old recording of that name is kept as FILE.old, as perf record does.
 *
 * Return: 0 or a negative errno; what went wrong has been said.
 */
int datafile__create(const struct options *opts, struct safefile *f, struct writer **w);

/* The last record: all that was to come is there. @wait_status: the target's */
void datafile__end(struct writer *w, int wait_status);

#endif /* XPU_LOADER_DATAFILE_H */
