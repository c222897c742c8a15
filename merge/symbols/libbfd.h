/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * libbfd.h - source lines and inlined functions, by DWARF
 *
 * With demangle.h the only door to libbfd: its API moves between binutils releases, and its licence
 * is what makes xpumerge GPL-3.0-or-later. On damaged DWARF it may crash or take forever: what
 * comes from other people's files is read in a process of its own, see srcline.h.
 */
#ifndef MERGE_LIBBFD_H
#define MERGE_LIBBFD_H

#include <stddef.h>
#include <stdint.h>

struct line_frame {
	const char *function;		/* mangled; NULL: not known */
	const char *file;		/* NULL: not known */
	unsigned int line;		/* 0: not known */
};

struct line_reader;

/* Return: a reader of the file at @path, or NULL if it cannot be read. */
struct line_reader *line_reader__open(const char *path);

/**
 * line_reader__find - which functions and lines an address is in
 * @r: the reader
 * @vaddr: address as the file counts it
 * @v: filled, the innermost inlined function first, the one that is really there last; its strings
 *	stay until the reader is closed
 * @max: room in @v
 *
 * Return: how many; 0 if DWARF does not tell.
 */
size_t line_reader__find(struct line_reader *r, uint64_t vaddr, struct line_frame *v, size_t max);

void line_reader__close(struct line_reader *r);

#endif /* MERGE_LIBBFD_H */
