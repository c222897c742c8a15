// SPDX-License-Identifier: GPL-3.0-or-later
#include "import/json.h"

#include "xpu_utf8.h"

void json__init(struct json *j, const char *buf, size_t size)
{
	memset(j, 0, sizeof(*j));
	j->p = buf;
	j->end = buf + size;
}

static bool json__fail(struct json *j, const char *what)
{
	if (!j->what)
		j->what = what;
	return false;
}

static inline void json__blank(struct json *j)
{
	while (j->p < j->end && (*j->p == ' ' || *j->p == '\n' || *j->p == '\t' || *j->p == '\r'))
		j->p++;
}

char json__peek(struct json *j)
{
	if (j->what)
		return 0;
	json__blank(j);
	if (j->p == j->end) {
		json__fail(j, "ends in the middle");
		return 0;
	}
	switch (*j->p) {
	case '{': case '[': case '"': case '-': case '0' ... '9': case 't': case 'f': case 'n':
	case 'N': case 'I':
		return *j->p;
	}
	json__fail(j, "no JSON value");
	return 0;
}

bool json__enter(struct json *j, char open)
{
	if (json__peek(j) != open)
		return json__fail(j, open == '{' ? "no object" : "no array");
	if (j->depth == JSON_DEPTH)
		return json__fail(j, "nested too deeply");
	j->p++;
	j->first[j->depth] = true;
	j->close[j->depth++] = open == '{' ? '}' : ']';
	return true;
}

/* Return: whether another member follows. If not, consumes the closing bracket. */
static bool json__next(struct json *j)
{
	uint32_t top = j->depth - 1;

	if (j->what)
		return false;
	json__blank(j);
	if (j->p == j->end)
		return json__fail(j, "ends in the middle");
	if (*j->p == j->close[top]) {
		j->p++;
		j->depth--;
		return false;
	}
	if (!j->first[top]) {
		if (*j->p != ',')
			return json__fail(j, "missing comma between values");
		j->p++;
		json__blank(j);
		/* Some programs write a comma after the last value. */
		if (j->p < j->end && *j->p == j->close[top]) {
			j->p++;
			j->depth--;
			return false;
		}
	}
	j->first[top] = false;
	return true;
}

bool json__next_item(struct json *j)
{
	return json__next(j);
}

bool json__next_key(struct json *j, struct span *key)
{
	if (!json__next(j) || !json__string(j, key))
		return false;
	json__blank(j);
	if (j->p == j->end || *j->p != ':')
		return json__fail(j, "missing colon after a key");
	j->p++;
	return true;
}

/*
 * Return: whether the quote at @p is escaped in the string that starts at @s: an odd number of
 * backslashes precedes an escaped quote.
 */
static inline bool is_escaped(const char *s, const char *p)
{
	const char *q = p;

	while (q > s && q[-1] == '\\')
		q--;
	return (p - q) & 1;
}

bool json__string(struct json *j, struct span *raw)
{
	const char *p;

	if (json__peek(j) != '"')
		return json__fail(j, "no string");
	raw->s = p = j->p + 1;
	while ((p = memchr(p, '"', j->end - p)) && is_escaped(raw->s, p))
		p++;
	if (!p)
		return json__fail(j, "string without an end");
	raw->len = p - raw->s;
	j->p = p + 1;
	return true;
}

