/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * srcline.h - source lines and inlined functions, read by a separate process
 *
 * DWARF is large, libraries that read it are not made for hostile files, and any file may be
 * recorded. So libbfd runs in a separate process with limits, and answers requests. If that process
 * dies or does not answer, the file has no source lines, the user gets a message, and everything
 * else continues.
 */
#ifndef MERGE_SRCLINE_H
#define MERGE_SRCLINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "symbols/dso.h"
#include "util.h"

#define SRCLINE_MAX	64		/* maximum number of functions inlined into one another */

struct srcline {
	const char *function;		/* demangled, interned; NULL: unknown */
	const char *file;		/* interned, without its directories; NULL: unknown */
	uint32_t line;			/* 0: unknown */
};

struct srclines {
	struct strpool *strings;	/* owned by the caller */
	pid_t pid;			/* the reading process; 0: none runs */
	int fd;
	const char *last;		/* path of the file that the process has opened */
	/* Return: whether to stop waiting for an answer. Called after a signal; may be NULL. */
	bool (*is_over)(void *ctx);
	void *ctx;
};

/* Return: whether @dso, which is loaded, has source lines that can be read. */
bool dso__has_lines(const struct dso *dso);

void srclines__init(struct srclines *s, struct strpool *strings);
void srclines__exit(struct srclines *s);

/**
 * srclines__find - find the functions and lines that contain an address
 * @s: the reader
 * @dso: a loaded file; @dso->no_lines is set if its DWARF cannot be read
 * @vaddr: an address of the file
 * @v: room for SRCLINE_MAX; filled with functions, from the innermost inlined function out to the
 *	function that is not inlined
 *
 * Return: the number of entries, 0 if nothing is known.
 */
int srclines__find(struct srclines *s, struct dso *dso, uint64_t vaddr, struct srcline *v);

#endif /* MERGE_SRCLINE_H */
