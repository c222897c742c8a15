// SPDX-License-Identifier: GPL-3.0-or-later
#include "symbols/cfi.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdlib.h>

#include "hash.h"

#define DEPTH	16			/* of an expression's stack; compilers' need four */
#define MAX_OPS	256			/* of an expression that comes to an end, branches or not */

/* What the tables say of one place; samples come back to it. */
struct place {
	uint64_t pc;
	Dwarf_Frame *frame;		/* NULL: nothing */
	UT_hash_handle hh;
};

struct cfi {
	Dwarf_CFI *dwarf;
	struct place *places;
};

/* One evaluation. */
struct machine_state {
	const struct cfi_regs *regs;
	uint64_t cfa;
	cfi_read_fn read;
	void *ctx;
	uint64_t stack[DEPTH];
	size_t nr;
	bool is_value;			/* the result is the value itself, not where it is */
};

struct cfi *cfi__new(const struct elf_file *f)
{
	struct cfi *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->dwarf = dwarf_getcfi_elf(f->elf);
	if (c->dwarf)
		return c;
	free(c);
	return NULL;
}

void cfi__free(struct cfi *c)
{
	struct place *p, *next;

	if (!c)
		return;
	HASH_ITER(hh, c->places, p, next) {
		HASH_DEL(c->places, p);
		free(p->frame);
		free(p);
	}
	dwarf_cfi_end(c->dwarf);
	free(c);
}

static bool push(struct machine_state *m, uint64_t value)
{
	if (m->nr == DEPTH)
		return false;
	m->stack[m->nr++] = value;
	return true;
}

static bool push_reg(struct machine_state *m, uint64_t reg, uint64_t offset)
{
	if (reg >= XPU_NR_REGS || !(m->regs->known & 1u << reg))
		return false;
	return push(m, m->regs->v[reg] + offset);
}

/* The two topmost become one. */
static bool binary(struct machine_state *m, uint8_t atom)
{
	uint64_t a, b;

	if (m->nr < 2)
		return false;
	b = m->stack[--m->nr];
	a = m->stack[m->nr - 1];
	switch (atom) {
	case DW_OP_plus:	a += b; break;
	case DW_OP_minus:	a -= b; break;
	case DW_OP_mul:		a *= b; break;
	case DW_OP_and:		a &= b; break;
	case DW_OP_or:		a |= b; break;
	case DW_OP_xor:		a ^= b; break;
	case DW_OP_shl:		a = b < 64 ? a << b : 0; break;
	case DW_OP_shr:		a = b < 64 ? a >> b : 0; break;
	case DW_OP_eq:		a = a == b; break;
	case DW_OP_ne:		a = a != b; break;
	case DW_OP_lt:		a = (int64_t)a < (int64_t)b; break;
	case DW_OP_le:		a = (int64_t)a <= (int64_t)b; break;
	case DW_OP_gt:		a = (int64_t)a > (int64_t)b; break;
	case DW_OP_ge:		a = (int64_t)a >= (int64_t)b; break;
	default:		return false;
	}
	m->stack[m->nr - 1] = a;
	return true;
}

/* Return: whether the operation was done; those that no unwind table needs are not. */
static bool operate(struct machine_state *m, const Dwarf_Op *op)
{
	uint64_t *top = m->nr ? &m->stack[m->nr - 1] : NULL;

	switch (op->atom) {
	case DW_OP_lit0 ... DW_OP_lit31:
		return push(m, op->atom - DW_OP_lit0);
	case DW_OP_breg0 ... DW_OP_breg31:
		return push_reg(m, op->atom - DW_OP_breg0, op->number);
	case DW_OP_bregx:
		return push_reg(m, op->number, op->number2);
	case DW_OP_reg0 ... DW_OP_reg31:
		m->is_value = true;
		return push_reg(m, op->atom - DW_OP_reg0, 0);
	case DW_OP_regx:
		m->is_value = true;
		return push_reg(m, op->number, 0);
	case DW_OP_addr:
	case DW_OP_const1u:
	case DW_OP_const1s:
	case DW_OP_const2u:
	case DW_OP_const2s:
	case DW_OP_const4u:
	case DW_OP_const4s:
	case DW_OP_const8u:
	case DW_OP_const8s:
	case DW_OP_constu:
	case DW_OP_consts:
		return push(m, op->number);
	case DW_OP_call_frame_cfa:
		return push(m, m->cfa);
	case DW_OP_dup:
		return top && push(m, *top);
	case DW_OP_drop:
		m->nr -= top != NULL;
		return top;
	case DW_OP_plus_uconst:
		if (top)
			*top += op->number;
		return top;
	case DW_OP_deref:
		return top && m->read(m->ctx, *top, top);
	case DW_OP_nop:
		return true;
	case DW_OP_stack_value:
		m->is_value = true;
		return true;
	default:
		return binary(m, op->atom);
	}
}

