/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * output.h - an output file that appears complete or not at all
 *
 * Output goes to a temporary file beside the final one, and the file takes its name at the end: a
 * merge that fails leaves neither half a file nor an empty one in place of an older result.
 */
#ifndef MERGE_OUTPUT_H
#define MERGE_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "safefile.h"

struct output {
	FILE *f;		/* to write to; its errors are kept for output__commit() */
	int fd;
	int err;		/* 0, or -errno of the first write that failed */
	struct safefile file;	/* unless it is stdout */
	struct z_stream_s *gzip;	/* compresses what is written; NULL: it is not compressed */
	struct output *next;	/* another one that is open */
};

/*
 * Opens @path ("-" is stdout) for writing. @o must not move until it is committed or aborted.
 * @private: nobody but the owner may read it
 * Return: 0 or -errno, for safefile__strerror(); then there is nothing to close.
 */
int output__open(struct output *o, const char *path, bool private);

/* As output__open(), below a directory. @flags: SAFEFILE_* */
int output__open_at(struct output *o, int dir_fd, const char *path, unsigned int flags);

/* Compresses what is written from now on, in gzip's format. Return: 0 or -ENOMEM. */
int output__compress(struct output *o);

/* Ends writing, before output__commit() of files that belong together. Return: 0 or -errno. */
int output__finish(struct output *o);

/* Puts the complete file in its place. Return: 0, or -errno of the step that failed. */
int output__commit(struct output *o);

/* Something failed: leaves no trace. Harmless after output__commit(). */
void output__abort(struct output *o);

/* For a signal handler: removes the temporary files of the open outputs. */
void output__abort_from_signal(void);

#endif /* MERGE_OUTPUT_H */
