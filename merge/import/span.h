/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MERGE_SPAN_H
#define MERGE_SPAN_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A part of a buffer. The span does not own the buffer, and has no terminating NUL. */
struct span {
	const char *s;
	size_t len;
};

static inline bool span__is(struct span a, const char *s)
{
	return a.len == strlen(s) && !memcmp(a.s, s, a.len);
}

static inline struct span span__of(const char *s)
{
	return (struct span){ s, strlen(s) };
}

/* Return: the number in a text such as "0x7f"; 0 if the text has another form. */
static inline uint64_t span__hex(struct span s)
{
	uint64_t v = 0;
	size_t i;

	if (s.len < 3 || s.len > 18 || s.s[0] != '0' || s.s[1] != 'x')
		return 0;
	for (i = 2; i < s.len; i++) {
		const char *digits = "0123456789abcdef";
		const char *at = memchr(digits, s.s[i] | 0x20, 16);

		if (!at)
			return 0;
		v = v << 4 | (at - digits);
	}
	return v;
}

/* Reads a real number. Return: whether the text is a finite number. */
static inline bool span__real(struct span s, double *value)
{
	char text[64], *end;

	if (!s.len || s.len >= sizeof(text))
		return false;
	memcpy(text, s.s, s.len);
	text[s.len] = 0;
	*value = strtod(text, &end);
	return end == text + s.len && isfinite(*value);
}

/* Return: the text of a file, without the byte order mark that some editors insert at its start. */
static inline struct span span__text(const char *buf, size_t size)
{
	size_t mark = size >= 3 && !memcmp(buf, "\xef\xbb\xbf", 3) ? 3 : 0;

	return (struct span){ buf + mark, size - mark };
}

/* Removes @prefix from the start of a text. Return: whether the text started with @prefix. */
static inline bool drop_prefix(const char **s, size_t *len, const char *prefix)
{
	size_t n = strlen(prefix);

	if (*len < n || memcmp(*s, prefix, n))
		return false;
	*s += n;
	*len -= n;
	return true;
}

static inline bool ends_with(const char *s, size_t len, const char *suffix)
{
	size_t n = strlen(suffix);

	return len > n && !memcmp(s + len - n, suffix, n);
}

#endif /* MERGE_SPAN_H */
