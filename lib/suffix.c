// SPDX-License-Identifier: MIT
#include "suffix.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "cmdline.h"
#include "util.h"

const char *suffix__of(const char *path, const char *const *known)
{
	const char *best = NULL;

	for (; *known; known++)
		if (strlen(path) > strlen(*known) && has_suffix(path, *known) &&
		    (!best || strlen(*known) > strlen(best)))
			best = *known;
	return best;
}

/*
 * Suffixes of formats that cannot be written. They resemble no suffix of an output, so each has a
 * text that says which outputs to use instead.
 */
static const struct {
	const char *suffix, *here;
} others[] = {
#define PICTURE	"pictures are .html and, drawn by flamegraph.pl, .svg"
#define REPORT	"only its own tool writes it; timelines are .pftrace and .json"
	{ ".png", PICTURE }, { ".jpg", PICTURE }, { ".jpeg", PICTURE }, { ".gif", PICTURE },
	{ ".pdf", PICTURE }, { ".webp", PICTURE },
	{ ".nsys-rep", REPORT }, { ".qdrep", REPORT }, { ".ncu-rep", REPORT },
	{ ".nvvp", REPORT }, { ".sqlite", REPORT },
};

/* Return: the text in others[] for the suffix of @name, even if more letters follow it; or NULL. */
static const char *replacement(const char *name)
{
	const char *dot = strrchr(name, '.');
	size_t i;

	for (i = 0; dot && i < ARRAY_SIZE(others); i++)
		if (!strncmp(dot, others[i].suffix, strlen(others[i].suffix)))
			return others[i].here;
	return NULL;
}

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

const char *suffix__looks_like(const char *path)
{
	const char *name = file_name(path), *dot = strrchr(name, '.'), *at;

	if (!dot || dot == name || !isalpha((unsigned char)dot[1]))
		return NULL;
	for (at = dot + 1; isalnum((unsigned char)*at); at++)
		;
	return *at && !replacement(name) ? NULL : dot;
}

/* Return: the distance between two suffixes; 0 if one begins with the other. */
static size_t suffix__distance(const char *suffix, const char *known)
{
	size_t len = strlen(suffix), known_len = strlen(known);

	if (known_len > CMDLINE_MAX_NAME || known_len < 2)
		return SIZE_MAX;
	if (len > 2 && !strncmp(suffix, known, min_t(size_t, len, known_len)))
		return 0;
	return cmdline__distance(suffix, known);
}

const char *suffix__meant(const char *path, const char *const *known, char *buf, size_t size)
{
	const char *name = file_name(path), *last = strrchr(name, '.'), *meant = NULL, *dot;
	size_t best = SIZE_MAX, d, i;

	*buf = '\0';
	if (!last)
		return buf;
	if (replacement(name)) {
		snprintf(buf, size, "%s", replacement(name));
		return buf;
	}
	/* Suffixes may have several dots: try both ".cupti.json" and ".json". */
	for (dot = strchr(name, '.'); dot; dot = strchr(dot + 1, '.')) {
		for (i = 0; known[i]; i++) {
			d = suffix__distance(dot, known[i]);
			if (d < best && d <= strlen(dot) / 3) {
				best = d;
				meant = known[i];
			}
		}
	}
	if (meant)
		snprintf(buf, size, "perhaps %s", meant);
	return buf;
}
