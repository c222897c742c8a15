// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * fuzz_jitmap - fuzzes /tmp/perf-PID.map, which any process of the user may have written
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/jitmap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct jitmap m = { 0 };
	char *text = malloc(size + 1);
	size_t i;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = 0;
	if (jitmap__parse(&m, text, size))
		abort();
	for (i = 0; i < m.symbols.nr; i++) {
		const struct jit_symbol *s = &m.symbols.v[i];

		/*
		 * Symbols must be sorted and disjoint, lookups must find them, and their names must
		 * lie inside the text.
		 */
		if (s->start >= s->end || (i && s->start < s[-1].end) ||
		    jitmap__find(&m, s->start) != s || jitmap__find(&m, s->end - 1) != s ||
		    s->name < text || s->name + strlen(s->name) > text + size)
			abort();
	}
	jitmap__free(&m);
	return 0;
}
