// SPDX-License-Identifier: MIT
#include "launch/rule.h"

#include <string.h>

#include "launch/cfi.h"
#include "base/memory.h"

#define CFA_BITS	24
#define BP_BITS		18

static rule_t rule__make(enum kind kind, int64_t cfa_off, enum bp_how bp_how, int64_t bp_off)
{
	return (uint64_t)(cfa_off / 8) << 40 |
	       ((uint64_t)(bp_off / 8) & ((1u << BP_BITS) - 1)) << 22 |
	       (uint64_t)bp_how << 20 | (uint64_t)kind << 16;
}

#define BEFORE	8
#define AFTER	40

/* Copies the code around @ip, as far as it can be read; the rest is zero. */
static bool get_code(uint64_t ip, uint8_t *code)
{
	uint64_t page = ip & ~(PAGE - 1), from = ip - BEFORE, to = ip + AFTER;

	memset(code, 0, BEFORE + AFTER);
	if (ip < PAGE || ip >= USER_MAX || !memory__readable(ip))
		return false;
	if (from < page && !memory__readable(from))
		from = page;
	if (to > page + PAGE && !memory__readable(to))
		to = page + PAGE;
	for (; from < to; from++)
		asm volatile("movb (%1), %0" : "=q"(code[from - ip + BEFORE]) : "r"(from));
	return true;
}

/* Whether @at is a signal return, which in every C library is mov $15, %rax; syscall. */
static bool is_signal_return(const uint8_t *at)
{
	static const uint8_t insns[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };

	return !memcmp(at, insns, sizeof(insns));
}

/* Whether a call instruction ends where @at begins: return addresses point to such places only. */
static bool follows_call(const uint8_t *at)
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

/*
 * Code that returns right after its call shows where its frame is, by add, pop and ret, as in
 * Python's perf trampolines. Sets *@row for it. Return: whether @at is such code.
 */
static bool read_epilogue(const uint8_t *at, const uint8_t *end, struct cfi_row *row)
{
	int64_t off = 0, reg_off[CFI_NR_REGS];
	uint32_t seen = 0;
	int32_t imm;
	uint8_t reg;
	int i;
	/* DWARF's numbers of the registers that a callee saves, by the machine's numbers. */
	static const uint8_t saved[16] = { [3] = CFI_RBX, [5] = CFI_RBP, [12] = 12, [13] = 13,
					   [14] = 14, [15] = 15 };

	row->cfa_reg = CFI_RSP;
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
			row->cfa_reg = CFI_RBP;
			reg_off[CFI_RBP] = 0;
			seen = 1u << CFI_RBP;
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
	row->regs[CFI_RIP] = (struct cfi_rule){ CFI_OFFSET, -8 };
	return true;
}

/*
 * Return: how to unwind code without unwind tables, judged by its instructions. @ip is a return
 * address, or with @exact an interrupted instruction.
 */
static enum kind look_at_code(uint64_t ip, bool exact, struct cfi_row *row)
{
	uint8_t code[BEFORE + AFTER];

	memset(row, 0, sizeof(*row));
	if (!get_code(ip, code))
		return RULE_BAD;
	if (is_signal_return(code + BEFORE))
		return RULE_SIGNAL;
	if (!exact) {
		/*
		 * No call led here: the address was put on the stack to be returned to, as by
		 * makecontext().
		 */
		if (!follows_call(code + BEFORE)) {
			if (cfi__find(ip, row))
				return RULE_UNCALLED;
			return row->start == ip ? RULE_START : RULE_BAD;
		}
		if (read_epilogue(code + BEFORE, code + sizeof(code), row))
			return RULE_FULL;
	}
	memset(row, 0, sizeof(*row));
	row->cfa_reg = CFI_RBP;
	row->cfa_off = 16;
	row->regs[CFI_RBP] = (struct cfi_rule){ CFI_OFFSET, -16 };
	row->regs[CFI_RIP] = (struct cfi_rule){ CFI_OFFSET, -8 };
	return RULE_GUESS;
}

enum kind rule__describe(uint64_t ip, bool exact, struct cfi_row *row)
{
	uint8_t code[BEFORE + AFTER];

	if (cfi__find(ip - !exact, row))
		return look_at_code(ip, exact, row);
	/*
	 * @ip may be behind a function that ends with a call that never returns, or at the start of
	 * the next function.
	 */
	if (ip == row->end && !exact && get_code(ip, code) && !follows_call(code + BEFORE) &&
	    !is_signal_return(code + BEFORE))
		return look_at_code(ip, exact, row);
	if (row->signal && get_code(ip, code) && is_signal_return(code + BEFORE))
		return RULE_SIGNAL;
	return row->regs[CFI_RIP].how == CFI_UNDEFINED ? RULE_END : RULE_FULL;
}

bool rule__follows_call(uint64_t ip)
{
	uint8_t code[BEFORE + AFTER];

	return get_code(ip, code) && follows_call(code + BEFORE);
}

static bool fits(int64_t v, unsigned int bits)
{
	return v >= -(1ll << (bits - 1)) && v < 1ll << (bits - 1);
}

rule_t rule__pack(enum kind kind, const struct cfi_row *row)
{
	const rule_t full = rule__make(RULE_FULL, 0, BP_SAME, 0);
	const struct cfi_rule *rip = &row->regs[CFI_RIP], *rbp = &row->regs[CFI_RBP];
	int64_t cfa_off = row->cfa_off, bp_off = rbp->v;
	enum bp_how bp_how;

	if (kind == RULE_GUESS)
		return rule__make(kind, 16, BP_CFA, -16);
	if (kind != RULE_FULL)
		return rule__make(kind, 0, BP_SAME, 0);

	if (row->cfa_expr) {
		if (!cfi__is_breg(row->cfa_expr, CFI_RBP, true, &cfa_off))
			return full;
		kind = RULE_BP_DEREF;
	} else if (row->cfa_reg == CFI_RSP || row->cfa_reg == CFI_RBP) {
		kind = row->cfa_reg == CFI_RSP ? RULE_SP : RULE_BP;
	} else {
		return full;
	}
	switch (rbp->how) {
	case CFI_SAME:
	case CFI_UNDEFINED:
		bp_how = BP_SAME;
		bp_off = 0;
		break;
	case CFI_OFFSET:
		bp_how = BP_CFA;
		break;
	case CFI_EXPR:
		bp_how = BP_BP;
		if (!cfi__is_breg(rbp->v, CFI_RBP, false, &bp_off))
			return full;
		break;
	default:
		return full;
	}
	if (row->signal || rip->how != CFI_OFFSET || rip->v != -8 ||
	    row->regs[CFI_RSP].how != CFI_SAME || cfa_off % 8 || !fits(cfa_off / 8, CFA_BITS) ||
	    bp_off % 8 || !fits(bp_off / 8, BP_BITS))
		return full;
	return rule__make(kind, cfa_off, bp_how, bp_off);
}
