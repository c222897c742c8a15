/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * file_cfi.h - from a function's registers to its caller's, by the unwind tables of a file (.eh_frame)
 *
 * The only door to libdw. The tables are other people's, and so is the stack: whatever they say,
 * nothing outside of the two is read, and a step ends.
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
	uint32_t known;			/* bit by bit: which of them are */
};

/* Reads 8 bytes of a stack at @addr. Return: whether they are known. */
typedef bool (*cfi_read_fn)(void *ctx, uint64_t addr, uint64_t *value);

enum cfi_result {
	CFI_STEPPED,
	CFI_ROOT,			/* the function has no caller */
	CFI_NO_TABLE,			/* nothing is said of that place */
	CFI_LOST,			/* it could not be followed */
};

/* Return: the tables of @f, which must stay open, or NULL if it has none, or memory is out. */
struct file_cfi *file_cfi__new(const struct elf_file *f);
void file_cfi__free(struct file_cfi *c);

/**
 * file_cfi__step - go to the caller
 * @c: the tables
 * @pc: the place, as the file's symbol table counts it
 * @regs: the registers there, and then, if stepped, in the caller, with its place as XPU_REG_IP
 * @interrupted: set to whether a signal struck there: the place is no return address
 * @read, @ctx: the stack
 */
enum cfi_result file_cfi__step(struct file_cfi *c, uint64_t pc, struct cfi_regs *regs,
			       bool *interrupted, cfi_read_fn read, void *ctx);

#endif /* MERGE_FILE_CFI_H */