static bool evaluate(struct machine_state *m, const Dwarf_Op *ops, size_t nr, uint64_t *result)
{
	size_t i;

	m->nr = 0;
	m->is_value = false;
	if (nr > MAX_OPS)
		return false;
	for (i = 0; i < nr; i++)
		if (!operate(m, &ops[i]))
			return false;
	if (!m->nr)
		return false;
	*result = m->stack[m->nr - 1];
	return true;
}

static Dwarf_Frame *cfi__frame(struct cfi *c, uint64_t pc)
{
	struct place *p;
	bool oom = false;

	HASH_FIND(hh, c->places, &pc, sizeof(pc), p);
	if (p)
		return p->frame;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->pc = pc;
	if (dwarf_cfi_addrframe(c->dwarf, pc, &p->frame))
		p->frame = NULL;
	HASH_ADD(hh, c->places, pc, sizeof(p->pc), p);
	if (!oom)
		return p->frame;
	free(p->frame);
	free(p);
	return NULL;
}

enum cfi_result cfi__step(struct cfi *c, uint64_t pc, struct cfi_regs *regs, bool *interrupted,
			  cfi_read_fn read, void *ctx)
{
	struct machine_state m = { .regs = regs, .read = read, .ctx = ctx };
	Dwarf_Frame *frame = cfi__frame(c, pc);
	struct cfi_regs caller = { .known = 0 };
	Dwarf_Op ops_mem[3], *ops;
	bool in_register = false;
	uint64_t value;
	size_t nr_ops;
	int i, reg, ra;

	if (!frame)
		return CFI_NO_TABLE;
	ra = dwarf_frame_info(frame, NULL, NULL, interrupted);
	if (ra < 0 || dwarf_frame_cfa(frame, &ops, &nr_ops) || !nr_ops ||
	    !evaluate(&m, ops, nr_ops, &m.cfa))
		return CFI_LOST;
	for (i = 0; i < XPU_NR_REGS; i++) {
		reg = i == XPU_REG_IP ? ra : i;
		if (dwarf_frame_register(frame, reg, ops_mem, &ops, &nr_ops))
			return CFI_LOST;
		if (!nr_ops && ops) {			/* not kept */
			if (i == XPU_REG_IP)
				return CFI_ROOT;
			continue;
		}
		if (!nr_ops) {
			caller.v[i] = regs->v[i];
			caller.known |= regs->known & 1u << i;
			continue;
		}
		if (!evaluate(&m, ops, nr_ops, &value))
			continue;
		if (m.is_value || read(ctx, value, &value)) {
			caller.v[i] = value;
			caller.known |= 1u << i;
			in_register |= i == XPU_REG_IP && m.is_value;
		}
	}
	/*
	 * Each caller is further up; or as far, where the return address is in a register, as
	 * vfork() has it. A signal may have another stack.
	 */
	if (!(caller.known & 1u << XPU_REG_IP) || !(caller.known & 1u << XPU_REG_SP) ||
	    (caller.v[XPU_REG_SP] < regs->v[XPU_REG_SP] + !in_register && !*interrupted))
		return CFI_LOST;
	*regs = caller;
	return CFI_STEPPED;
}
