/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * copied_stacks.h - makes call chains from copies of the stack
 *
 * A STACK record has a thread's registers, and the part of its stack's top that changed since the
 * last copy. struct copied_stacks rebuilds the stack and walks it by the unwind tables of the
 * mapped files. Code without tables, such as code made at run time, is walked by the frame pointer.
 */
#ifndef MERGE_COPIED_STACKS_H
#define MERGE_COPIED_STACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "xpu_record.h"
#include "symbols/dso.h"
#include "model/machine.h"
#include "util.h"

#define UNWIND_MAX_FRAMES	4096	/* maximum number of native frames of a stack, not counting
					 * Python frames */

struct unwind_tables;
struct unwind_stack;

struct copied_stacks {
	struct dsos *dsos;		/* owned by the caller, who closes them later */
	struct unwind_tables *tables;
	struct unwind_stack *stacks;	/* the last stack of each thread */
	uint64_t native[UNWIND_MAX_FRAMES];
	uint64_t sp[UNWIND_MAX_FRAMES];	/* the stack pointer of each native frame */
	bool misses_file;		/* the last chain may be wrong, because the tables of a
					 * file were missing */
	bool loop[UNWIND_MAX_FRAMES];	/* for each native frame: whether its name is the name of
					 * Python's evaluation loop */
	uint64_t frames[UNWIND_MAX_FRAMES + XPU_MAX_PYTHON];
};

void copied_stacks__init(struct copied_stacks *u, struct dsos *dsos);
void copied_stacks__exit(struct copied_stacks *u);

/* Drops the stacks, because records are missing or another recording follows. */
void copied_stacks__next(struct copied_stacks *u);

/**
 * copied_stacks__record - make the call chain of a sample
 * @u: the state; the records of a thread must come in the order of the file
 * @rec: the sample, checked by the reader
 * @image: the sample's address space, or NULL: then only the innermost address is known
 * @epoch: remap epoch of @image
 * @nr: set to the number of frames in @u->frames. The frames have the form of a CALLCHAIN with
 *	XPU_CHAIN_CPU, but XPU_WORD_PYTHON words replace Python's evaluation loops.
 * @flags: XPU_CHAIN_TRUNCATED is added if the chain does not reach the stack's root
 * @known: the chain's @nr_known words if the recording has the chain; otherwise NULL
 *
 * Return: 0; 1 if the record needs an earlier record that is missing; or -ENOMEM.
 */
int copied_stacks__record(struct copied_stacks *u, const struct xpu_record_stack *rec,
			  struct image *image, uint32_t epoch, uint16_t *nr, uint16_t *flags,
			  const uint64_t *known, uint16_t nr_known);

#endif /* MERGE_COPIED_STACKS_H */
