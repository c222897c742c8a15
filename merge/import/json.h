/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * json.h - reads JSON value by value from a buffer, without copying it
 *
 *	struct json j;
 *	struct span key, text;
 *
 *	json__init(&j, buf, size);
 *	if (json__enter(&j, '{'))
 *		while (json__next_key(&j, &key))
 *			if (span__is(key, "name"))
 *				json__string(&j, &text);
 *			else
 *				json__skip(&j);
 *	if (j.what)
 *		complain(j.what, j.p - buf);
 *
 * After an error every call fails, and j.what describes the error at j.p. The input is untrusted,
 * so nesting is limited.
 */
#ifndef MERGE_JSON_H
#define MERGE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "import/span.h"

#define JSON_DEPTH	64

struct json {
	const char *p, *end;
	const char *what;
	uint64_t nr_not_finite;		/* number of NaN or Infinity values in place of numbers */
	uint32_t depth;
	bool first[JSON_DEPTH];		/* nothing at this depth has been read yet */
	char close[JSON_DEPTH];
};

void json__init(struct json *j, const char *buf, size_t size);

/*
 * Return: the first byte of the next value: { [ " - 0..9 t f n N I; or 0 at the end or after an
 * error.
 */
char json__peek(struct json *j);

/*
 * Enters an object ('{') or an array ('['). Return: true; or false, with an error, if the next
 * value has another type.
 */
bool json__enter(struct json *j, char open);

/*
 * Return: whether another member follows; its value is read next. *@key: the raw key, as written.
 */
bool json__next_key(struct json *j, struct span *key);
bool json__next_item(struct json *j);

/* Reads the next value, which must be a string. *@raw: the bytes between the quotes */
bool json__string(struct json *j, struct span *raw);
/*
 * Reads the next value, which must be a number. NaN and Infinity are accepted, but span__decimal()
 * rejects them.
 */
bool json__number(struct json *j, struct span *raw);
bool json__skip(struct json *j);

/**
 * json_string__decode - decode a raw string
 * @out: room for raw.len + 1 bytes; NUL-terminated afterwards
 *
 * Bytes that are not UTF-8 stay as they are; \u0000 and lone surrogates become U+FFFD.
 *
 * Return: the length of the result.
 */
size_t json_string__decode(struct span raw, char *out);

/**
 * span__decimal - convert a decimal number to an integer in a smaller unit
 * @raw: such as 12, -3.5, 1.25e6
 * @scale: power of ten to multiply by: 3 turns microseconds into ns
 * @value: the result, rounded to the nearest integer
 *
 * Return: whether @raw is a number and the result fits.
 */
bool span__decimal(struct span raw, int scale, int64_t *value);

#endif /* MERGE_JSON_H */
