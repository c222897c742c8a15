/* SPDX-License-Identifier: MIT */
/* own_files.h - finds xpuload's own files: installed, portable or in a build tree */
#ifndef LIB_OWN_FILES_H
#define LIB_OWN_FILES_H

#include <stddef.h>

/**
 * own_files__find - find a file that belongs to xpuload
 * @name: "libxpushim.so", "xpumerge" or "fold.sh"
 * @path: filled in, absolute; @len bytes
 *
 * Looks next to xpuload, where a build has these files, and in ../lib/xpuload, where an
 * installation has them.
 *
 * Return: 0, -ENOENT, or -ENAMETOOLONG.
 */
int own_files__find(const char *name, char *path, size_t len);

#endif /* LIB_OWN_FILES_H */
