// SPDX-License-Identifier: MIT
#include "push_url.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *prefix, *path;
} kinds[NR_PUSH_KINDS] = {
	[PUSH_PYROSCOPE] = { "pyroscope+", "/ingest" },
	[PUSH_OTLP] = { "otlp+", "/v1development/profiles" },
	[PUSH_PARCA] = { "parca+", "/profiles/writeraw" },
};

/* Return: whether all of @s is printable ASCII without blanks. */
static bool is_word(const char *s)
{
	for (; *s > ' ' && *s < 0x7f; s++)
		;
	return !*s;
}

const char *push_token__check(const char *token)
{
	if (token && !is_word(token))
		return "expected printable ASCII characters, without spaces and line ends";
	if (token && strlen(token) > PUSH_TOKEN_MAX)
		return "is too long: expected 4000 characters at most";
	return NULL;
}

static bool ends_with(const char *s, size_t len, const char *end)
{
	size_t end_len = strlen(end);

	return len >= end_len && !strncmp(s + len - end_len, end, end_len);
}

const char *push_url__parse(struct push_url *u, const char *text)
{
	const char *at = text, *host;
	enum push_kind kind, found = NR_PUSH_KINDS;
	size_t len;
	bool whole;

	for (kind = 0; kind < NR_PUSH_KINDS; kind++)
		if (!strncmp(text, kinds[kind].prefix, strlen(kinds[kind].prefix))) {
			found = kind;
			at = text + strlen(kinds[kind].prefix);
		}
	if (strncmp(at, "http://", 7) && strncmp(at, "https://", 8))
		return "expected pyroscope+http://, otlp+http:// or parca+http://, or https";
	host = strstr(at, "//") + 2;
	if (!*host || *host == '/' || !is_word(at) || strpbrk(at, "\"<>\\^`{|}?#"))
		return "expected a host, with at most a path after it";
	if (strchr(host, '@'))
		return "other users can see a password in a command line: set XPULOAD_PUSH_TOKEN "
		       "instead";
	for (len = strlen(at); at[len - 1] == '/'; len--)
		;
	for (kind = 0; kind < NR_PUSH_KINDS && found == NR_PUSH_KINDS; kind++)
		if (ends_with(at, len, kinds[kind].path))
			found = kind;
	if (found == NR_PUSH_KINDS)
		return "expected a path of /ingest (Pyroscope), /v1development/profiles "
		       "(OpenTelemetry) or /profiles/writeraw (Parca), or pyroscope+, otlp+ or "
		       "parca+ before http";
	u->kind = found;
	whole = ends_with(at, len, kinds[found].path);
	if ((size_t)snprintf(u->url, sizeof(u->url), "%.*s%s", (int)len, at,
			     whole ? "" : kinds[found].path) >= sizeof(u->url))
		return "is too long";
	return NULL;
}
