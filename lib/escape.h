/* SPDX-License-Identifier: MIT */
/*
 * escape.h - makes names from outside safe for the output that they are printed to
 *
 * Names come out of other people's files: they may hold control characters, terminal escapes and
 * bytes that are not UTF-8. Every name is printed through here. Bytes that are not UTF-8 become
 * U+FFFD, one for each byte, in all outputs.
 */
#ifndef LIB_ESCAPE_H
#define LIB_ESCAPE_H

#include <stddef.h>
#include <stdio.h>

enum escape {
	/*
	 * For people: control characters become '?', and so do bidirectional controls, which make a
	 * terminal show text in another order.
	 */
	ESCAPE_TEXT,
	/* A frame of a folded line: as TEXT, and ';', which separates frames, becomes ':'. */
	ESCAPE_FOLDED,
	/* Inside the quotes of a JSON string: \", \\, and \uXXXX for all that TEXT has as '?'. */
	ESCAPE_JSON,
	/*
	 * Inside a JSON string in a script element of HTML: as JSON, but without '<', so that no
	 * text can end the element.
	 */
	ESCAPE_SCRIPT,
};

#define ESCAPE_MAX	8		/* bytes that one character may become, NUL included */

/**
 * escape__next - take one character off a string
 * @s: advanced behind it
 * @how: the kind of output
 * @out: what to print for it, NUL-terminated
 *
 * Return: length of @out, 0 at the end of the string.
 */
size_t escape__next(const char **s, enum escape how, char out[ESCAPE_MAX]);

/* Return: how many bytes at @s all outputs print unchanged. More such bytes may follow them. */
size_t escape__plain(const char *s);

/* Prints all of @s; errors stay in @f's error flag. */
void escape__print(FILE *f, const char *s, enum escape how);

/*
 * Puts @s into @to, of @len bytes (not 0), as far as whole characters fit, with a NUL. Return: the
 * bytes before the NUL.
 */
size_t escape__line(char *to, size_t len, const char *s, enum escape how);

#endif /* LIB_ESCAPE_H */
