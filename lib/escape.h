/* SPDX-License-Identifier: MIT */
/*
 * escape.h - makes names from other people's files safe to print
 *
 * Such names may hold control characters, terminal escapes and bytes that are not UTF-8. Every name
 * is printed through these functions. In all outputs, each byte that is not UTF-8 becomes a U+FFFD.
 */
#ifndef LIB_ESCAPE_H
#define LIB_ESCAPE_H

#include <stddef.h>
#include <stdio.h>

enum escape {
	/*
	 * For people to read: control characters become '?', including bidirectional controls,
	 * which make a terminal show text in another order.
	 */
	ESCAPE_TEXT,
	/* A frame of a folded line: like TEXT, but ';' becomes ':', since ';' separates frames. */
	ESCAPE_FOLDED,
	/*
	 * Inside the quotes of a JSON string: \", \\, and \uXXXX for each character that becomes
	 * '?' in TEXT.
	 */
	ESCAPE_JSON,
	/*
	 * Inside a JSON string in a script element of HTML: like JSON, but '<' is escaped, too, so
	 * that no text can end the element.
	 */
	ESCAPE_SCRIPT,
};

#define ESCAPE_MAX	8		/* bytes of output for a character, NUL included */

/**
 * escape__next - take one character off a string
 * @s: moved past the character
 * @how: the kind of output
 * @out: set to the text to print for the character, with a NUL
 *
 * Return: length of @out, 0 at the end of the string.
 */
size_t escape__next(const char **s, enum escape how, char out[ESCAPE_MAX]);

/*
 * Return: how many bytes at @s are certain to be printed unchanged in all outputs. The bytes after
 * them may be unchanged, too.
 */
size_t escape__plain(const char *s);

/* Prints all of @s. A failed write sets the error flag of @f. */
void escape__print(FILE *f, const char *s, enum escape how);

/*
 * Copies as many whole characters of @s as fit, and a NUL, into @to, which has @len bytes (not 0).
 * Return: the length of the copy, without the NUL.
 */
size_t escape__line(char *to, size_t len, const char *s, enum escape how);

#endif /* LIB_ESCAPE_H */
