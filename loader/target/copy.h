/* SPDX-License-Identifier: GPL-3.0-or-later */
/* copy.h - a copy of a file that somebody else may have made to do harm */
#ifndef XPU_LOADER_COPY_H
#define XPU_LOADER_COPY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/**
 * copy__file - copy all of a plain file, with its holes
 * @from, @to: both from their beginning; @to is empty
 * @max_bytes: of data; and never more than half of what is free where @to is
 * @stop: looked at now and then
 * @bytes: of data copied, also on failure
 *
 * Return: 0, -EFBIG beyond @max_bytes, -ENOSPC beyond half of what is free, -EINTR if @stop became
 * true, or what reading or writing failed with.
 */
int copy__file(int from, int to, uint64_t max_bytes, const atomic_bool *stop, uint64_t *bytes);

#endif /* XPU_LOADER_COPY_H */
