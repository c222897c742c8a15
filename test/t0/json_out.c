// SPDX-License-Identifier: MIT
/*
 * JSON written value by value: commas, lines, escapes, numbers, and texts longer than the buffer.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json_out.h"
#include "tap.h"

static char *text;
static size_t size;
static FILE *f;
static struct json_out j;

static void begin(enum escape how)
{
	f = open_memstream(&text, &size);
	if (!f || json_out__init(&j, f, how))
		exit(2);
}

/* Ends the text and compares it with @want. */
static void is_json(const char *want, const char *name)
{
	json_out__exit(&j);
	fclose(f);
	is_str(text, want, "%s", name);
	free(text);
}

static void put_values(void)
{
	json_out__open(&j, '{');
	json_out__key(&j, "a");
	json_out__open(&j, '[');
	json_out__u64(&j, 0);
	json_out__u64(&j, UINT64_MAX);
	json_out__literal(&j, "null");
	json_out__close(&j, ']');
	json_out__key(&j, "b");
	json_out__open(&j, '{');
	json_out__close(&j, '}');
	json_out__key_u64(&j, 12);
	json_out__word(&j, "w");
	json_out__key(&j, "s");
	json_out__open_string(&j);
	json_out__add(&j, "pid ");
	json_out__add_u64(&j, 7);
	json_out__close_string(&j);
	json_out__key(&j, "t");
	json_out__thousandths(&j, 1002030);
	json_out__key(&j, "u");
	json_out__thousandths(&j, 4);
	json_out__key(&j, "d");
	json_out__open(&j, '[');
	json_out__double(&j, 1.0 / 3, 6);
	json_out__double(&j, -1e300, 3);
	json_out__double(&j, NAN, 6);
	json_out__double(&j, INFINITY, 6);
	json_out__close(&j, ']');
	json_out__close(&j, '}');
}

static void test_values(void)
{
	begin(ESCAPE_JSON);
	put_values();
	is_json("{\"a\":[0,18446744073709551615,null],\"b\":{},\"12\":\"w\",\"s\":\"pid 7\","
		"\"t\":1002.030,\"u\":0.004,"
		"\"d\":[0.333333,-1e+300,null,null]}", "values and commas are written");
	begin(ESCAPE_JSON);
	j.spaced = true;
	put_values();
	is_json("{\"a\": [0, 18446744073709551615, null], \"b\": {}, \"12\": \"w\", "
		"\"s\": \"pid 7\", \"t\": 1002.030, \"u\": 0.004, "
		"\"d\": [0.333333, -1e+300, null, null]}",
		"values are written with blanks");
}

static void test_lines(void)
{
	unsigned int i;

	begin(ESCAPE_JSON);
	j.spaced = true;
	json_out__open(&j, '[');
	for (i = 0; i < 3; i++) {
		json_out__line(&j, i);
		json_out__u64(&j, i);
	}
	json_out__u64(&j, i);
	json_out__end_line(&j);
	json_out__close(&j, ']');
	json_out__end_line(&j);
	is_json("[\n0,\n 1,\n  2, 3\n]\n", "values are written on lines");
}

static void test_escapes(void)
{
	begin(ESCAPE_JSON);
	json_out__string(&j, "a\"b\\c\n\x01</script>\xff\xc3\xa9");
	is_json("\"a\\\"b\\\\c\\u000a\\u0001</script>\xef\xbf\xbd\xc3\xa9\"",
		"strings are escaped");
	begin(ESCAPE_SCRIPT);
	json_out__string(&j, "</script>");
	is_json("\"\\u003c/script>\"", "strings in a script are escaped");
}

/* Tests values of all sizes around the end of the buffer, and longer strings. */
static void test_buffer(void)
{
	char *name = malloc(3 * JSON_OUT_BYTES), *want, *p;
	size_t len, i, wrong = 0;

	want = malloc(8 * JSON_OUT_BYTES);
	if (!name || !want)
		exit(2);
	for (len = JSON_OUT_BYTES - 40; len < JSON_OUT_BYTES + 4; len++) {
		memset(name, 'k', len);
		name[len] = 0;
		p = want + sprintf(want, "[\"%s\"", name);
		begin(ESCAPE_JSON);
		json_out__open(&j, '[');
		json_out__string(&j, name);
		for (i = 0; i < 20; i++) {
			p += sprintf(p, ",%zu,\"word\",{\"key\":%zu.000}", i, i);
			json_out__u64(&j, i);
			json_out__word(&j, "word");
			json_out__open(&j, '{');
			json_out__key(&j, "key");
			json_out__thousandths(&j, 1000 * i);
			json_out__close(&j, '}');
		}
		strcpy(p, "]");
		json_out__close(&j, ']');
		json_out__exit(&j);
		fclose(f);
		wrong += !!strcmp(text, want);
		free(text);
	}
	is_int(wrong, 0,
	       "texts around the end of the buffer are written: texts of %zu lengths", (size_t)44);
	memset(name, 'k', 3 * JSON_OUT_BYTES - 1);
	name[3 * JSON_OUT_BYTES - 1] = 0;
	sprintf(want, "[1,\"%s\",2]", name);
	begin(ESCAPE_JSON);
	json_out__open(&j, '[');
	json_out__u64(&j, 1);
	json_out__string(&j, name);
	json_out__u64(&j, 2);
	json_out__close(&j, ']');
	json_out__exit(&j);
	fclose(f);
	ok(!strcmp(text, want), "a string of %d bytes is written", 3 * JSON_OUT_BYTES - 1);
	free(text);
	free(want);
	free(name);
}

int main(void)
{
	test_values();
	test_lines();
	test_escapes();
	test_buffer();
	return done_testing();
}
