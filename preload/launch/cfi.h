/* SPDX-License-Identifier: MIT */
/*
 * cfi.h - call frame information: reads what .eh_frame says about one address of the running
 * process
 *
 * Takes no lock, allocates nothing, makes no system call; safe in signal handlers. All reads are
 * inside the mapping of the object that the address belongs to; invalid data are refused.
 *
 * Source: DWARF 5, section 6.4; LSB 5, "Exception Frames"; arch/this_arch.h has the processor's
 * registers.
 */
#ifndef XPU_PRELOAD_CFI_H
#define XPU_PRELOAD_CFI_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/this_arch.h"

enum cfi_how {		/* where the caller's value of a register is */
	CFI_SAME,	/* in the register */
	CFI_UNDEFINED,	/* nowhere; for CFI_IP: there is no caller */
	CFI_OFFSET,	/* in memory, at the address CFA + v */
	CFI_VAL_OFFSET,	/* the value is CFA + v */
	CFI_REGISTER,	/* in register v */
	CFI_EXPR,	/* in memory; the expression stored at v computes the address */
	CFI_VAL_EXPR,	/* the value is the result of the expression at address v */
};

struct cfi_rule {
	enum cfi_how how;
	int64_t v;
};

struct cfi_row {
	uint64_t start, end;	/* bounds of the FDE's code, usually a function */
	bool signal;		/* a signal frame: its caller was interrupted */
	uint8_t cfa_reg;	/* the CFA is this register + cfa_off ... */
	int64_t cfa_off;
	uint64_t cfa_expr;	/* ... or, if not 0, the value of the expression at this address */
	struct cfi_rule regs[CFI_NR_REGS];
};

/**
 * cfi__find - find how to unwind from an address
 * @pc: the address of an instruction, or of any byte of the call before a return address
 * @row: filled in
 *
 * Return: 0; -ENOENT if there is no information; -EINVAL if the information is invalid.
 */
int cfi__find(uint64_t pc, struct cfi_row *row);

/* Reads 8 bytes of the thread's memory. Return: whether they could be read. */
typedef bool (*cfi_read_fn)(void *ctx, uint64_t addr, uint64_t *value);

/**
 * cfi__eval - compute the value of a DWARF expression of a row
 * @expr: the address of the expression, as in the row; the expression begins with its length
 * @regs: the frame's registers
 * @push: the initial value on the stack, the CFA; NULL for the expression of the CFA itself
 */
bool cfi__eval(uint64_t expr, const uint64_t *regs, const uint64_t *push, cfi_read_fn read,
	       void *ctx, uint64_t *value);

/* Whether the expression has the plain form "@reg + *@off", followed by a dereference if @deref. */
bool cfi__is_breg(uint64_t expr, uint8_t reg, bool deref, int64_t *off);

#endif /* XPU_PRELOAD_CFI_H */
