/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * recorded_names.h - names that a recording has for its own addresses
 *
 * The names come from NAMES and UNWOUND records, and are used before any file of this machine. So a
 * recording that is read on another machine gives the same result.
 */
#ifndef MERGE_RECORDED_NAMES_H
#define MERGE_RECORDED_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/dso.h"
#include "util.h"
#include "xpu_record.h"

#define RECORDED_NAMES_MAX	(64u << 20)	/* maximum size of all NAMES and UNWOUND records of
						 * a recording, in bytes */
#define RECORDED_WORDS_MAX	(16u << 20)	/* maximum number of words in all chains of UNWOUND
						 * records */

struct recorded_line {
	const char *function, *file;	/* NULL: unknown */
	uint32_t line;
};

struct recorded_place {
	uint64_t offset;		/* in the file, or an address in generated code */
	uint64_t vaddr;
	uint64_t function;		/* where the function begins, if @name is NULL */
	const char *name;
	size_t first_line;		/* index in the lines of all places */
	uint32_t nr_lines;
	bool has_lines;			/* its source lines were looked up, so @nr_lines is right */
};

/* The call chain of a STACK record. */
struct recorded_stack {
	uint32_t thread_id;
	uint16_t flags;
	uint32_t nr;
	size_t first;			/* index in the words of all stacks */
	uint64_t time_ns;
};

struct recorded_file;

/* All members are zero at the start. */
struct recorded_names {
	struct recorded_file *files;
	ARRAY(struct recorded_line) lines;
	ARRAY(struct recorded_stack) stacks;
	ARRAY(uint64_t) words;
	uint64_t bytes;			/* size of the records, at most RECORDED_NAMES_MAX */
	uint64_t nr_bad;		/* number of records that are malformed, and used in part */
	uint64_t nr_beyond;		/* number of records beyond a limit, not used */
};

void recorded_names__exit(struct recorded_names *n);

/* Takes a record, which must stay valid. Return: 0 or -ENOMEM. */
int recorded_names__add(struct recorded_names *n, const struct xpu_record_names *rec);
int recorded_names__add_stacks(struct recorded_names *n, const struct xpu_record_unwound *rec);

/* Sorts the names, after the last record and before the first lookup. */
void recorded_names__finish(struct recorded_names *n);

/* Return: the place at @offset of the file with that key, or NULL. */
const struct recorded_place *recorded_names__find(const struct recorded_names *n,
						  const struct dso_key *key, uint64_t offset);

/* Return: the chain of a STACK record, or NULL. */
const struct recorded_stack *recorded_names__stack(const struct recorded_names *n,
						   const struct xpu_record_stack *rec);

#endif /* MERGE_RECORDED_NAMES_H */
