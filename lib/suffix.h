/* SPDX-License-Identifier: MIT */
/* suffix.h - file names whose suffix selects a format */
#ifndef LIB_SUFFIX_H
#define LIB_SUFFIX_H

#include <stdbool.h>
#include <stddef.h>

/*
 * suffix__of - find the suffix that a name ends with
 * @known: suffixes up to a NULL, such as ".json" and ".cupti.json". The longest suffix that fits is
 *	returned.
 *
 * Return: one of @known, or NULL. A name that is only a suffix counts as a name without one.
 */
const char *suffix__of(const char *path, const char *const *known);

/*
 * Return: the part of the name from the last dot, if it looks like a suffix (a letter, then only
 * letters and digits); otherwise NULL.
 */
const char *suffix__looks_like(const char *path);

/*
 * Puts a hint for @path, whose suffix is not one of @known, into @buf: "perhaps .pb.gz", or "" if
 * no known suffix is close. Return: @buf.
 */
const char *suffix__meant(const char *path, const char *const *known, char *buf, size_t size);

#endif /* LIB_SUFFIX_H */
