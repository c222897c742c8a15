// SPDX-License-Identifier: GPL-3.0-or-later
#include "symbols/file_cfi.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdlib.h>

#include "dwarf_expr.h"
#include "hash.h"
#include "symbols/processor.h"

#define MAX_OPS	256			/* most operations in one expression, so that branches
					 * cannot make it endless */

/* A cached rule of the tables for one place, because many samples are at the same places. */
struct place {
	uint64_t pc;
	Dwarf_Frame *frame;		/* NULL: the slot is empty */
	UT_hash_handle hh;
};

struct file_cfi {
	Dwarf_CFI *dwarf;
	const struct processor *cpu;
	struct place *places;
};

/* Evaluates one expression. */
struct machine_state {
	const struct processor *cpu;
	const struct cfi_regs *regs;
	uint64_t cfa;
	struct expr expr;
	bool is_value;			/* the result is the value itself, not its address */
};

struct file_cfi *file_cfi__new(const struct elf_file *f)
{
	struct file_cfi *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->cpu = processor__of(f);
	c->dwarf = c->cpu ? dwarf_getcfi_elf(f->elf) : NULL;
	if (c->dwarf)
		return c;
	free(c);
	return NULL;
}

void file_cfi__free(struct file_cfi *c)
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

static bool push_reg(struct machine_state *m, uint64_t number, uint64_t offset)
{
	uint8_t reg = processor__reg(m->cpu, number);

	if (reg == NO_REGISTER || !(m->regs->known & 1u << reg))
		return false;
	return expr__push(&m->expr, m->regs->v[reg] + offset);
}

/* Return: whether the operation was done. Refuses operations that no unwind table needs. */
static bool operate(struct machine_state *m, const Dwarf_Op *op)
{
	switch (op->atom) {
	case DW_OP_lit0 ... DW_OP_lit31:
		return expr__push(&m->expr, op->atom - DW_OP_lit0);
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
		return expr__push(&m->expr, op->number);
	case DW_OP_call_frame_cfa:
		return expr__push(&m->expr, m->cfa);
	case DW_OP_stack_value:
		m->is_value = true;
		return true;
	default:
		return expr__operate(&m->expr, op->atom, op->number);
	}
}

static bool evaluate(struct machine_state *m, const Dwarf_Op *ops, size_t nr, uint64_t *result)
{
	size_t i;

	m->expr.nr = 0;
	m->is_value = false;
	if (nr > MAX_OPS)
		return false;
	for (i = 0; i < nr; i++)
		if (!operate(m, &ops[i]))
			return false;
	if (!m->expr.nr)
		return false;
	*result = m->expr.v[m->expr.nr - 1];
	return true;
}

static Dwarf_Frame *file_cfi__frame(struct file_cfi *c, uint64_t pc)
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

/* Reads all registers of the code that a signal interrupted. */
static enum cfi_result signal__step(const struct processor *cpu, struct cfi_regs *regs,
				    cfi_read_fn read, void *ctx)
{
	enum { PC = 32 };		/* DWARF's number of the PC, after the registers 0 to 31 */
	uint64_t at = regs->v[XPU_REG_SP] + cpu->signal_regs;
	int i;

	regs->known = 0;
	for (i = 0; i < XPU_NR_REGS; i++)
		if (read(ctx, at + 8 * (i == XPU_REG_IP ? PC : cpu->dwarf[i]), &regs->v[i]))
			regs->known |= 1u << i;
	return regs->known == (1u << XPU_NR_REGS) - 1 ? CFI_STEPPED : CFI_LOST;
}

enum cfi_result file_cfi__step(struct file_cfi *c, uint64_t pc, struct cfi_regs *regs,
			       bool *interrupted, cfi_read_fn read, void *ctx)
{
	struct machine_state m = { .cpu = c->cpu,
				   .regs = regs,
				   .expr = { .read = read, .ctx = ctx } };
	Dwarf_Frame *frame = file_cfi__frame(c, pc);
	struct cfi_regs caller = { .known = 0 };
	Dwarf_Op ops_mem[3], *ops;
	bool in_register = false;
	uint64_t value;
	size_t nr_ops;
	int i, reg, from, ra;

	if (!frame)
		return CFI_NO_TABLE;
	ra = dwarf_frame_info(frame, NULL, NULL, interrupted);
	if (ra < 0 || dwarf_frame_cfa(frame, &ops, &nr_ops) || !nr_ops ||
	    !evaluate(&m, ops, nr_ops, &m.cfa))
		return CFI_LOST;
	if (*interrupted && c->cpu->signal_regs)
		return signal__step(c->cpu, regs, read, ctx);
	for (i = 0; i < XPU_NR_REGS; i++) {
		reg = i == XPU_REG_IP ? ra : c->cpu->dwarf[i];
		if (dwarf_frame_register(frame, reg, ops_mem, &ops, &nr_ops))
			return CFI_LOST;
		if (!nr_ops && ops) {			/* the register is undefined in the
							 * caller */
			if (i == XPU_REG_IP)
				return CFI_ROOT;
			continue;
		}
		if (!nr_ops) {
			from = i == XPU_REG_IP ? c->cpu->ra : i;
			if (from == NO_REGISTER)
				return CFI_LOST;
			in_register |= from != i;
			caller.v[i] = regs->v[from];
			caller.known |= (regs->known >> from & 1) << i;
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
	caller.v[XPU_REG_IP] &= c->cpu->address_bits;
	if (c->cpu->ra != NO_REGISTER)		/* the call has overwritten this register */
		caller.known &= ~(1u << c->cpu->ra);
	/*
	 * Each caller is higher on the stack, or at the same address if the return address is in a
	 * register, as in vfork(). A signal handler may have its own stack.
	 */
	if (!(caller.known & 1u << XPU_REG_IP) || !(caller.known & 1u << XPU_REG_SP) ||
	    (caller.v[XPU_REG_SP] < regs->v[XPU_REG_SP] + !in_register && !*interrupted))
		return CFI_LOST;
	*regs = caller;
	return CFI_STEPPED;
}
