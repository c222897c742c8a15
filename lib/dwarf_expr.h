/* SPDX-License-Identifier: MIT */
/*
 * dwarf_expr.h - the stack of a DWARF expression, and the operations that need only the stack
 *
 * The caller reads operands and registers, and follows jumps: the shim decodes the bytes of the
 * running process, and xpumerge uses operations that libdw has decoded. Nothing here locks,
 * allocates or makes a system call.
 */
#ifndef LIB_DWARF_EXPR_H
#define LIB_DWARF_EXPR_H

#include <stdbool.h>
#include <stdint.h>

#define EXPR_DEPTH	16		/* maximum depth; compilers' expressions need four */

/* The numbers of DW_OP_*. */
enum expr_op {
	EXPR_DEREF = 0x06, EXPR_DUP = 0x12, EXPR_DROP, EXPR_OVER, EXPR_SWAP = 0x16,
	EXPR_AND = 0x1a, EXPR_MINUS = 0x1c, EXPR_MUL = 0x1e, EXPR_NEG, EXPR_NOT, EXPR_OR,
	EXPR_PLUS, EXPR_PLUS_UCONST, EXPR_SHL, EXPR_SHR, EXPR_SHRA, EXPR_XOR,
	EXPR_EQ = 0x29, EXPR_GE, EXPR_GT, EXPR_LE, EXPR_LT, EXPR_NE, EXPR_NOP = 0x96,
};

struct expr {
	uint64_t v[EXPR_DEPTH];
	unsigned int nr;
	/* Reads eight bytes at an address. Return: whether they could be read. */
	bool (*read)(void *ctx, uint64_t addr, uint64_t *value);
	void *ctx;
};

/* This function and the next ones return whether they succeeded. */
static inline bool expr__push(struct expr *e, uint64_t value)
{
	if (e->nr == EXPR_DEPTH)
		return false;
	e->v[e->nr++] = value;
	return true;
}

/* Replaces the top two values by the result of @op. */
static inline bool expr__binary(struct expr *e, uint8_t op)
{
	uint64_t a, b;

	if (e->nr < 2)
		return false;
	a = e->v[e->nr - 2];
	b = e->v[e->nr - 1];
	switch (op) {
	case EXPR_AND:		a &= b; break;
	case EXPR_MINUS:	a -= b; break;
	case EXPR_MUL:		a *= b; break;
	case EXPR_OR:		a |= b; break;
	case EXPR_PLUS:		a += b; break;
	case EXPR_SHL:		a = b < 64 ? a << b : 0; break;
	case EXPR_SHR:		a = b < 64 ? a >> b : 0; break;
	case EXPR_SHRA:		a = (int64_t)a >> (b < 64 ? b : 63); break;
	case EXPR_XOR:		a ^= b; break;
	case EXPR_EQ:		a = a == b; break;
	case EXPR_GE:		a = (int64_t)a >= (int64_t)b; break;
	case EXPR_GT:		a = (int64_t)a > (int64_t)b; break;
	case EXPR_LE:		a = (int64_t)a <= (int64_t)b; break;
	case EXPR_LT:		a = (int64_t)a < (int64_t)b; break;
	case EXPR_NE:		a = a != b; break;
	default:		return false;
	}
	e->v[--e->nr - 1] = a;
	return true;
}

/*
 * Performs operation @op. @operand: the operand of EXPR_PLUS_UCONST. Return: false if the operation
 * failed or is not in enum expr_op.
 */
static inline bool expr__operate(struct expr *e, uint8_t op, uint64_t operand)
{
	uint64_t *top = e->nr ? &e->v[e->nr - 1] : 0, tmp;

	if (op == EXPR_NOP)
		return true;
	if (!top)
		return false;
	switch (op) {
	case EXPR_DEREF:
		return e->read(e->ctx, *top, top);
	case EXPR_DUP:
		return expr__push(e, *top);
	case EXPR_DROP:
		e->nr--;
		return true;
	case EXPR_OVER:
		return e->nr > 1 && expr__push(e, top[-1]);
	case EXPR_SWAP:
		if (e->nr < 2)
			return false;
		tmp = top[0];
		top[0] = top[-1];
		top[-1] = tmp;
		return true;
	case EXPR_NEG:
		*top = -*top;
		return true;
	case EXPR_NOT:
		*top = ~*top;
		return true;
	case EXPR_PLUS_UCONST:
		*top += operand;
		return true;
	default:
		return expr__binary(e, op);
	}
}

#endif /* LIB_DWARF_EXPR_H */
