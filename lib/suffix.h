/* SPDX-License-Identifier: MIT */
/* suffix.h - names of files whose suffix picks a format */
#ifndef LIB_SUFFIX_H
#define LIB_SUFFIX_H

#include <stdbool.h>
#include <stddef.h>

/*
 * suffix__of - find the suffix that a name ends with
 * @known: suffixes up to a NULL, such as ".json" and ".cupti.json"; of several the longest is taken
 *
 * Return: one of @known, or NULL. A name that is a suffix and nothing else has none.
 */
const char *suffix__of(const char *path, const char *const *known);

/* Return: what the last dot of the name begins, if it looks like a suffix, with a letter first; or NULL. */
const char *suffix__looks_like(const char *path);

/*
 * Puts what may have been meant by @path, whose suffix is not one of @known, into @buf: "perhaps .pb.gz", or
 * "" if nothing is near. Return: @buf.
 */
const char *suffix__meant(const char *path, const char *const *known, char *buf, size_t size);

#endif /* LIB_SUFFIX_H */
