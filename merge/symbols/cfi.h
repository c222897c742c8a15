/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * cfi.h - from a function's registers to its caller's, by the unwind tables of a file (.eh_frame)
 *
 * The only door to libdw. The tables are other people's, and so is the stack: whatever they say,
 * nothing outside of the two is read, and a step ends.
 */
#ifndef MERGE_CFI_H
#define MERGE_CFI_H

#include <stdbool.h>
#include <stdint.h>

#include "xpu_record.h"
#include "symbols/elf_file.h"

struct cfi;

struct cfi_regs {
	uint64_t v[XPU_NR_REGS];
	uint32_t known;			/* bit by bit: which of them are */
};

/* Where a stack's memory comes from. Return: whether the 8 bytes at @addr are known. */
typedef bool (*cfi_read_fn)(void *ctx, uint64_t addr, uint64_t *value);

enum cfi_result {
	CFI_STEPPED,
	CFI_ROOT,			/* the function has no caller */
	CFI_NO_TABLE,			/* nothing is said of that place */
	CFI_LOST,			/* it could not be followed */
};

/* Return: the tables of @f, which must stay open, or NULL if it has none, or memory is out. */
struct cfi *cfi__new(const struct elf_file *f);
void cfi__free(struct cfi *c);

/**
 * cfi__step - go to the caller
 * @c: the tables
 * @pc: the place, as the file's symbol table counts it
 * @regs: the registers there, and then, if stepped, in the caller, with its place as XPU_REG_IP
 * @interrupted: set to whether a signal struck there: the place is no return address
 * @read, @ctx: the stack
 */
enum cfi_result cfi__step(struct cfi *c, uint64_t pc, struct cfi_regs *regs, bool *interrupted,
			  cfi_read_fn read, void *ctx);

#endif /* MERGE_CFI_H */
