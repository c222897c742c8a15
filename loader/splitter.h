/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * splitter.h - "xpumerge split", which makes several files of the recording that it gets through a pipe
 *
 * It runs as the user who called xpuload, without privileges, and with the signal handling that xpuload
 * was started with, but for those signals that end a recording: it ends when the pipe does.
 *
 * Should it end before, it is started again, and goes on from the definitions that the first one has kept in
 * a memory file (split_journal.h). The pipe stays open: records that it had not read wait there.
 */
#ifndef XPU_LOADER_SPLITTER_H
#define XPU_LOADER_SPLITTER_H

#include <stdbool.h>
#include <stdint.h>

struct options;
struct splitter;
struct writer;

struct splitter_stats {
	uint64_t nr_ends;		/* of the child, too early: some launches were lost each time */
	uint64_t nr_lost_files, nr_lost_bytes;	/* see split_journal.h */
};

/**
 * splitter__start - start it
 * @opts: output is the pattern of the files' names
 * @fd: set to the pipe, to be written to
 * @s: for splitter__free()
 *
 * Prints a message on failure. Return: 0 or a negative errno.
 */
int splitter__start(const struct options *opts, int *fd, struct splitter **s);

/* Notices, and says, that it has ended, and starts it again; not all the time. Never waits. */
void splitter__watch(struct splitter *s);

/* The recording has ended: waits until the writer has handed all of it over. */
void splitter__drain(struct splitter *s, struct writer *w);

/* Waits for the child; the pipe is closed. Return: whether the recording's end is in a file. */
bool splitter__finish(struct splitter *s);

const struct splitter_stats *splitter__stats(const struct splitter *s);
void splitter__free(struct splitter *s);

#endif /* XPU_LOADER_SPLITTER_H */
