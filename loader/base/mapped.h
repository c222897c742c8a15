/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * mapped.h - the files of another process, opened with O_PATH: to be looked at by somebody else
 *
 * Nothing happens to the file by that, whatever it is; not even a file system of the process's own
 * can hold it up.
 */
#ifndef XPU_LOADER_MAPPED_H
#define XPU_LOADER_MAPPED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/*
 * Opens what @pid sees at @path, whatever links its root directory holds. @cached: never waits for a
 * file system; before Linux 5.12 it may. Return: -1 and errno; EAGAIN if it would have to wait.
 */
int mapped__open_in_root(pid_t pid, const char *path, int flags, bool cached);

/*
 * Opens the file behind a mapping, which is called @path there, be it unlinked. That takes
 * privileges; the path is next best. @cached: as above. Return: -1 and errno.
 */
int mapped__open(pid_t pid, uint64_t start, uint64_t len, const char *path, bool cached);

/* Opens what is at @path for this process itself. @cached: without waiting, as above. */
int mapped__open_here(const char *path, bool cached);

/* As fstat(), by what is known already: a file system is not asked. Return: 0 or a negative errno. */
int mapped__stat(int fd, struct stat *st);

#endif /* XPU_LOADER_MAPPED_H */
