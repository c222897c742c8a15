// SPDX-License-Identifier: GPL-3.0-or-later
#include "write/format.h"

#include <stdlib.h>
#include <string.h>

#include "suffix.h"
#include "util.h"

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

const char *const *format__suffixes(void)
{
#define SUFFIX(id, name, suffix)	suffix,
	static const char *const suffixes[] = { FORMATS(SUFFIX) NULL };
#undef SUFFIX

	return suffixes;
}

bool format__compresses(const struct named_format *f, const char *path)
{
	/* Do not compress recordings, directories, or formats that are already compressed. */
	return path && has_suffix(path, ".gz") && !f->format->imported &&
	       !has_suffix(f->suffix, "/") && !has_suffix(f->suffix, ".gz");
}

static const struct named_format *format__of_suffix(const char *suffix)
{
	const struct named_format *f = formats;

	while (strcmp(f->suffix, suffix))
		f++;
	return f;
}

const struct named_format *format__of_file(const char *path)
{
	const char *suffix = suffix__of(path, format__suffixes());
	const struct named_format *f = NULL;
	char *plain;

	if (suffix)
		return format__of_suffix(suffix);
	if (!has_suffix(path, ".gz"))
		return NULL;
	plain = strndup(path, strlen(path) - 3);
	suffix = plain ? suffix__of(plain, format__suffixes()) : NULL;
	free(plain);
	if (suffix)
		f = format__of_suffix(suffix);
	return f && format__compresses(f, path) ? f : NULL;
}

const char *write_opts__page_unit(const struct write_opts *o)
{
	static const char *const names[] = {
		[UNIT_NS] = "ns", [UNIT_US] = "\u00b5s", [UNIT_MS] = "ms", [UNIT_COUNT] = "count",
		[UNIT_BYTES] = "bytes",
	};

	return o->unit_given ? names[o->unit] : "auto";
}
