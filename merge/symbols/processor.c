// SPDX-License-Identifier: GPL-3.0-or-later
#include "symbols/processor.h"

#include <string.h>

#include "util.h"

/*
 * Finds the word through which a PLT entry jumps. The entry contains "jmp *disp32(%rip)". Linkers
 * use several forms, with entries of 16 or 8 bytes.
 */
static uint64_t x86_64_plt_word(const uint8_t *code, size_t nr, uint64_t addr, size_t *size)
{
	int32_t disp;
	size_t i;

	for (i = 0; i + 6 <= nr && i + 6 <= *size; i++) {
		if (code[i] != 0xff || code[i + 1] != 0x25)
			continue;
		memcpy(&disp, code + i + 2, sizeof(disp));
		return addr + i + 6 + (int64_t)disp;
	}
	return 0;
}

/*
 * Finds the word through which a PLT entry jumps. The entry begins with "adrp x16, page; ldr x17,
 * [x16, offset]", perhaps after "bti c".
 */
static uint64_t aarch64_plt_word(const uint8_t *code, size_t nr, uint64_t addr, size_t *size)
{
	enum { BTI_C = 0xd503245fu };
	uint32_t insns[3], *p = insns;
	int64_t page;

	if (nr < sizeof(insns))
		return 0;
	memcpy(insns, code, sizeof(insns));
	*size = 16;
	if (*p == BTI_C) {
		*size = 24;
		addr += 4;
		p++;
	}
	if ((p[0] & 0x9f00001f) != 0x90000010 || (p[1] & 0xffc003ff) != 0xf9400211)
		return 0;
	page = (int64_t)((uint64_t)(p[0] >> 5 & 0x7ffff) << 45) >> 31;
	page |= (int64_t)(p[0] >> 29 & 3) << 12;
	return (addr & ~0xfffull) + page + (p[1] >> 10 & 0xfff) * 8;
}

static const struct processor processors[] = {
	{
		.elf = EM_X86_64,
		.dwarf = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 },
		.ra_column = 16, .ra = NO_REGISTER, .address_bits = UINT64_MAX,
		.jump_slot = R_X86_64_JUMP_SLOT, .glob_dat = R_X86_64_GLOB_DAT,
		.irelative = R_X86_64_IRELATIVE,
		.plt_word = x86_64_plt_word, .plt_step = 0,
	}, {
		.elf = EM_AARCH64,
		.dwarf = { 19, 20, 21, 22, 23, 24, 29, 31, 25, 26, 27, 28, 30, 15, 16, 17,
			   NO_REGISTER },
		.ra_column = 30, .ra = XPU_REG_LR, .address_bits = (1ull << 48) - 1,
		/* a siginfo_t comes first, then the struct ucontext with the struct sigcontext */
		.signal_regs = 128 + 176 + 8,
		.jump_slot = R_AARCH64_JUMP_SLOT, .glob_dat = R_AARCH64_GLOB_DAT,
		.irelative = R_AARCH64_IRELATIVE,
		.plt_word = aarch64_plt_word, .plt_step = 4,
	},
};

const struct processor *processor__of(const struct elf_file *f)
{
	GElf_Ehdr ehdr;
	size_t i;

	if (!gelf_getehdr(f->elf, &ehdr))
		return NULL;
	for (i = 0; i < ARRAY_SIZE(processors); i++)
		if (processors[i].elf == ehdr.e_machine)
			return &processors[i];
	return NULL;
}
