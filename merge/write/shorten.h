/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * shorten.h - fits names and call paths into a column so that different texts look different
 *
 * The texts are the cells of one column, and safe for a terminal (escape.h). Widths are in columns
 * of a terminal; some characters take two columns.
 */
#ifndef MERGE_SHORTEN_H
#define MERGE_SHORTEN_H

#include <stddef.h>

#define SHORTEN_FRAME	'\x1f'		/* separates the frames of a call path, root first */

/* Return: the width of a text; frames are shown with " > " between them. */
size_t shorten__width(const char *text);

/**
 * shorten__column - fit the texts of a column
 * @texts: @nr texts; names, or call paths with SHORTEN_FRAME between the frames
 * @width: maximum width of a text, in columns; 0: unlimited
 * @out: set to @nr allocated strings, for the caller to free(), each at most @width wide
 *
 * A name loses its arguments, then its middle; a call path loses its outer frames, but not the
 * frame in which it differs from another path of the column. Return: 0 or -ENOMEM.
 */
int shorten__column(const char *const *texts, size_t nr, size_t width, char **out);

#endif /* MERGE_SHORTEN_H */
