/* SPDX-License-Identifier: GPL-3.0-or-later */
/* merger.h - runs xpumerge or fold.sh after the recording, if -o asks for results */
#ifndef XPU_LOADER_MERGER_H
#define XPU_LOADER_MERGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct options;

/* Return: how many results to make of each window. */
size_t merger__nr_results(const struct options *opts);

/* Return: whether there are results to make. */
bool merger__wanted(const struct options *opts);

/**
 * merger__run - make the results of -o from the recording
 * @nr_windows: with --capture-end repeat, the number of windows, each with its own results
 *
 * The merger runs as the user who called sudo, because it parses other people's files. It has the
 * signal handling that xpuload was started with, so Ctrl-C ends it. Prints a message on failure.
 *
 * Return: whether all results are written and complete.
 */
bool merger__run(const struct options *opts, uint32_t nr_windows);

#endif /* XPU_LOADER_MERGER_H */
