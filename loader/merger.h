/* SPDX-License-Identifier: GPL-3.0-or-later */
/* merger.h - runs xpumerge or fold.sh at the end, if the user asked for their result */
#ifndef XPU_LOADER_MERGER_H
#define XPU_LOADER_MERGER_H

#include <stdbool.h>

struct options;

/**
 * merger__run - make the file opts->output from the recording
 *
 * The merger runs as the user who called sudo, because it parses other people's files, and with the
 * signal handling that xpuload was started with: Ctrl-C ends it. Prints a message on failure.
 *
 * Return: whether the file was made.
 */
bool merger__run(const struct options *opts);

#endif /* XPU_LOADER_MERGER_H */
