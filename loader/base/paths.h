/* SPDX-License-Identifier: GPL-3.0-or-later */
/* paths.h - where xpuload's own files are: installed, portable or in a build tree */
#ifndef XPU_LOADER_PATHS_H
#define XPU_LOADER_PATHS_H

#include <stddef.h>

/**
 * paths__find - find a file that belongs to xpuload
 * @name: "libxpushim.so", "xpumerge" or "fold.sh"
 * @path: filled in, absolute; @len bytes
 *
 * Looks beside xpuload, as in a build, and in ../lib/xpuload, as installed.
 *
 * Return: 0, -ENOENT, or -ENAMETOOLONG.
 */
int paths__find(const char *name, char *path, size_t len);

#endif /* XPU_LOADER_PATHS_H */
