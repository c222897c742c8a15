// SPDX-License-Identifier: MIT
#include "launch/code.h"

#include <string.h>

#include "launch/cfi.h"

bool code__is_signal_return(const uint8_t *at)
{
	/* in Linux's vDSO: mov x8, #139; svc #0 */
	static const uint32_t insns[] = { 0xd2801168, 0xd4000001 };

	return !memcmp(at, insns, sizeof(insns));
}

bool code__follows_call(const uint8_t *at)
{
	uint32_t insn;

	memcpy(&insn, at - sizeof(insn), sizeof(insn));
	/* bl; or blr and its forms that check the address's signature */
	return (insn & 0xfc000000) == 0x94000000 || (insn & 0xfefff000) == 0xd63f0000;
}

/* Finds nothing on AArch64: all known code that returns right after a call keeps frame pointers. */
bool code__read_epilogue(const uint8_t *at, const uint8_t *end, struct cfi_row *row)
{
	(void)at;
	(void)end;
	(void)row;
	return false;
}

/* instructions of the linkage table, without operands; addresses go through x16 and x17 */
enum {
	BTI_C	= 0xd503245f,
	PUSH	= 0xa9bf7bf0,		/* stp x16, x30, [sp, #-16]!, in the first entry only */
	ADRP	= 0x90000010,
	LDR	= 0xf9400211,
	ADD	= 0x91000210,
	AUTH	= 0xd503219f,		/* autia1716 */
	BR	= 0xd61f0220,
};

static uint32_t operation(const uint8_t *at)
{
	uint32_t insn;

	memcpy(&insn, at, sizeof(insn));
	if ((insn & 0x9f00001f) == ADRP)
		return ADRP;
	if ((insn & 0xffc003ff) == LDR)
		return LDR;
	return (insn & 0xffc003ff) == ADD ? ADD : insn;
}

/*
 * Whether @at is the first instruction that computes an address, in an entry of the linkage table.
 */
static bool is_entry(const uint8_t *at)
{
	const uint8_t *jump = at + 12;

	if (operation(at) != ADRP || operation(at + 4) != LDR || operation(at + 8) != ADD)
		return false;
	return operation(operation(jump) == AUTH ? jump + 4 : jump) == BR;
}

bool code__read_stub(const uint8_t *at, struct cfi_row *row)
{
	uint32_t op = operation(at);
	const uint8_t *start = at;
	int i;

	if (op == BTI_C || op == PUSH) {
		start += 4;
	} else {
		for (i = 0; i < 4 && operation(start) != ADRP; i++)
			start -= 4;
	}
	if (!is_entry(start))
		return false;
	row->cfa_reg = CFI_SP;
	row->regs[CFI_IP] = (struct cfi_rule){ CFI_REGISTER, CFI_RA };
	if (start <= at && operation(start - 4) == PUSH) {
		row->cfa_off = 16;
		row->regs[CFI_IP] = row->regs[CFI_RA] = (struct cfi_rule){ CFI_OFFSET, -8 };
	}
	return true;
}