static bool is_in_number(char c)
{
	return (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '+' || c == 'e' || c == 'E';
}

bool json__number(struct json *j, struct span *raw)
{
	char c = json__peek(j);

	if (c != '-' && c != 'N' && c != 'I' && (c < '0' || c > '9'))
		return json__fail(j, "no number");
	raw->s = j->p;
	j->p += c == '-';
	if (j->p < j->end && (*j->p == 'N' || *j->p == 'I')) {
		/* NaN, Infinity and -Infinity are not JSON, but many programs write them. */
		j->nr_not_finite++;
		while (j->p < j->end &&
		       ((*j->p >= 'a' && *j->p <= 'z') || *j->p == 'N' || *j->p == 'I'))
			j->p++;
	}
	while (j->p < j->end && is_in_number(*j->p))
		j->p++;
	raw->len = j->p - raw->s;
	return true;
}

bool json__skip(struct json *j)
{
	uint32_t depth = j->depth;
	struct span ignored;

	do {
		if (j->depth > depth) {
			if (j->close[j->depth - 1] == '}' ? !json__next_key(j, &ignored) :
							    !json__next_item(j))
				continue;
		}
		switch (json__peek(j)) {
		case 0:
			return false;
		case '{':
			json__enter(j, '{');
			break;
		case '[':
			json__enter(j, '[');
			break;
		case '"':
			json__string(j, &ignored);
			break;
		case 't':
		case 'f':
		case 'n':
			while (j->p < j->end && *j->p >= 'a' && *j->p <= 'z')
				j->p++;
			break;
		default:
			json__number(j, &ignored);
		}
	} while (!j->what && j->depth > depth);
	return !j->what;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Return: the value of the four digits after \u, or -1. */
static int32_t code_unit(const char *p, const char *end)
{
	int32_t value = 0;
	int i, digit;

	if (end - p < 4)
		return -1;
	for (i = 0; i < 4; i++) {
		digit = hex_digit(p[i]);
		if (digit < 0)
			return -1;
		value = value << 4 | digit;
	}
	return value;
}

size_t json_string__decode(struct span raw, char *out)
{
	static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
	const char *p = raw.s, *end = raw.s + raw.len, *at;
	char *begin = out;
	int32_t c, low;

	while (p < end) {
		if (*p != '\\' || p + 1 == end) {
			/*
			 * This reader accepts a raw NUL as an ordinary character, but a NUL would
			 * end the name.
			 */
			*out++ = *p ? *p : '?';
			p++;
			continue;
		}
		p++;
		if (*p != 'u') {
			at = *p ? strchr(from, *p) : NULL;
			*out++ = at ? to[at - from] : *p ? *p : '?';
			p++;
			continue;
		}
		c = code_unit(++p, end);
		if (c < 0) {
			*out++ = 'u';
			continue;
		}
		p += 4;
		if (c >= 0xd800 && c < 0xdc00 && end - p >= 6 && p[0] == '\\' && p[1] == 'u') {
			low = code_unit(p + 2, end);
			if (low >= 0xdc00 && low < 0xe000) {
				c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
				p += 6;
			}
		}
		/* Six bytes of input give at most three bytes of output. */
		if (!c || (c >= 0xd800 && c < 0xe000))
			c = 0xfffd;
		out = utf8__put(out, c);
	}
	*out = 0;
	return out - begin;
}

bool span__decimal(struct span raw, int scale, int64_t *value)
{
	const char *p = raw.s, *end = raw.s + raw.len;
	const char *digits, *point = NULL;
	bool negative = false;
	uint64_t mantissa = 0;
	int exponent = 0, e = 0;

	if (p < end && *p == '-') {
		negative = true;
		p++;
	}
	for (digits = p; p < end; p++) {
		unsigned int digit = *p - '0';

		if (digit <= 9 && mantissa <= (INT64_MAX - 9) / 10) {
			mantissa = mantissa * 10 + digit;
			exponent -= !!point;
		} else if (digit <= 9) {
			exponent += !point;
		} else if (*p == '.' && !point) {
			point = p;
		} else {
			break;
		}
	}
	if (p - digits == !!point)
		return false;
	if (p < end && (*p == 'e' || *p == 'E')) {
		bool minus = p + 1 < end && p[1] == '-';

		p += 1 + (p + 1 < end && (p[1] == '-' || p[1] == '+'));
		if (p == end)
			return false;
		for (; p < end && *p >= '0' && *p <= '9'; p++)
			if (e < 1000)
				e = e * 10 + (*p - '0');
		exponent += minus ? -e : e;
	}
	if (p != end)
		return false;
	for (exponent += scale; exponent > 0 && mantissa; exponent--)
		if (__builtin_mul_overflow(mantissa, 10, &mantissa) || mantissa > INT64_MAX)
			return false;
	for (; exponent < -1 && mantissa; exponent++)
		mantissa /= 10;
	if (exponent == -1)
		mantissa = (mantissa + 5) / 10;
	*value = negative ? -(int64_t)mantissa : (int64_t)mantissa;
	return true;
}
