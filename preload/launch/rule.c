// SPDX-License-Identifier: MIT
#include "launch/rule.h"

#include <string.h>

#include "base/memory.h"
#include "launch/cfi.h"
#include "launch/code.h"
#include "launch/generation.h"

#define CFA_BITS	24
#define BP_BITS		18

static rule_t rule__make(enum kind kind, int64_t cfa_off, enum bp_how bp_how, int64_t bp_off)
{
	return (uint64_t)(cfa_off / 8) << 40 |
	       ((uint64_t)(bp_off / 8) & ((1u << BP_BITS) - 1)) << 22 |
	       (uint64_t)bp_how << 20 | (uint64_t)kind << 16;
}

#define BEFORE	CODE_BEFORE
#define AFTER	CODE_AFTER

/* Copies the code around @ip, as far as it can be read, and zeroes the remaining bytes. */
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
		code[from - ip + BEFORE] = arch__load_byte(from);
	return true;
}

/*
 * Return: how to unwind code that has no unwind tables, judged by its instructions. @ip is a return
 * address, or an interrupted instruction if @exact.
 */
static enum kind look_at_code(uint64_t ip, bool exact, struct cfi_row *row)
{
	uint8_t code[BEFORE + AFTER];

	memset(row, 0, sizeof(*row));
	if (!get_code(ip, code))
		return RULE_BAD;
	if (code__is_signal_return(code + BEFORE))
		return RULE_SIGNAL;
	if (exact && code__read_stub(code + BEFORE, row))
		return RULE_FULL;
	if (!exact) {
		/*
		 * No call precedes @ip: code such as makecontext() put @ip on the stack as a return
		 * address.
		 */
		if (!code__follows_call(code + BEFORE)) {
			if (cfi__find(ip, row))
				return RULE_UNCALLED;
			return row->start == ip ? RULE_START : RULE_BAD;
		}
		if (code__read_epilogue(code + BEFORE, code + sizeof(code), row))
			return RULE_FULL;
	}
	memset(row, 0, sizeof(*row));
	row->cfa_reg = CFI_BP;
	row->cfa_off = 16;
	row->regs[CFI_BP] = (struct cfi_rule){ CFI_OFFSET, -16 };
	row->regs[CFI_IP] = (struct cfi_rule){ CFI_OFFSET, -8 };
	return RULE_GUESS;
}

enum kind rule__describe(uint64_t ip, bool exact, struct cfi_row *row)
{
	uint8_t code[BEFORE + AFTER];

	if (cfi__find(ip - !exact, row)) {
		atomic_fetch_add(&generation__nr_other, 1);
		return look_at_code(ip, exact, row);
	}
	/*
	 * @ip may be the end of a function whose last instruction is a call that never returns, or
	 * the start of the next function.
	 */
	if (ip == row->end && !exact && get_code(ip, code) && !code__follows_call(code + BEFORE) &&
	    !code__is_signal_return(code + BEFORE))
		return look_at_code(ip, exact, row);
	if (row->signal && get_code(ip, code) && code__is_signal_return(code + BEFORE))
		return RULE_SIGNAL;
	return row->regs[CFI_IP].how == CFI_UNDEFINED ? RULE_END : RULE_FULL;
}

bool rule__follows_call(uint64_t ip)
{
	uint8_t code[BEFORE + AFTER];

	return get_code(ip, code) && code__follows_call(code + BEFORE);
}

static bool fits(int64_t v, unsigned int bits)
{
	return v >= -(1ll << (bits - 1)) && v < 1ll << (bits - 1);
}

/* Return: the offset of the return address from the CFA, for a rule with these members. */
static int64_t ra_off(enum bp_how bp_how, int64_t bp_off)
{
	return rule__ra_off(rule__make(RULE_SP, 0, bp_how, bp_off));
}

rule_t rule__pack(enum kind kind, const struct cfi_row *row)
{
	const rule_t full = rule__make(RULE_FULL, 0, BP_SAME, 0);
	const struct cfi_rule *ra = &row->regs[CFI_IP], *bp = &row->regs[CFI_BP];
	int64_t cfa_off = row->cfa_off, bp_off = bp->v;
	enum bp_how bp_how;

	if (kind == RULE_GUESS)
		return rule__make(kind, 16, BP_CFA, -16);
	if (kind != RULE_FULL)
		return rule__make(kind, 0, BP_SAME, 0);

	if (row->cfa_expr) {
		if (!cfi__is_breg(row->cfa_expr, CFI_BP, true, &cfa_off))
			return full;
		kind = RULE_BP_DEREF;
	} else if (row->cfa_reg == CFI_SP || row->cfa_reg == CFI_BP) {
		kind = row->cfa_reg == CFI_SP ? RULE_SP : RULE_BP;
	} else {
		return full;
	}
	switch (bp->how) {
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
		if (RA_BY_RULE || !cfi__is_breg(bp->v, CFI_BP, false, &bp_off))
			return full;
		break;
	default:
		return full;
	}
	if (RA_BY_RULE && bp_how == BP_SAME)
		bp_off = ra->v;
	if (row->signal || ra->how != CFI_OFFSET || ra->v != ra_off(bp_how, bp_off) ||
	    row->regs[CFI_SP].how != CFI_SAME || cfa_off % 8 || !fits(cfa_off / 8, CFA_BITS) ||
	    bp_off % 8 || !fits(bp_off / 8, BP_BITS))
		return full;
	return rule__make(kind, cfa_off, bp_how, bp_off);
}
