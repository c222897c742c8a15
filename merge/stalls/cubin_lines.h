/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * cubin_lines.h - source lines of device code, from the line table of its module
 *
 * The table has the form of DWARF 2, with one relocation for each function and one opcode added by
 * NVIDIA. All functions begin at address 0, so elfutils and binutils cannot tell them apart.
 */
#ifndef MERGE_CUBIN_LINES_H
#define MERGE_CUBIN_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "util.h"
#include "xpu_record.h"

struct cubin_line {
	uint32_t function;		/* index in functions */
	uint32_t pc;			/* address where the line begins */
	uint32_t file;			/* index in files; NO_INDEX: end of the function */
	uint32_t line;
	uint32_t site;			/* index in sites: the call where the line was inlined;
					 * NO_INDEX: not inlined */
};

struct cubin_site {			/* An inlined call. */
	const char *callee;		/* mangled, in the blob; "" if unknown */
	uint32_t file, line;
	uint32_t site;			/* the site where this call itself was inlined: a lower
					 * index, or NO_INDEX */
};

struct cubin_lines {
	ARRAY(const char *) functions;	/* mangled, in the blob */
	ARRAY(const char *) files;	/* without directories, in the blob */
	ARRAY(struct cubin_line) lines;	/* sorted by function and pc */
	ARRAY(struct cubin_site) sites;
	ARRAY(uint32_t) by_name;	/* indices of functions, sorted by name */
};

/*
 * Reads a module's lines from @blob, which the shim sent, and which must outlive @l. Damaged parts
 * are left out.
 * Return: 0 or -ENOMEM.
 */
int cubin_lines__read(struct cubin_lines *l, const struct xpu_cubin_lines *blob, size_t bytes);
void cubin_lines__free(struct cubin_lines *l);

/*
 * Return: the line of a place, or NULL. Its chain of sites lists the calls that were inlined there;
 * the last site is the function's own line.
 */
const struct cubin_line *cubin_lines__find(const struct cubin_lines *l, const char *function,
					   uint32_t pc);

#endif /* MERGE_CUBIN_LINES_H */
