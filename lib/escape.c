// SPDX-License-Identifier: MIT
#include "escape.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Return: the length of the character at @s; 0 if it is not well-formed UTF-8 (RFC 3629). */
static size_t utf8__len(const unsigned char *s)
{
	size_t len, i;

	if (s[0] < 0x80)
		return 1;
	if (s[0] >= 0xc2 && s[0] <= 0xdf)
		len = 2;
	else if (s[0] >= 0xe0 && s[0] <= 0xef)
		len = 3;
	else if (s[0] >= 0xf0 && s[0] <= 0xf4)
		len = 4;
	else
		return 0;
	/* A NUL is not a continuation byte, so this does not run past the end. */
	for (i = 1; i < len; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	/* Overlong forms, surrogates, and numbers beyond U+10FFFF are not well-formed. */
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return len;
}

/*
 * Whether a terminal acts on this character instead of showing it: the control characters of ASCII,
 * and U+0080..U+009F, which are control characters as well.
 */
static bool is_control(const unsigned char *s)
{
	return s[0] < 0x20 || s[0] == 0x7f || (s[0] == 0xc2 && s[1] < 0xa0);
}

/*
 * Whether this character changes the order in which text is shown, or breaks the line: U+061C,
 * U+200E, U+200F, U+2028..U+202E and U+2066..U+2069.
 */
static bool is_direction(const unsigned char *s)
{
	if (s[0] == 0xd8)
		return s[1] == 0x9c;
	if (s[0] != 0xe2)
		return false;
	if (s[1] == 0x80)
		return s[2] == 0x8e || s[2] == 0x8f || (s[2] >= 0xa8 && s[2] <= 0xae);
	return s[1] == 0x81 && s[2] >= 0xa6 && s[2] <= 0xa9;
}

/* Return: the number of the well-formed character at @s, of 2 or 3 bytes. */
static unsigned int code_point(const unsigned char *s, size_t len)
{
	if (len == 2)
		return (s[0] & 0x1f) << 6 | (s[1] & 0x3f);
	return (s[0] & 0x0f) << 12 | (s[1] & 0x3f) << 6 | (s[2] & 0x3f);
}

size_t escape__next(const char **s, enum escape how, char out[ESCAPE_MAX])
{
	const unsigned char *p = (const unsigned char *)*s;
	bool json = how == ESCAPE_JSON || how == ESCAPE_SCRIPT;
	size_t len = utf8__len(p);

	if (!*p)
		return 0;
	*s += len ? len : 1;
	if (!len) {
		memcpy(out, "\xef\xbf\xbd", 4);
		return 3;
	}
	if (is_control(p) || is_direction(p)) {
		if (json)
			return snprintf(out, ESCAPE_MAX, "\\u%04x",
					len == 1 ? *p : code_point(p, len));
		memcpy(out, "?", 2);
		return 1;
	}
	if (how == ESCAPE_SCRIPT && *p == '<')
		return snprintf(out, ESCAPE_MAX, "\\u%04x", *p);
	if (json && (*p == '"' || *p == '\\')) {
		out[0] = '\\';
		out[1] = *p;
		out[2] = 0;
		return 2;
	}
	memcpy(out, p, len);
	out[len] = 0;
	if (how == ESCAPE_FOLDED && *p == ';')
		out[0] = ':';
	return len;
}

size_t escape__plain(const char *s)
{
	static const bool plain[256] = {
		[' ' ... '!'] = true, ['#' ... ':'] = true, ['=' ... '['] = true,
		[']' ... '~'] = true,
	};
	size_t len = 0;

	while (plain[(unsigned char)s[len]])
		len++;
	return len;
}

void escape__print(FILE *f, const char *s, enum escape how)
{
	char out[ESCAPE_MAX];
	size_t len;

	for (;;) {
		/* Most names need no escapes at all. */
		len = escape__plain(s);
		if (len)
			fwrite(s, 1, len, f);
		s += len;
		len = escape__next(&s, how, out);
		if (!len)
			return;
		fwrite(out, 1, len, f);
	}
}

size_t escape__line(char *to, size_t len, const char *s, enum escape how)
{
	char out[ESCAPE_MAX];
	size_t nr = 0, n;

	while ((n = escape__next(&s, how, out)) && nr + n < len) {
		memcpy(to + nr, out, n);
		nr += n;
	}
	to[nr] = 0;
	return nr;
}
