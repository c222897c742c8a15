/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * splitter.h - "xpumerge split", which makes several files of the recording that it gets through a
 * pipe
 *
 * This child process runs as the user who called xpuload, without privileges. It has the signal
 * handling that xpuload was started with, but it ignores the signals that end a recording, because
 * it ends when the pipe ends.
 *
 * If the child ends earlier, it is restarted, and continues with the definitions that earlier
 * children have kept in a memory file (split_journal.h). Meanwhile the pipe stays open, and keeps
 * the unread records.
 */
#ifndef XPU_LOADER_SPLITTER_H
#define XPU_LOADER_SPLITTER_H

#include <stdbool.h>
#include <stdint.h>

struct options;
struct splitter;
struct writer;

struct splitter_stats {
	uint64_t nr_ends;		/* how often the child ended early; each time, records may
					 * have been lost */
	/* see split_journal.h */
	uint64_t nr_files, nr_bytes, nr_lost_files, nr_lost_bytes, nr_lost_launches;
	uint64_t nr_lost_profiles, nr_unmerged;	/* including profiles that were possibly lost */
};

/**
 * splitter__start - start the child
 * @opts: output is the pattern of the files' names
 * @fd: set to the write end of the pipe
 * @s: the splitter, for splitter__free()
 *
 * Prints a message on failure. Return: 0 or a negative errno.
 */
int splitter__start(const struct options *opts, int *fd, struct splitter **s);

/* If the child has ended, prints a message, and restarts it, but not too often. Never waits. */
void splitter__watch(struct splitter *s);

/* At the end of the recording, waits until the writer has written everything to the pipe. */
void splitter__drain(struct splitter *s, struct writer *w);

/*
 * Waits for the child after the pipe was closed. Return: whether the recording's end is in a file.
 */
bool splitter__finish(struct splitter *s);

/* Return: whether files are removed after their profiles were sent. */
bool splitter__removes(const struct options *opts);

const struct splitter_stats *splitter__stats(const struct splitter *s);
void splitter__free(struct splitter *s);

#endif /* XPU_LOADER_SPLITTER_H */
