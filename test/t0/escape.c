// SPDX-License-Identifier: GPL-3.0-or-later
/* Names from outside are escaped for the output in which they are printed. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "escape.h"
#include "tap.h"

static const char *escaped(const char *s, enum escape how)
{
	static char text[256];
	char out[ESCAPE_MAX];
	size_t len, nr = 0;

	while ((len = escape__next(&s, how, out))) {
		if (strlen(out) != len || len >= ESCAPE_MAX)
			return "(wrong length)";
		memcpy(text + nr, out, len);
		nr += len;
	}
	text[nr] = 0;
	return text;
}

#define FFFD	"\xef\xbf\xbd"

/* Return: whether escaping leaves the bytes unchanged. */
static bool passes(const char *s)
{
	return !strcmp(escaped(s, ESCAPE_TEXT), s);
}

static void test_utf8(void)
{
	static const char *const bad[] = {
		"\x80", "\xbf", "\xc0\xaf", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80",
		"\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "\xc3",
		"\xe2\x82", "\xf0\x9f\x92",
	};
	size_t i, k;
	char expected[64];

	ok(passes("plain ASCII ~"), "plain ASCII stays");
	ok(passes("\xc2\xa0"), "U+00A0, the first character after the control characters, stays");
	ok(passes("\xc3\xa9\xe2\x82\xac\xf0\x9f\x92\xa9"), "characters of 2, 3 and 4 bytes stay");
	ok(passes("\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"),
	   "the first and last characters of all ranges stay");
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		expected[0] = 0;
		for (k = 0; k < strlen(bad[i]); k++)
			strcat(expected, FFFD);
		is_str(escaped(bad[i], ESCAPE_JSON), expected,
		       "bytes that are not UTF-8 are replaced, %zu", i);
	}
	is_str(escaped("a\xe2\x82z", ESCAPE_TEXT), "a" FFFD FFFD "z",
	       "each byte of a cut character is replaced, and the next character stays");
}

static void test_script(void)
{
	is_str(escaped("</script>\"\\\n", ESCAPE_SCRIPT), "\\u003c/script>\\\"\\\\\\u000a",
	       "JSON in a script has nothing that could end the script");
	is_str(escaped("a<b>", ESCAPE_JSON), "a<b>", "outside of scripts JSON does not escape '<'");
}

/*
 * Printing writes whole runs of characters. The output must be the same as if the characters were
 * printed one by one.
 */
static void test_print(enum escape how)
{
	int c, nr_wrong = 0;

	for (c = 1; c < 256; c++) {
		const char text[] = { 'a', c, 'b', c, c, 0 };
		char *printed = NULL;
		size_t size = 0;
		FILE *f = open_memstream(&printed, &size);

		escape__print(f, text, how);
		fclose(f);
		nr_wrong += strcmp(printed, escaped(text, how)) != 0;
		free(printed);
	}
	is_int(nr_wrong, 0, "printing equals escaping for all bytes, %d", how);
}

int main(void)
{
	test_print(ESCAPE_TEXT);
	test_print(ESCAPE_FOLDED);
	test_print(ESCAPE_JSON);
	test_print(ESCAPE_SCRIPT);
	test_script();
	FILE *f;
	char *buf = NULL, line[6];
	size_t size = 0;

	test_utf8();
	is_str(escaped("a;b\nc\x1b[31m\x7f d", ESCAPE_FOLDED), "a:b?c?[31m? d",
	       "a folded file's special characters are replaced");
	is_str(escaped("a;b\nc\x1b[31m\x7f d", ESCAPE_TEXT), "a;b?c?[31m? d",
	       "a text's control characters are replaced");
	is_str(escaped("\xc2\x9b" "31m", ESCAPE_TEXT), "?31m",
	       "a control character of the C1 set is replaced");
	is_str(escaped("a\xe2\x80\xae" "b\xe2\x81\xa6" "c\xd8\x9c" "d\xe2\x80\x8f", ESCAPE_TEXT),
	       "a?b?c?d?", "characters that change the order of text are replaced");
	ok(passes("\xe2\x80\x90\xe2\x81\xaa\xd8\x9b\xe2\x80\xa7"),
	   "characters next to characters that change the order of text stay");
	is_str(escaped("a\xe2\x80\xae" "b\xe2\x81\xa6" "c\xd8\x9c" "d\xe2\x80\x8f", ESCAPE_JSON),
	       "a\\u202eb\\u2066c\\u061cd\\u200f",
	       "for programs, characters that change the order of text are escaped");
	is_int(escape__line(line, sizeof(line), "ab\x1b\xe2\x82\xac", ESCAPE_TEXT), 3,
	       "escape__line() writes whole characters that fit");
	is_str(line, "ab?", "escape__line() ends the line with a NUL");
	is_str(escaped("q\"b\\n\nt\tc\x01\x7f\xc2\x85", ESCAPE_JSON),
	       "q\\\"b\\\\n\\u000at\\u0009c\\u0001\\u007f\\u0085",
	       "JSON escapes control characters, quotes and backslashes");
	is_str(escaped("", ESCAPE_JSON), "", "an empty text stays empty");
	f = open_memstream(&buf, &size);
	escape__print(f, "a;\n", ESCAPE_FOLDED);
	fclose(f);
	is_str(buf, "a:?", "a printed text is escaped");
	free(buf);
	return done_testing();
}
