// SPDX-License-Identifier: MIT
#include "launch/code.h"

#include <string.h>

#include "launch/cfi.h"

bool code__is_signal_return(const uint8_t *at)
{
	/* in every C library: mov $15, %rax; syscall */
	static const uint8_t insns[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };

	return !memcmp(at, insns, sizeof(insns));
}

bool code__follows_call(const uint8_t *at)
{
	int len, need;
	uint8_t modrm;

	if (at[-5] == 0xe8)
		return true;
	for (len = 2; len <= 7; len++) {
		if (at[-len] != 0xff)
			continue;
		modrm = at[-len + 1];
		if ((modrm >> 3 & 7) != 2)
			continue;
		need = 2;
		if (modrm >> 6 == 3)
			goto out;
		if ((modrm & 7) == 4)
			need++;
		if (modrm >> 6 == 1)
			need++;
		else if (modrm >> 6 == 2 || (modrm & 7) == 5 ||
			 ((modrm & 7) == 4 && len > 2 && (at[-len + 2] & 7) == 5))
			need += 4;
out:
		if (need == len)
			return true;
	}
	return false;
}

bool code__read_epilogue(const uint8_t *at, const uint8_t *end, struct cfi_row *row)
{
	int64_t off = 0, reg_off[CFI_NR_REGS];
	uint32_t seen = 0;
	int32_t imm;
	uint8_t reg;
	int i;
	/* DWARF's numbers of the callee-saved registers; the index is the processor's number. */
	static const uint8_t saved[16] = { [3] = CFI_RBX, [5] = CFI_BP, [12] = 12, [13] = 13,
					   [14] = 14, [15] = 15 };

	row->cfa_reg = CFI_SP;
	for (;; ) {
		if (end - at < 8)
			return false;
		if (at[0] == 0x48 && at[1] == 0x83 && at[2] == 0xc4) {		/* add $8, %rsp */
			off += (int8_t)at[3];
			at += 4;
		} else if (at[0] == 0x48 && at[1] == 0x81 && at[2] == 0xc4) {
			memcpy(&imm, at + 3, 4);
			off += imm;
			at += 7;
		} else if (at[0] == 0xc9) {					/* leave */
			row->cfa_reg = CFI_BP;
			reg_off[CFI_BP] = 0;
			seen = 1u << CFI_BP;
			off = 8;
			at++;
		} else if ((at[0] & 0xf8) == 0x58 || (at[0] == 0x41 && (at[1] & 0xf8) == 0x58)) {
			reg = at[0] == 0x41 ? 8 + (at[1] & 7) : at[0] & 7;
			at += at[0] == 0x41 ? 2 : 1;
			if (reg == 4)
				return false;
			if (saved[reg]) {
				reg_off[saved[reg]] = off;
				seen |= 1u << saved[reg];
			}
			off += 8;
		} else if (at[0] == 0xc3) {					/* ret */
			break;
		} else {
			return false;
		}
	}
	off += 8;
	if (off < 8)
		return false;
	row->cfa_off = off;
	for (i = 0; i < CFI_NR_REGS; i++)
		if (seen & 1u << i)
			row->regs[i] = (struct cfi_rule){ CFI_OFFSET, reg_off[i] - off };
	row->regs[CFI_IP] = (struct cfi_rule){ CFI_OFFSET, -8 };
	return true;
}

/* Finds nothing here: linkers write unwind information for the linkage table. */
bool code__read_stub(const uint8_t *at, struct cfi_row *row)
{
	(void)at;
	(void)row;
	return false;
}
