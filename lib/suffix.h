/* SPDX-License-Identifier: MIT */
/* suffix.h - file names whose suffix selects a format */
#ifndef LIB_SUFFIX_H
#define LIB_SUFFIX_H

#include <stdbool.h>
#include <stddef.h>

/*
 * suffix__of - find the suffix that a name ends with
 * @known: NULL-terminated list of suffixes such as ".json" and ".cupti.json". The longest suffix
 *	that fits is returned.
 *
 * Return: one of @known, or NULL. A name that is only a suffix counts as a name without a suffix.
 */
const char *suffix__of(const char *path, const char *const *known);

/*
 * Return: the part of the name from the last dot, if it looks like a suffix (a letter, then only
 * letters and digits); otherwise NULL.
 */
const char *suffix__looks_like(const char *path);

/*
 * Writes a hint to @buf, for a @path whose suffix is not in @known: "perhaps .pb.gz", or "" if no
 * known suffix is close. Return: @buf.
 */
const char *suffix__meant(const char *path, const char *const *known, char *buf, size_t size);

#endif /* LIB_SUFFIX_H */
