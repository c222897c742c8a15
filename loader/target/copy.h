/* SPDX-License-Identifier: GPL-3.0-or-later */
/* copy.h - copies a file that may be malicious */
#ifndef XPU_LOADER_COPY_H
#define XPU_LOADER_COPY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/**
 * copy__file - copy a plain file, with its holes
 * @from: a descriptor, read from the beginning of the file
 * @to: a descriptor of an empty file
 * @max_bytes: maximum bytes of data to copy; the copy also takes at most half of the free space of
 * @to's file system
 * @stop: checked after every few MB
 * @bytes: set to the number of copied bytes, even on failure
 *
 * Return: 0, -EFBIG beyond @max_bytes, -ENOSPC beyond half of the free space, -EINTR if @stop
 * became true, or the negative errno of a read or write.
 */
int copy__file(int from, int to, uint64_t max_bytes, const atomic_bool *stop, uint64_t *bytes);

#endif /* XPU_LOADER_COPY_H */
