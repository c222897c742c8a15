/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * escape.h - names from outside, made safe for where they are printed
 *
 * Names come out of other people's files: they may hold control characters, terminal escapes and
 * bytes that are no UTF-8. Everything is printed through here. Bytes that are no UTF-8 become
 * U+FFFD, one for each byte, in all outputs.
 */
#ifndef MERGE_ESCAPE_H
#define MERGE_ESCAPE_H

#include <stddef.h>
#include <stdio.h>

enum escape {
	/* For people: control characters become '?'. */
	ESCAPE_TEXT,
	/* A frame of a folded line: as TEXT, and ';', which separates frames, becomes ':'. */
	ESCAPE_FOLDED,
	/* Inside the quotes of a JSON string: \", \\ and \u00XX. */
	ESCAPE_JSON,
	/*
	 * The same inside a script element of HTML: no '<', so nothing in it can end the element.
	 */
	ESCAPE_SCRIPT,
};

#define ESCAPE_MAX	8		/* bytes that one character may become, NUL included */

/**
 * escape__next - take one character off a string
 * @s: advanced behind it
 * @how: what for
 * @out: what to print for it, NUL-terminated
 *
 * Return: length of @out, 0 at the end of the string.
 */
size_t escape__next(const char **s, enum escape how, char out[ESCAPE_MAX]);

/*
 * Return: how many bytes at @s are the same in all outputs; there may be more of them behind these.
 */
size_t escape__plain(const char *s);

/* Prints all of @s; errors stay in @f's error flag. */
void escape__print(FILE *f, const char *s, enum escape how);

#endif /* MERGE_ESCAPE_H */
