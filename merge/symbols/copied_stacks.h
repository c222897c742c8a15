/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * copied_stacks.h - call chains out of copies of the stack
 *
 * A STACK record has the registers and the top of a thread's stack, as far as it differs from the
 * one before. struct copied_stacks puts it together again and walks it by the unwind tables of the
 * files that were mapped; where there are none (code made at run time), by the frame pointer.
 */
#ifndef MERGE_COPIED_STACKS_H
#define MERGE_COPIED_STACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "xpu_record.h"
#include "symbols/dso.h"
#include "model/machine.h"
#include "util.h"

#define UNWIND_MAX_FRAMES	4096	/* of a stack; it may have more Python in it */

struct unwind_tables;
struct unwind_stack;

struct copied_stacks {
	struct dsos *dsos;		/* the caller's, to be closed after this */
	struct unwind_tables *tables;
	struct unwind_stack *stacks;	/* by thread: what it was last */
	uint64_t native[UNWIND_MAX_FRAMES];
	uint64_t sp[UNWIND_MAX_FRAMES];	/* of each: where its own stack begins */
	bool loop[UNWIND_MAX_FRAMES];	/* whether it is Python's evaluation loop, by its name */
	uint64_t frames[UNWIND_MAX_FRAMES + XPU_MAX_PYTHON];
};

void copied_stacks__init(struct copied_stacks *u, struct dsos *dsos);
void copied_stacks__exit(struct copied_stacks *u);

/* Forgets the stacks: what follows is another recording. */
void copied_stacks__next(struct copied_stacks *u);

/**
 * copied_stacks__record - the call chain of a sample
 * @u: all of it; records of a thread must come in the order of the file
 * @rec: the sample, checked by the reader
 * @image: the address space it is of, or NULL: then only where it was is known
 * @epoch: remap epoch of @image
 * @nr: set to the number of @u->frames: as in a CALLCHAIN with XPU_CHAIN_CPU, but Python's frames
 *	are XPU_WORD_PYTHON, in the place of the evaluation loops that they are of
 * @flags: XPU_CHAIN_TRUNCATED is added if it does not lead to the stack's root
 *
 * Return: 0; 1 if the record leans on one that is not there; or -ENOMEM.
 */
int copied_stacks__record(struct copied_stacks *u, const struct xpu_record_stack *rec,
			  struct image *image, uint32_t epoch, uint16_t *nr, uint16_t *flags);

#endif /* MERGE_COPIED_STACKS_H */
