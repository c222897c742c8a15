// SPDX-License-Identifier: GPL-3.0-or-later
#include "symbols/file_cfi.h"

#include <stdlib.h>

#include "dwarf_ops.h"
#include "hash.h"
#include "symbols/processor.h"

/* The unwind rule of one place. Rules are cached, because many samples are at the same places. */
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

/* the registers of a frame */
struct frame_regs {
	const struct processor *cpu;
	const struct cfi_regs *regs;
};

static bool frame_regs__get(const void *vregs, uint64_t number, uint64_t *value)
{
	const struct frame_regs *f = vregs;
	uint8_t reg = processor__reg(f->cpu, number);

	if (reg == NO_REGISTER || !(f->regs->known & 1u << reg))
		return false;
	*value = f->regs->v[reg];
	return true;
}

static Dwarf_Frame *file_cfi__frame(struct file_cfi *c, uint64_t pc)
{
	struct place *p;

	HASH_FIND(hh, c->places, &pc, sizeof(pc), p);
	if (p)
		return p->frame;
	p = HASH_NEW(c->places, pc, pc);
	if (!p)
		return NULL;
	if (dwarf_cfi_addrframe(c->dwarf, pc, &p->frame))
		p->frame = NULL;
	return p->frame;
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
	struct frame_regs frame_regs = { c->cpu, regs };
	struct dwarf_ops d = { .reg = frame_regs__get, .regs = &frame_regs,
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
	    !dwarf_ops__evaluate(&d, ops, nr_ops, &d.cfa))
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
		if (!dwarf_ops__evaluate(&d, ops, nr_ops, &value))
			continue;
		if (d.is_value || read(ctx, value, &value)) {
			caller.v[i] = value;
			caller.known |= 1u << i;
			in_register |= i == XPU_REG_IP && d.is_value;
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
