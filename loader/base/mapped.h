/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * mapped.h - opens another process's files with O_PATH, for an unprivileged thread or process to
 * read
 *
 * Opening with O_PATH has no effect on the file, whatever its kind, and cannot be blocked even by a
 * file system that the process itself runs.
 */
#ifndef XPU_LOADER_MAPPED_H
#define XPU_LOADER_MAPPED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/*
 * Opens the file that @pid sees at @path, with links resolved inside the process's root directory.
 * @cached: never wait for a file system (Linux before 5.12 may wait). Return: the descriptor, or -1
 * and errno; EAGAIN if the call would have to wait.
 */
int mapped__open_in_root(pid_t pid, const char *path, int flags, bool cached);

/*
 * Opens the mapped file that is called @path in the process, even if the file is unlinked. This
 * needs privileges; without privileges, opens the path. @cached: as above. Return: the descriptor,
 * or -1 and errno.
 */
int mapped__open(pid_t pid, uint64_t start, uint64_t len, const char *path, bool cached);

/* Opens the file that this process itself sees at @path. @cached: as above. */
int mapped__open_here(const char *path, bool cached);

/*
 * Like fstat(), but uses only cached attributes, without asking the file system. Return: 0 or a
 * negative errno.
 */
int mapped__stat(int fd, struct stat *st);

#endif /* XPU_LOADER_MAPPED_H */
