// SPDX-License-Identifier: GPL-3.0-or-later
#include "write/format.h"

#include <string.h>

#define LIST(id, name, suffix)		{ name, suffix, &id##_format },

const struct named_format formats[] = {
	FORMATS(LIST)
	{ NULL, NULL, NULL },
};

const struct named_format *format__find(const char *name)
{
	const struct named_format *f;

	for (f = formats; f->name; f++)
		if (!strcmp(f->name, name))
			return f;
	return NULL;
}

const struct named_format *format__named(const struct format *format)
{
	const struct named_format *f = formats;

	while (f->format != format)
		f++;
	return f;
}

const struct named_format *format__of_file(const char *path)
{
	const struct named_format *f, *best = NULL;
	size_t len = strlen(path), suffix;

	for (f = formats; f->name; f++) {
		suffix = strlen(f->suffix);
		if (len > suffix && !strcmp(path + len - suffix, f->suffix) &&
		    (!best || suffix > strlen(best->suffix)))
			best = f;
	}
	return best;
}
