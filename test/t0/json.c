// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * JSON strings: where they end, and which characters they contain.
 */
#include <stdlib.h>
#include <string.h>

#include "import/json.h"
#include "tap.h"

/*
 * Checks the string @text. @meant: its expected value; NULL if @text is not a string. The buffer
 * ends right after @text, so that sanitizers see a read beyond it.
 */
static void check(const char *text, const char *meant)
{
	size_t len = strlen(text);
	char *buf = malloc(len), *out;
	struct span raw = { 0 };
	struct json j;

	if (!buf)
		bail("out of memory");
	memcpy(buf, text, len);
	json__init(&j, buf, len);
	if (!json__string(&j, &raw)) {
		ok(!meant && j.what, "%s: %s", text, j.what ?: "(no reason)");
	} else {
		out = malloc(raw.len + 1);
		if (!out)
			bail("out of memory");
		json_string__decode(raw, out);
		is_str(out, meant ?: "no string", "%s", text);
		free(out);
	}
	free(buf);
}

int main(void)
{
	struct span raw;
	struct json j;
	int64_t value;

	check("\"\"", "");
	check("\"a\"", "a");
	check("\"a name that is longer than a word of the machine\"",
	      "a name that is longer than a word of the machine");
	check("\"\\\"\"", "\"");
	check("\"a\\\"b\"", "a\"b");
	check("\"a\\\\\"", "a\\");
	check("\"a\\\\\\\"b\"", "a\\\"b");
	check("\"\\\\\\\\\"", "\\\\");
	check("\"\\u0041\\n\"", "A\n");
	check("\"", NULL);
	check("\"a", NULL);
	check("\"a\\\"", NULL);
	check("\"\\", NULL);
	check("a\"", NULL);

	/* Bytes before a string are not part of it, and bytes after it are still read. */
	json__init(&j, "\"a\\\\\",\"b\"", 9);
	ok(json__string(&j, &raw) && span__is(raw, "a\\\\") && *j.p == ',',
	   "a string that ends with a backslash ends at its quote");
	j.p++;
	ok(json__string(&j, &raw) && span__is(raw, "b") && j.p == j.end, "the next string is read");

	/*
	 * Python writes these values, which are not JSON: they are not read as numbers, and the
	 * reader continues after them.
	 */
	json__init(&j, "[NaN,-Infinity,Infinity,1]", 26);
	ok(json__enter(&j, '[') && json__next_item(&j) && json__number(&j, &raw) &&
	   !span__decimal(raw, 0, &value), "NaN is not a number");
	ok(json__next_item(&j) && json__skip(&j) && json__next_item(&j) && json__skip(&j),
	   "infinities can be skipped");
	ok(json__next_item(&j) && json__number(&j, &raw) && span__decimal(raw, 0, &value) &&
		   value == 1,
	   "the number behind infinities is read");
	ok(!json__next_item(&j) && !j.what && j.nr_not_finite == 3,
	   "NaN and infinities are counted");
	return done_testing();
}
