/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * output.h - an output file that appears complete or not at all
 *
 * Output goes to a file that gets its final name when it is complete (safefile.h). A failed merge
 * does not replace an older result with a partial or empty file.
 */
#ifndef MERGE_OUTPUT_H
#define MERGE_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "safefile.h"

struct output {
	FILE *f;		/* the stream to write to; its errors are kept for
				 * output__commit() */
	int fd;
	int err;		/* 0, or -errno of the first write that failed */
	struct safefile file;	/* the file, unless it is stdout */
	struct z_stream_s *gzip;	/* compresses the output; NULL: no compression */
	struct output *next;	/* the next open output */
};

/*
 * Opens @path ("-" is stdout) for writing. @o must not move until it is committed or aborted.
 * @private: nobody but the owner may read it
 * Return: 0 or -errno, for safefile__strerror(); after an error there is nothing to close.
 */
int output__open(struct output *o, const char *path, bool private);

/* Opens @path below a directory, like output__open(). @flags: SAFEFILE_* */
int output__open_at(struct output *o, int dir_fd, const char *path, unsigned int flags);

/* Compresses the output that follows, in gzip's format. Return: 0 or -ENOMEM. */
int output__compress(struct output *o);

/*
 * Ends writing. For files that belong together, call it for all of them before the first
 * output__commit(). Return: 0 or -errno.
 */
int output__finish(struct output *o);

/* Renames the complete file to its final name. Return: 0, or -errno of the step that failed. */
int output__commit(struct output *o);

/* Removes the temporary file after a failure. Does nothing after output__commit(). */
void output__abort(struct output *o);

/* Removes the temporary files of the open outputs; a signal handler may call this. */
void output__abort_from_signal(void);

#endif /* MERGE_OUTPUT_H */
