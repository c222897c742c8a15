/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * namer.h - adds the names of all call paths to a recording that is complete
 *
 * A child, "xpumerge names", looks up the names. It runs as the user who called xpuload, without
 * privileges. It writes blocks to a memory file, and xpuload appends the whole blocks to the
 * recording. So the recording stays unchanged if the child is killed or the disk is full.
 */
#ifndef XPU_LOADER_NAMER_H
#define XPU_LOADER_NAMER_H

#include <stdbool.h>
#include <stdint.h>

struct options;
struct safefile;

/* Return: whether names must be looked up when the recording ends. */
bool namer__wanted(const struct options *opts);

/**
 * namer__run - look up the names and append them
 * @file: the recording, written and closed
 * @bytes: the recording's length; set to the new length
 * @nice: the nice value of the child
 * @is_interrupted: called often; returns true if the user does not want to wait any longer
 *
 * Takes a second at most, unless the user asked for all names. Prints a message on failure.
 */
void namer__run(const struct options *opts, const struct safefile *file, uint64_t *bytes, int nice,
		bool (*is_interrupted)(void *ctx), void *ctx);

#endif /* XPU_LOADER_NAMER_H */
