/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * cubin_lines.h - source lines of device code, from the line table of its module
 *
 * The table is DWARF 2's, with one relocation for each function and an opcode of NVIDIA's. Neither elfutils
 * nor binutils tell the functions apart, which all begin at address 0.
 */
#ifndef MERGE_CUBIN_LINES_H
#define MERGE_CUBIN_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "util.h"
#include "xpu_record.h"

struct cubin_line {
	uint32_t function;		/* index in functions */
	uint32_t pc;			/* from here on */
	uint32_t file;			/* index in files; NO_INDEX: the function ends here */
	uint32_t line;
	uint32_t site;			/* what it was inlined at: index in sites; NO_INDEX: it was not */
};

struct cubin_site {			/* of a call that was inlined */
	const char *callee;		/* mangled, in the blob; perhaps "" */
	uint32_t file, line;
	uint32_t site;			/* what that was inlined at: a lower index, or NO_INDEX */
};

struct cubin_lines {
	ARRAY(const char *) functions;	/* mangled, in the blob */
	ARRAY(const char *) files;	/* without directories, in the blob */
	ARRAY(struct cubin_line) lines;	/* by function and pc */
	ARRAY(struct cubin_site) sites;
	ARRAY(uint32_t) by_name;	/* indices of functions */
};

/*
 * Reads a module's lines from what the shim has sent, which must outlive @l. What is damaged is left out.
 * Return: 0 or -ENOMEM.
 */
int cubin_lines__read(struct cubin_lines *l, const struct xpu_cubin_lines *blob, size_t bytes);
void cubin_lines__free(struct cubin_lines *l);

/*
 * Return: the line of a place, or NULL. With its sites it tells of all calls that were inlined there; the
 * function's own line is the last of them.
 */
const struct cubin_line *cubin_lines__find(const struct cubin_lines *l, const char *function, uint32_t pc);

#endif /* MERGE_CUBIN_LINES_H */
