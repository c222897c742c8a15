/* SPDX-License-Identifier: MIT */
/*
 * code_names.h - names of Python's code objects, kept for the life of the process
 *
 * Launching threads add names, perhaps in a signal handler that interrupted malloc(). So adding a
 * name takes no lock and does not call malloc(). The shim's thread sends new names.
 */
#ifndef XPU_PRELOAD_CODE_NAMES_H
#define XPU_PRELOAD_CODE_NAMES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "python/interpreter.h"

/* A Python string, also converted to UTF-8. */
struct text {
	uint64_t length;		/* characters */
	int64_t hash;			/* Python's 64-bit hash of the string, or -1 */
	uint32_t shape;			/* STATE_SHAPE */
	uint32_t bytes;
	const uint8_t *raw;		/* NULL: the string cannot be compared */
	const char *utf8;
};

/* A known code object, recognized by its contents. Never freed. */
struct known {
	struct known *next;		/* next object in its bucket */
	struct known *next_unsent;
	uint64_t hash;
	uint32_t id;
	uint32_t first_line;
	uint32_t table_bytes;
	struct text name, filename;
	const uint8_t *table;		/* the line table; NULL if the code object has a version */
};

/*
 * Reads the header of a string, so that it can be compared. Return: the string. Its member raw is
 * NULL if the string cannot be compared.
 */
struct text text__read(uint64_t str);

/*
 * Return: the kept code object that equals @want, which points into the interpreter; NULL if memory
 * is short.
 */
const struct known *known__intern(struct known *want);

/* Packs new code objects, under the lock of sender.h. Return: whether there were any. */
bool known__drain(void);

/* Whether the string at @str, which belongs to a live code object, still equals @t. */
static inline bool text__is(const struct text *t, uint64_t str)
{
	uint32_t state = load32(str + STR_STATE);
	int64_t hash = load64(str + STR_HASH);

	if (load64(str + STR_LENGTH) != t->length || (state & STATE_SHAPE) != t->shape || !t->raw)
		return false;
	/* The probability that two different strings have equal hashes is 1 in 2^64. */
	if (hash != -1 && t->hash != -1)
		return hash == t->hash;
	return !memcmp(t->raw, (const void *)(uintptr_t)(str + (state & STATE_ASCII ?
		       L.ascii_bytes : L.compact_bytes)), t->bytes);
}

#endif /* XPU_PRELOAD_CODE_NAMES_H */
