/* SPDX-License-Identifier: GPL-3.0-or-later */
/* merger.h - xpumerge or fold.sh, run at the end for who asked for its result */
#ifndef XPU_LOADER_MERGER_H
#define XPU_LOADER_MERGER_H

#include <stdbool.h>

struct options;

/**
 * merger__run - make what opts->output names of the recording
 *
 * It runs as the user who called sudo, for it parses other people's files, and with the signals
 * that xpuload was started with: Ctrl-C ends it. What goes wrong is said.
 *
 * Return: whether it did.
 */
bool merger__run(const struct options *opts);

#endif /* XPU_LOADER_MERGER_H */
