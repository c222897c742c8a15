/* SPDX-License-Identifier: MIT */
/*
 * json_out.h - JSON, written value by value to a stream
 *
 *	err = json_out__init(&j, f, ESCAPE_JSON);
 *	json_out__open(&j, '{');
 *	json_out__key(&j, "name");
 *	json_out__string(&j, name);
 *	json_out__close(&j, '}');
 *	json_out__exit(&j);
 *
 * The writer adds the commas. The caller closes the objects and arrays that it opened, and gives
 * each member a key. Errors stay in the stream's error flag.
 *
 * A timeline has hundreds of millions of values, so the functions for short values are inlined into
 * the caller, where the lengths of most keys are constants.
 */
#ifndef LIB_JSON_OUT_H
#define LIB_JSON_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "escape.h"

#define JSON_OUT_BYTES	(64 * 1024)
#define JSON_OUT_DIGITS	20		/* digits of the largest number */
#define JSON_OUT_THOUSANDTHS	(JSON_OUT_DIGITS + 1)

struct json_out {
	FILE *f;
	char *buf;			/* up to JSON_OUT_BYTES, not yet written to the stream */
	size_t nr;
	enum escape how;		/* ESCAPE_JSON or ESCAPE_SCRIPT */
	bool spaced;			/* print blanks after , and : (init clears this) */
	bool comma;			/* the next key or value needs a comma before it */
};

#define JSON_OUT_INLINE	static inline __attribute__((always_inline))

/* Begins to write JSON to @f. Return: 0 or -ENOMEM. */
int json_out__init(struct json_out *j, FILE *f, enum escape how);

/* Writes the text that is left in the buffer, and frees the buffer. @j may be zeroed. */
void json_out__exit(struct json_out *j);

void json_out__flush(struct json_out *j);

/* Writes bytes that are already JSON. */
void json_out__raw(struct json_out *j, const char *s, size_t len);

/*
 * Return: where to write the next @len bytes, at most JSON_OUT_BYTES. Afterwards pass the end of
 * these bytes to json_out__end_at().
 */
JSON_OUT_INLINE char *json_out__room(struct json_out *j, size_t len)
{
	if (len > JSON_OUT_BYTES - j->nr)
		json_out__flush(j);
	return j->buf + j->nr;
}

JSON_OUT_INLINE void json_out__end_at(struct json_out *j, const char *end)
{
	j->nr = end - j->buf;
}

/*
 * Like json_out__room(), for a key or a value of @len bytes. First writes a comma if needed.
 */
JSON_OUT_INLINE char *json_out__item(struct json_out *j, size_t len)
{
	char *p = json_out__room(j, len + 2);

	*p = ',';
	p += j->comma;
	*p = ' ';
	return p + (j->comma && j->spaced);
}

JSON_OUT_INLINE unsigned int json_out__nr_digits(uint64_t n)
{
	unsigned int nr = 1;

	for (; n >= 10000; n /= 10000)
		nr += 4;
	return nr + (n >= 10) + (n >= 100) + (n >= 1000);
}

/*
 * Writes each digit straight to its place. Copying digits from a buffer right after writing them
 * would stall the CPU.
 */
JSON_OUT_INLINE char *json_out__digits(char *p, uint64_t n)
{
	char *end = p + json_out__nr_digits(n), *d = end;

	do {
		*--d = '0' + n % 10;
		n /= 10;
	} while (n);
	return end;
}

JSON_OUT_INLINE char *json_out__in_thousandths(char *p, uint64_t n)
{
	unsigned int fraction = n % 1000;

	p = json_out__digits(p, n / 1000);
	*p++ = '.';
	*p++ = '0' + fraction / 100;
	*p++ = '0' + fraction / 10 % 10;
	*p++ = '0' + fraction % 10;
	return p;
}

/* @bracket: '{' or '[' */
JSON_OUT_INLINE void json_out__open(struct json_out *j, char bracket)
{
	char *p = json_out__item(j, 1);

	*p++ = bracket;
	json_out__end_at(j, p);
	j->comma = false;
}

/* @bracket: '}' or ']' */
JSON_OUT_INLINE void json_out__close(struct json_out *j, char bracket)
{
	char *p = json_out__room(j, 1);

	*p++ = bracket;
	json_out__end_at(j, p);
	j->comma = true;
}

