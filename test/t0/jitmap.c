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

static const char *at(uint64_t addr)
{
	const struct jit_symbol *s = jitmap__find(&map, addr);

	return s ? s->name : "";
}

int main(void)
{
	parse("1000 20 first\n2000 10 LazyCompile:~f /a b.js:1\n1020 8 second\n");
	is_str(at(0x1000), "first", "its first byte");
	is_str(at(0x101f), "first", "its last");
	is_str(at(0x1020), "second", "the next, out of order in the file");
	is_str(at(0x1028), "", "a gap");
	is_str(at(0xfff), "", "before all");
	is_str(at(0x200f), "LazyCompile:~f /a b.js:1", "a name with spaces");
	is_str(at(UINT64_MAX), "", "behind all");

	parse("1000 100 old\n1040 20 inner\n1000 80 new\n");
	is_str(at(0x1000), "new", "one start: what was written last");
	is_str(at(0x103f), "new", "up to the next");
	is_str(at(0x1050), "inner", "which has its own");
	is_str(at(0x1060), "", "and ends the one before");

	parse("0x1000 0x10 hex\nnonsense\n1010\n1020 10\n1030 10 \n1040 0 empty\n1050 -1 wrap\n"
	      "ffffffffffffffff0 10 long\n1060 10 good\n\n1070 8 last");
	is_str(at(0x1000), "hex", "0x in front");
	is_str(at(0x1010), "", "no size");
	is_str(at(0x1020), "", "no name");
	is_str(at(0x1030), "", "an empty one");
	is_str(at(0x1040), "", "no bytes");
	is_str(at(0x1050), "", "beyond the end of all addresses");
	is_str(at(0x1060), "good", "bad lines do not harm good ones");
	is_str(at(0x1070), "last", "the last one, without its newline");
	is_int(map.symbols.nr, 3, "and no more");

	parse("");
	is_str(at(0x1000), "", "an empty file");
	jitmap__free(&map);
	return done_testing();
}
