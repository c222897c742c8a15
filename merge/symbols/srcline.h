/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * srcline.h - source lines and inlined functions, read at arm's length
 *
 * DWARF is large, its readers are not made for hostile files, and the files are those of whatever
 * was recorded. So libbfd works in a process of its own, with limits, which this one asks. When it
 * dies or does not answer, that file has no source lines, the user is told, and the rest goes on.
 */
#ifndef MERGE_SRCLINE_H
#define MERGE_SRCLINE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "symbols/dso.h"
#include "util.h"

#define SRCLINE_MAX	64		/* functions inlined into one another */

struct srcline {
	const char *function;		/* demangled, interned; NULL: not known */
	const char *file;		/* interned, without its directories; NULL: not known */
	uint32_t line;			/* 0: not known */
};

struct srclines {
	struct strpool *strings;	/* the caller's */
	pid_t pid;			/* of the process that reads, 0: none now */
	int fd;
	const char *last;		/* path that it has open */
};

void srclines__init(struct srclines *s, struct strpool *strings);
void srclines__exit(struct srclines *s);

/**
 * srclines__find - which functions and lines an address is in
 * @s: the reader
 * @dso: a loaded file; what was wrong with its DWARF is left in @dso->no_lines
 * @vaddr: address in it
 * @v: room for SRCLINE_MAX, filled with the innermost inlined function first, the one that is
 *	really there last
 *
 * Return: how many, 0 if nothing tells.
 */
int srclines__find(struct srclines *s, struct dso *dso, uint64_t vaddr, struct srcline *v);

#endif /* MERGE_SRCLINE_H */
