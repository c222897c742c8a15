/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * splitter.h - "xpumerge split", which makes several files of the recording that it gets through a pipe
 *
 * It runs as the user who called xpuload, without privileges, and with the signal handling that xpuload
 * was started with, but for those signals that end a recording: it ends when the pipe does.
 */
#ifndef XPU_LOADER_SPLITTER_H
#define XPU_LOADER_SPLITTER_H

#include <stdbool.h>
#include <sys/types.h>

struct options;

/**
 * splitter__start - start it
 * @opts: output is the pattern of the files' names
 * @fd: set to the pipe, to be written to
 * @pid: set to its process
 *
 * Prints a message on failure. Return: 0 or a negative errno.
 */
int splitter__start(const struct options *opts, int *fd, pid_t *pid);

/* Waits for it; the pipe is closed. Prints nothing: it has said why. Return: whether it succeeded. */
bool splitter__finish(pid_t pid);

#endif /* XPU_LOADER_SPLITTER_H */
