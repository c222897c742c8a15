/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ehframe.h - where functions begin and end, by the unwind information of a file
 *
 * Every file has unwind information, even a file without any symbol.
 */
#ifndef MERGE_EHFRAME_H
#define MERGE_EHFRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "symbols/elf_file.h"
#include "util.h"

struct extent {
	uint64_t start, end;
	bool no_caller;			/* the return address is undefined, so there is no caller */
};

typedef ARRAY(struct extent) extents_t;

/**
 * extents__read - read .eh_frame
 * @out: an empty list; gets all functions that could be read, sorted by address; the caller frees
 *	the list
 * @f: the file
 *
 * Return: 0 or -ENOMEM.
 */
int extents__read(extents_t *out, const struct elf_file *f);

/* Return: the function that covers @addr, or NULL. */
const struct extent *extents__find(const extents_t *e, uint64_t addr);

#endif /* MERGE_EHFRAME_H */
