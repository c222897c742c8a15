/* SPDX-License-Identifier: GPL-3.0-or-later */
/* datafile.h - begins and ends a recording: the file's header, the first records and the last */
#ifndef XPU_LOADER_DATAFILE_H
#define XPU_LOADER_DATAFILE_H

struct options;
struct safefile;
struct splitter;
struct writer;

/**
 * datafile__create - begin a recording
 * @opts: options with the recording's name; the first records describe the options
 * @f: the file, to be removed or passed to safefile__close(); holds nothing on failure
 * @w: the writer, which the caller closes
 * @splitter: with opts->every_ns, the child that makes several files, for splitter__finish(). The
 *	child gets the recording through a pipe, and @f holds nothing. Without opts->every_ns, set
 *	to NULL
 *
 * Gives the recording its name at once, so that the part written so far can be read even after a
 * crash. Keeps one old recording with that name as FILE.old, as perf record does.
 *
 * Return: 0 or a negative errno, with a message printed.
 */
int datafile__create(const struct options *opts, struct safefile *f, struct writer **w,
		     struct splitter **splitter);

/*
 * Writes the last record, which says that the recording is complete. @wait_status: how the target
 * ended
 */
void datafile__end(struct writer *w, int wait_status);

#endif /* XPU_LOADER_DATAFILE_H */
