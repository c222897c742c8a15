// SPDX-License-Identifier: MIT
#include "formats.h"

#include <stdio.h>
#include <string.h>

#include "util.h"

#define WIDTH	86			/* of a line of help */

void formats__suffixes(char *buf, size_t size, const char *without, unsigned int column,
		       unsigned int indent)
{
#define SUFFIX(id, name, suffix)	suffix,
	static const char *const suffixes[] = { FORMATS(SUFFIX) };
#undef SUFFIX
	size_t i, len = 0;

	for (i = 0; i < ARRAY_SIZE(suffixes); i++) {
		if (!strcmp(suffixes[i], without))
			continue;
		if (len && column + strlen(suffixes[i]) + 3 > WIDTH) {
			column = indent;
			len += snprintf(buf + len, size - len, ",\n%*s", (int)indent, "");
		} else if (len) {
			column += 2;
			len += snprintf(buf + len, size - len, ", ");
		}
		column += strlen(suffixes[i]);
		len += snprintf(buf + len, size - len, "%s", suffixes[i]);
	}
}
