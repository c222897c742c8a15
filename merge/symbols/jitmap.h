/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * jitmap.h - names of generated code, as JIT compilers leave them in /tmp/perf-PID.map
 *
 * A line for each function, "START SIZE NAME", in hexadecimal: Node, Java, .NET, LuaJIT, Python -X
 * perf. Code that took the place of older code comes later in the file, and counts. Addresses are
 * the process's own, so a file says nothing but for the process that wrote it: one that is older
 * than the process, newer than its end, or of another user is not used.
 */
#ifndef MERGE_JITMAP_H
#define MERGE_JITMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "util.h"

struct jit_symbol {
	uint64_t start, end;
	const char *name;		/* in the text */
	size_t nr;			/* of its line, before the table is built */
};

struct jitmap {
	char *text;
	ARRAY(struct jit_symbol) symbols;	/* by address, disjoint */
};

/**
 * jitmap__parse - read a map
 * @m: zeroed
 * @text: @bytes and a NUL behind them, from malloc(); @m's from now on
 *
 * Lines that are none are skipped.
 *
 * Return: 0 or -ENOMEM.
 */
int jitmap__parse(struct jitmap *m, char *text, size_t bytes);
const struct jit_symbol *jitmap__find(const struct jitmap *m, uint64_t addr);
void jitmap__free(struct jitmap *m);

struct jitmap_entry;

/* The maps of the processes of one recording. */
struct jitmaps {
	const char *kept;		/* directory beside the recording; NULL: none */
	bool here;			/* it was recorded on this machine, so /tmp has its maps */
	uid_t owner;			/* of the recording */
	uint64_t real_ns;		/* from its clock to CLOCK_REALTIME */
	struct jitmap_entry *entries;
};

/**
 * jitmaps__find - name an address in generated code
 * @j: the maps, read when they are asked for first
 * @pid: process
 * @from_ns, @to_ns: when it ran, by the recording's clock; 0 and UINT64_MAX: not known
 * @addr: in its address space
 *
 * Return: the name as the map has it, until jitmaps__exit(), or NULL.
 */
const char *jitmaps__find(struct jitmaps *j, uint32_t pid, uint64_t from_ns, uint64_t to_ns,
			  uint64_t addr);
void jitmaps__exit(struct jitmaps *j);

#endif /* MERGE_JITMAP_H */
