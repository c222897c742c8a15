/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * file_cfi.h - finds the caller's registers, by the unwind tables of a file (.eh_frame)
 *
 * Nothing else uses libdw. Tables and stacks come from other people. Whatever they contain, only
 * memory inside them is read, and each step ends.
 */
#ifndef MERGE_FILE_CFI_H
#define MERGE_FILE_CFI_H

#include <stdbool.h>
#include <stdint.h>

#include "xpu_record.h"
#include "symbols/elf_file.h"

struct file_cfi;

struct cfi_regs {
	uint64_t v[XPU_NR_REGS];
	uint32_t known;			/* a bit for each register whose value is known */
};

/* Reads 8 bytes of a stack at @addr. Return: whether they are known. */
typedef bool (*cfi_read_fn)(void *ctx, uint64_t addr, uint64_t *value);

enum cfi_result {
	CFI_STEPPED,
	CFI_ROOT,			/* the function has no caller */
	CFI_NO_TABLE,			/* the tables do not cover the place */
	CFI_LOST,			/* the caller could not be determined */
};

/* Return: the tables of @f, which must stay open; NULL if @f has no tables, or memory is short. */
struct file_cfi *file_cfi__new(const struct elf_file *f);
void file_cfi__free(struct file_cfi *c);

/**
 * file_cfi__step - go to the caller
 * @c: the tables
 * @pc: the place, as an address in the file's symbol table
 * @regs: the registers at @pc; after CFI_STEPPED, the caller's registers, with the caller's place
 * in XPU_REG_IP
 * @interrupted: set to whether a signal interrupted the caller; if so, the caller's place is not a
 * return address
 * @read, @ctx: the stack
 */
enum cfi_result file_cfi__step(struct file_cfi *c, uint64_t pc, struct cfi_regs *regs,
			       bool *interrupted, cfi_read_fn read, void *ctx);

#endif /* MERGE_FILE_CFI_H */
