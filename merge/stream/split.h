/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * split.h - makes several files of one recording, each of which can be read alone
 *
 * The recording comes from a pipe, or a file, in blocks; XPU_RECORD_CUT says where a file ends. Records
 * are passed on as they are, but for launches and device records (held.h); definitions are repeated in
 * each file (carry.h). So the sums over all files are those of the recording.
 */
#ifndef MERGE_SPLIT_H
#define MERGE_SPLIT_H

#include <stdbool.h>
#include <stdint.h>

#include "util.h"

struct split_opts {
	const char *pattern;		/* of the files' names: see split__name() */
	int level;			/* of compression */
	uint32_t keep;			/* so many files stay, the last ones; 0: all */
	/*
	 * A file is whole; or NULL. @name is the callee's, to be freed. @start_ns: CLOCK_REALTIME, when the
	 * file began. @waits: 1; should this program be killed, another one is called with the files that
	 * do not have 0 here
	 */
	void (*whole)(void *ctx, char *name, uint64_t start_ns, uint64_t duration_ns, uint64_t *waits);
	/* Called about once a second, and never for long; or NULL. */
	void (*idle)(void *ctx);
	/*
	 * A file cannot be written, or can be written again: the next one is tried. NULL: a failure is the
	 * end.
	 */
	void (*trouble)(void *ctx, const char *text);
	void *ctx;
	int journal_fd;			/* see journal.h; -1: none */
};

struct split_result {
	uint64_t nr_files;
	uint64_t nr_forced;		/* see held__nr_forced() */
	uint64_t nr_beyond;		/* see carry__nr_beyond() */
	uint64_t nr_damaged;		/* batches, or the recording's end */
	uint64_t nr_skipped;		/* bytes that are no whole block */
	uint64_t nr_lost;		/* files that could not be written, or not wholly */
	char what[256];			/* the error, if split__run() fails */
};

/*
 * Return: the name of file @number: @pattern with the number in the place of %n, or behind it, and of
 * %% a percent sign; NULL without memory.
 */
char *split__name(const char *pattern, uint64_t number);

/**
 * split__run - split the recording that @fd gives, up to its end
 *
 * Return: 0; or a negative errno, with result->what set. The files so far are good.
 */
int split__run(int fd, const struct split_opts *opts, struct split_result *result);

#endif /* MERGE_SPLIT_H */
