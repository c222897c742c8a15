/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * processor.h - facts about the processors whose programs xpumerge symbolizes and unwinds
 *
 * A file names its processor, so a recording of one kind of machine can be read on another.
 */
#ifndef MERGE_PROCESSOR_H
#define MERGE_PROCESSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xpu_record.h"
#include "symbols/elf_file.h"

#define NO_REGISTER	0xff

struct processor {
	uint16_t elf;			/* EM_* */
	/*
	 * DWARF's number for each register of a STACK record; NO_REGISTER: DWARF has no number for
	 * it
	 */
	uint8_t dwarf[XPU_NR_REGS];
	uint8_t ra_column;		/* DWARF's number of the return address */
	uint8_t ra;			/* the XPU_REG_* where a call puts the return address;
					 * NO_REGISTER: a call puts it on the stack */
	uint64_t address_bits;		/* the bits of a return address that are an address; the
					 * other bits may be a signature */
	uint64_t signal_regs;		/* offset of the registers in a signal frame, where they are
					 * in the order of DWARF's numbers; 0: the frame's unwind
					 * information is complete, so no offset is needed */
	uint32_t jump_slot, glob_dat, irelative;	/* relocations: R_* */
	/*
	 * Reads the PLT entry at @addr, in the @nr bytes at @code. Sets *@size to the size of the
	 * entry. Return: the address of the word through which the entry jumps, or 0 if no entry
	 * begins at @addr.
	 */
	uint64_t (*plt_word)(const uint8_t *code, size_t nr, uint64_t addr, size_t *size);
	size_t plt_step;		/* bytes between places where an entry may begin */
};

/* Return: the processor of a file, or NULL if it is unknown. */
const struct processor *processor__of(const struct elf_file *f);

/* Return: the XPU_REG_* with that number in DWARF, or NO_REGISTER. */
static inline uint8_t processor__reg(const struct processor *p, uint64_t dwarf)
{
	uint8_t i;

	for (i = 0; i < XPU_NR_REGS; i++)
		if (p->dwarf[i] == dwarf)
			return i;
	return NO_REGISTER;
}

#endif /* MERGE_PROCESSOR_H */
