/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * mapped.h - the files of another process, opened with O_PATH: to be looked at by somebody else
 *
 * Nothing happens to the file by that, whatever it is; not even a file system of the process's own
 * can hold it up.
 */
#ifndef XPU_LOADER_MAPPED_H
#define XPU_LOADER_MAPPED_H

#include <sys/types.h>

#include "xpu_record.h"

/* Opens what @pid sees at @path, whatever links its own root directory holds. Return: -1 and errno. */
int mapped__open_in_root(pid_t pid, const char *path, int flags);

/* Opens the file behind a mapping, be it unlinked. That takes privileges; its path is next best. */
int mapped__open(const struct xpu_record_mmap *r);

#endif /* XPU_LOADER_MAPPED_H */
