/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * libbfd.h - reads source lines and inlined functions from DWARF
 *
 * Only this and demangle.h use libbfd: its API changes between binutils releases, and its license
 * makes xpumerge GPL-3.0-or-later. It may crash or hang on damaged DWARF, so a separate process
 * reads other people's files: see srcline.h.
 */
#ifndef MERGE_LIBBFD_H
#define MERGE_LIBBFD_H

#include <stddef.h>
#include <stdint.h>

struct line_frame {
	const char *function;		/* the mangled name; NULL: unknown */
	const char *file;		/* NULL: unknown */
	unsigned int line;		/* 0: unknown */
};

struct line_reader;

/* Return: a reader of the file at @path, or NULL if it cannot be read. */
struct line_reader *line_reader__open(const char *path);

/**
 * line_reader__find - find the functions and lines that contain an address
 * @r: the reader
 * @vaddr: an address of the file
 * @v: filled, from the innermost inlined function to the function that is not inlined; the strings
 *	stay valid until the reader is closed
 * @max: room in @v
 *
 * Return: the number of entries; 0 if DWARF does not cover the address.
 */
size_t line_reader__find(struct line_reader *r, uint64_t vaddr, struct line_frame *v, size_t max);

void line_reader__close(struct line_reader *r);

#endif /* MERGE_LIBBFD_H */