/* Puts the next key or value on a new line, indented by @nr_blanks blanks. */
JSON_OUT_INLINE void json_out__line(struct json_out *j, unsigned int nr_blanks)
{
	char *p = json_out__room(j, nr_blanks + 2);

	*p = ',';
	p += j->comma;
	*p++ = '\n';
	while (nr_blanks--)
		*p++ = ' ';
	json_out__end_at(j, p);
	j->comma = false;
}

/* Ends a line, before a closing bracket or after the last bracket. */
void json_out__end_line(struct json_out *j);

/* Writes a key. @key: short, without characters that need an escape */
JSON_OUT_INLINE void json_out__key(struct json_out *j, const char *key)
{
	size_t len = strlen(key);
	char *p = json_out__item(j, len + 4);

	*p++ = '"';
	memcpy(p, key, len);
	p += len;
	*p++ = '"';
	*p++ = ':';
	*p = ' ';
	json_out__end_at(j, p + j->spaced);
	j->comma = false;
}

void json_out__key_u64(struct json_out *j, uint64_t key);

/* ---- values --------------------------------------------------------------------------------- */

void json_out__string(struct json_out *j, const char *s);

/* Writes a short string without characters that need an escape. */
JSON_OUT_INLINE void json_out__word(struct json_out *j, const char *word)
{
	size_t len = strlen(word);
	char *p = json_out__item(j, len + 2);

	*p++ = '"';
	memcpy(p, word, len);
	p += len;
	*p++ = '"';
	json_out__end_at(j, p);
	j->comma = true;
}

void json_out__u64(struct json_out *j, uint64_t n);

/* Writes a number with @digits digits, at most 17; null if it is not finite. */
void json_out__double(struct json_out *j, double v, int digits);

/* Writes n / 1000 with three decimals, such as a time in ns as us. */
void json_out__thousandths(struct json_out *j, uint64_t n);

/* Writes a value that is already JSON: null, true, -1, 0.5. */
JSON_OUT_INLINE void json_out__literal(struct json_out *j, const char *value)
{
	size_t len = strlen(value);
	char *p = json_out__item(j, len);

	memcpy(p, value, len);
	json_out__end_at(j, p + len);
	j->comma = true;
}

/* Begins a string whose parts json_out__add() and json_out__add_u64() write. */
JSON_OUT_INLINE void json_out__open_string(struct json_out *j)
{
	char *p = json_out__item(j, 1);

	*p++ = '"';
	json_out__end_at(j, p);
}

void json_out__add(struct json_out *j, const char *s);
void json_out__add_u64(struct json_out *j, uint64_t n);

JSON_OUT_INLINE void json_out__close_string(struct json_out *j)
{
	json_out__close(j, '"');
}

/* ---- members: a key and its value at once ---------------------------------------------------- */

/* Writes the key. Return: where to write the @len bytes of the value. */
JSON_OUT_INLINE char *json_out__member(struct json_out *j, const char *key, size_t len)
{
	size_t key_len = strlen(key);
	char *p = json_out__item(j, key_len + 4 + len);

	*p++ = '"';
	memcpy(p, key, key_len);
	p += key_len;
	*p++ = '"';
	*p++ = ':';
	*p = ' ';
	j->comma = true;
	return p + j->spaced;
}

JSON_OUT_INLINE void json_out__member_u64(struct json_out *j, const char *key, uint64_t n)
{
	json_out__end_at(j, json_out__digits(json_out__member(j, key, JSON_OUT_DIGITS), n));
}

JSON_OUT_INLINE void json_out__member_thousandths(struct json_out *j, const char *key, uint64_t n)
{
	char *p = json_out__member(j, key, JSON_OUT_THOUSANDTHS);

	json_out__end_at(j, json_out__in_thousandths(p, n));
}

JSON_OUT_INLINE void json_out__member_word(struct json_out *j, const char *key, const char *word)
{
	size_t len = strlen(word);
	char *p = json_out__member(j, key, len + 2);

	*p++ = '"';
	memcpy(p, word, len);
	p += len;
	*p++ = '"';
	json_out__end_at(j, p);
}

#endif /* LIB_JSON_OUT_H */
