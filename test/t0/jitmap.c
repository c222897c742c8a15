// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * perf-PID.map: good lines, bad lines, and code that replaced other code.
 */
#include <stdlib.h>
#include <string.h>

#include "symbols/jitmap.h"
#include "tap.h"

static struct jitmap map;

static void parse(const char *text)
{
	jitmap__free(&map);
	if (jitmap__parse(&map, strdup(text), strlen(text)))
		bail("out of memory");
}

/* Return: the name at @addr, as it is shown. */
static const char *at(uint64_t addr)
{
	const struct jit_symbol *s = jitmap__find(&map, addr);
	static char text[64];

	snprintf(text, sizeof(text), "%s%s", s ? s->name : "",
		 s && s->uncertain ? JIT_UNCERTAIN : "");
	return text;
}

int main(void)
{
	parse("1000 20 first\n2000 10 LazyCompile:~f /a b.js:1\n1020 8 second\n");
	is_str(at(0x1000), "first", "the first byte of a function has its name");
	is_str(at(0x101f), "first", "the last byte of a function has its name");
	is_str(at(0x1020), "second", "a function whose line is out of order is found");
	is_str(at(0x1028), "", "an address between functions has no name");
	is_str(at(0xfff), "", "an address before all functions has no name");
	is_str(at(0x200f), "LazyCompile:~f /a b.js:1", "a name may have spaces");
	is_str(at(UINT64_MAX), "", "the last address belongs to the last function");

	parse("1000 100 old\n1040 20 inner\n1000 80 new\n");
	is_str(at(0x1000), "new (?)", "of two functions at one address the later one is uncertain");
	is_str(at(0x1050), "new (?)", "the later function replaces functions that begin after it");
	is_str(at(0x1080), "old", "after the later function, the older one is certain");
	is_str(at(0x1100), "", "an address after both functions has no name");

	parse("1000 100 same\n1000 100 same\n1100 40 a\n1120 40 b\n");
	is_str(at(0x1000), "same", "a function that is written twice is certain");
	is_str(at(0x111f), "a", "a function is certain before a later one begins");
	is_str(at(0x1120), "b (?)", "a function that covers the end of another is uncertain there");
	is_str(at(0x1140), "b",
	       "a function is certain after the end of the function that it overlaps");

	parse("0x1000 0x10 hex\nnonsense\n1010\n1020 10\n1030 10 \n1040 0 empty\n1050 -1 wrap\n"
	      "ffffffffffffffff0 10 long\n1060 10 good\n\n1070 8 last");
	is_str(at(0x1000), "hex", "an address with 0x in front is read");
	is_str(at(0x1010), "", "a line without a size is ignored");
	is_str(at(0x1020), "", "a line without a name is ignored");
	is_str(at(0x1030), "", "a line with an empty name is ignored");
	is_str(at(0x1040), "", "a function of no bytes is ignored");
	is_str(at(0x1050), "", "a function beyond the end of all addresses is ignored");
	is_str(at(0x1060), "good", "lines after invalid lines are read");
	is_str(at(0x1070), "last", "the last line needs no newline");
	is_int(map.symbols.nr, 3, "no other functions are read");

	parse("");
	is_str(at(0x1000), "", "an empty file has no names");
	jitmap__free(&map);
	return done_testing();
}
