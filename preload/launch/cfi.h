/* SPDX-License-Identifier: MIT */
/*
 * cfi.h - call frame information: what .eh_frame says about one address of the running process
 *
 * No lock, no allocation, no system call; safe in signal handlers. What is read lies inside the
 * mapping of the object that the address belongs to; anything that does not fit is refused.
 *
 * Source: DWARF 5, section 6.4; LSB 5, "Exception Frames"; System V ABI, AMD64, section 3.7.
 */
#ifndef XPU_PRELOAD_CFI_H
#define XPU_PRELOAD_CFI_H

#include <stdbool.h>
#include <stdint.h>

enum cfi_reg {		/* DWARF's numbers on x86-64 */
	CFI_RBX	= 3,
	CFI_RBP	= 6,
	CFI_RSP	= 7,
	CFI_R12	= 12,
	CFI_RIP	= 16,
	CFI_NR_REGS
};

enum cfi_how {		/* where the caller's value of a register is */
	CFI_SAME,	/* in the register */
	CFI_UNDEFINED,	/* nowhere; of RIP: there is no caller */
	CFI_OFFSET,	/* in memory, at CFA + v */
	CFI_VAL_OFFSET,	/* it is CFA + v */
	CFI_REGISTER,	/* in register v */
	CFI_EXPR,	/* in memory, where the expression at address v says */
	CFI_VAL_EXPR,	/* it is what that expression says */
};

struct cfi_rule {
	enum cfi_how how;
	int64_t v;
};

struct cfi_row {
	uint64_t start, end;	/* of the code that this is about: a function, mostly */
	bool signal;		/* the frame of a signal: its caller was interrupted */
	uint8_t cfa_reg;	/* the CFA is this register + cfa_off ... */
	int64_t cfa_off;
	uint64_t cfa_expr;	/* ... or, if not 0, what the expression here says */
	struct cfi_rule regs[CFI_NR_REGS];
};

/* Whether code can be found in this process at all. */
bool cfi__available(void);

/**
 * cfi__find - how to unwind from an address
 * @pc: the address of an instruction, or of any byte of the call that a return address follows
 * @row: filled in
 *
 * Return: 0, -ENOENT where there is no information, -EINVAL where it makes no sense.
 */
int cfi__find(uint64_t pc, struct cfi_row *row);

/* Reads 8 bytes of the thread's memory; returns whether it could. */
typedef bool (*cfi_read_fn)(void *ctx, uint64_t addr, uint64_t *value);

/**
 * cfi__eval - the value of a DWARF expression of a row
 * @expr: its address, as in the row: length first
 * @regs: the frame's registers
 * @push: where to begin: the CFA, or NULL for that of the CFA itself
 */
bool cfi__eval(uint64_t expr, const uint64_t *regs, const uint64_t *push, cfi_read_fn read,
	       void *ctx, uint64_t *value);

/* The plain form "register + *@off" of the expression, with a dereference behind it or not. */
bool cfi__is_breg(uint64_t expr, uint8_t reg, bool deref, int64_t *off);

#endif /* XPU_PRELOAD_CFI_H */
