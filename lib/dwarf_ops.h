/* SPDX-License-Identifier: MIT */
/*
 * dwarf_ops.h - evaluates the DWARF expressions of unwind tables that libdw has decoded
 *
 * The operations that need only the stack are in dwarf_expr.h.
 */
#ifndef LIB_DWARF_OPS_H
#define LIB_DWARF_OPS_H

#include <dwarf.h>
#include <elfutils/libdw.h>

#include "dwarf_expr.h"

#define DWARF_MAX_OPS	256		/* maximum number of operations in one expression */

/* A frame, and the expression that is evaluated for it. */
struct dwarf_ops {
	struct expr expr;
	/* Reads the register with this DWARF number. Return: whether its value is known. */
	bool (*reg)(const void *regs, uint64_t number, uint64_t *value);
	const void *regs;
	uint64_t cfa;
	bool is_value;			/* the result is the value itself, not its address */
};

static inline bool dwarf_ops__push_reg(struct dwarf_ops *d, uint64_t number, uint64_t offset)
{
	uint64_t value;

	return d->reg(d->regs, number, &value) && expr__push(&d->expr, value + offset);
}

/* Return: whether the operation was done. Refuses operations that no unwind table needs. */
static inline bool dwarf_ops__operate(struct dwarf_ops *d, const Dwarf_Op *op)
{
	switch (op->atom) {
	case DW_OP_lit0 ... DW_OP_lit31:
		return expr__push(&d->expr, op->atom - DW_OP_lit0);
	case DW_OP_breg0 ... DW_OP_breg31:
		return dwarf_ops__push_reg(d, op->atom - DW_OP_breg0, op->number);
	case DW_OP_bregx:
		return dwarf_ops__push_reg(d, op->number, op->number2);
	case DW_OP_reg0 ... DW_OP_reg31:
		d->is_value = true;
		return dwarf_ops__push_reg(d, op->atom - DW_OP_reg0, 0);
	case DW_OP_regx:
		d->is_value = true;
		return dwarf_ops__push_reg(d, op->number, 0);
	case DW_OP_const1u ... DW_OP_consts:
		return expr__push(&d->expr, op->number);
	case DW_OP_call_frame_cfa:
		return expr__push(&d->expr, d->cfa);
	case DW_OP_stack_value:
		d->is_value = true;
		return true;
	default:
		return expr__operate(&d->expr, op->atom, op->number);
	}
}

/* Evaluates an expression. Return: whether it has a result. */
static inline bool dwarf_ops__evaluate(struct dwarf_ops *d, const Dwarf_Op *ops, size_t nr,
				       uint64_t *result)
{
	size_t i;

	d->expr.nr = 0;
	d->is_value = false;
	if (nr > DWARF_MAX_OPS)
		return false;
	for (i = 0; i < nr; i++)
		if (!dwarf_ops__operate(d, &ops[i]))
			return false;
	if (!d->expr.nr)
		return false;
	*result = d->expr.v[d->expr.nr - 1];
	return true;
}

#endif /* LIB_DWARF_OPS_H */
