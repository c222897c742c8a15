/* SPDX-License-Identifier: MIT */
/*
 * code_names.h - what Python's code objects are called, kept for as long as the process lives
 *
 * Launching threads add to these, perhaps in a signal handler that interrupted malloc(): so there
 * is no lock, and memory is the shim's own. The shim's thread sends what was added.
 */
#ifndef XPU_PRELOAD_CODE_NAMES_H
#define XPU_PRELOAD_CODE_NAMES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "python/interpreter.h"

/* A string of Python's, and what was made of it. */
struct text {
	uint64_t length;		/* characters */
	int64_t hash;			/* Python's, of 64 bits, or -1 */
	uint32_t shape;			/* STATE_SHAPE */
	uint32_t bytes;
	const uint8_t *raw;		/* NULL: it is none that can be compared */
	const char *utf8;
};

/* A code object that was met, by what is in it. Stays for ever. */
struct known {
	struct known *next;		/* in its bucket */
	struct known *next_unsent;
	uint64_t hash;
	uint32_t id;
	uint32_t first_line;
	uint32_t table_bytes;
	struct text name, filename;
	const uint8_t *table;		/* lines; NULL where the code object has a version */
};

/* Reads the header of a string, so that it can be compared; one without raw if it is unusual. */
struct text text__read(uint64_t str);

/* The one that is like @want, which points into the interpreter. NULL without memory. */
const struct known *known__intern(struct known *want);

/* Packs what was added. Under the activity lock. Return: whether there was anything. */
bool known__drain(void);

/* Whether the string at @str, one of a living code object's, still is @t. */
static inline bool text__is(const struct text *t, uint64_t str)
{
	uint32_t state = load32(str + STR_STATE);
	int64_t hash = load64(str + STR_HASH);

	if (load64(str + STR_LENGTH) != t->length || (state & STATE_SHAPE) != t->shape || !t->raw)
		return false;
	/* Two strings have the same one by an accident of 1 in 2^64. */
	if (hash != -1 && t->hash != -1)
		return hash == t->hash;
	return !memcmp(t->raw, (const void *)(uintptr_t)(str + (state & STATE_ASCII ?
		       L.ascii_bytes : L.compact_bytes)), t->bytes);
}

#endif /* XPU_PRELOAD_CODE_NAMES_H */
