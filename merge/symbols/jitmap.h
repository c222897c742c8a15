/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * jitmap.h - names of generated code, as JIT compilers leave them in /tmp/perf-PID.map
 *
 * A file has a line "START SIZE NAME" for each function, with hexadecimal numbers. Node, Java,
 * .NET, LuaJIT and Python -X perf write it. Code that replaced other code has a later line, but
 * lines have no timestamps. If lines with different names cover an address, the last name is shown,
 * marked as uncertain. Addresses belong to one process, so a file is only valid for the process
 * that wrote it. A file is not used if it is older than the process, newer than the process's end,
 * or owned by another user.
 */
#ifndef MERGE_JITMAP_H
#define MERGE_JITMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "util.h"

#define JIT_UNCERTAIN	" (?)"		/* the end of an uncertain name */

struct jit_symbol {
	uint64_t start, end;
	const char *name;		/* points into the text */
	size_t nr;			/* number of its line */
	bool uncertain;			/* a line with another name covers the same code, too */
};

struct jitmap {
	char *text;
	ARRAY(struct jit_symbol) symbols;	/* sorted by address, disjoint */
};

/**
 * jitmap__parse - read a map
 * @m: zeroed
 * @text: @bytes bytes and a NUL after them, from malloc(); @m owns it afterwards
 *
 * Lines in another form are skipped.
 *
 * Return: 0 or -ENOMEM.
 */
int jitmap__parse(struct jitmap *m, char *text, size_t bytes);
const struct jit_symbol *jitmap__find(const struct jitmap *m, uint64_t addr);
void jitmap__free(struct jitmap *m);

struct jitmap_entry;

/* The maps of the processes of one recording. */
struct jitmaps {
	const char *kept;		/* directory next to the recording; NULL: none */
	bool here;			/* recorded on this machine, so /tmp has the maps */
	uid_t owner;			/* the recording's owner */
	uint64_t real_ns;		/* add this to the recording's clock to get
					 * CLOCK_REALTIME */
	struct jitmap_entry *entries;
	char *name;			/* the last uncertain name that was returned */
};

/**
 * jitmaps__find - name an address in generated code
 * @j: the maps, each read when it is first needed
 * @pid: process
 * @from_ns, @to_ns: when the process ran, by the recording's clock; 0 and UINT64_MAX if unknown
 * @addr: address in the process
 *
 * Return: the name from the map, valid until the next call; or NULL. An uncertain name ends with
 * JIT_UNCERTAIN.
 */
const char *jitmaps__find(struct jitmaps *j, uint32_t pid, uint64_t from_ns, uint64_t to_ns,
			  uint64_t addr);
void jitmaps__exit(struct jitmaps *j);

#endif /* MERGE_JITMAP_H */
