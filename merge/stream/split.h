/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * split.h - splits one recording into several files, each readable on its own
 *
 * The recording arrives in blocks, from a pipe or a file. XPU_RECORD_CUT marks the end of a file.
 * Records are passed on unchanged, except for launches and device records (held.h) and records that
 * features keep (kept.h), such as memory events. Each file repeats the definitions (carry.h). The
 * sums over all files therefore equal the sums of the recording.
 */
#ifndef MERGE_SPLIT_H
#define MERGE_SPLIT_H

#include <stdbool.h>
#include <stdint.h>

#include "util.h"

struct split_opts {
	const char *pattern;		/* pattern for the file names: see split__name() */
	int level;			/* compression level */
	uint32_t keep;			/* number of latest files to keep; 0: keep all */
	/*
	 * Called when a file is complete; may be NULL. The callee frees @name. @start_ns: start
	 * time of the file by CLOCK_REALTIME. *@waits is 1; the callee sets it to 0 when it has
	 * finished with the file. After a kill, the next program calls this again for each file
	 * whose *@waits is not 0.
	 */
	void (*whole)(void *ctx, char *name, uint64_t start_ns, uint64_t duration_ns,
		      uint64_t *waits);
	/* Called before the memory of @waits is reused for a later file; may be NULL. */
	void (*overdue)(void *ctx, const uint64_t *waits);
	/* Called about once a second, and must return soon; may be NULL. */
	void (*idle)(void *ctx);
	/*
	 * Called when a file cannot be written, and when files can be written again. If NULL, a
	 * write failure ends the splitting.
	 */
	void (*trouble)(void *ctx, const char *text);
	void *ctx;
	int journal_fd;			/* file descriptor of the journal (journal.h); -1: none */
};

struct split_result {
	uint64_t nr_files;
	uint64_t nr_forced;		/* see held__nr_forced() */
	uint64_t nr_beyond;		/* see carry__nr_beyond() */
	uint64_t nr_damaged;		/* number of damaged batches */
	uint64_t nr_skipped;		/* bytes that belong to no complete block */
	uint64_t nr_lost;		/* number of files that could not be written completely */
	char what[256];			/* the error message, if split__run() fails */
};

/*
 * Return: the name of file @number, or NULL if memory is short. The name is @pattern, with %n
 * replaced by the number, and %% by a percent sign. Without %n, a dot and the number are appended
 * to @pattern.
 */
char *split__name(const char *pattern, uint64_t number);

/**
 * split__run - split the recording read from @fd, up to its end
 *
 * Return: 0; or a negative errno, with result->what set. All files completed before the error are
 * valid.
 */
int split__run(int fd, const struct split_opts *opts, struct split_result *result);

#endif /* MERGE_SPLIT_H */
