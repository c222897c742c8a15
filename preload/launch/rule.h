/* SPDX-License-Identifier: MIT */
/*
 * rule.h - describes how a walk continues at a return address
 *
 * The rule is taken from the unwind tables (cfi.h), or from the code itself if the tables lack it.
 * It is packed into one word that can be remembered. Safe in signal handlers.
 */
#ifndef XPU_PRELOAD_RULE_H
#define XPU_PRELOAD_RULE_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/this_arch.h"

struct cfi_row;

enum kind {
	RULE_SP,		/* CFA = sp + cfa_off */
	RULE_BP,		/* CFA = bp + cfa_off */
	RULE_BP_DEREF,		/* CFA = *(bp + cfa_off): a function that aligned its stack */
	RULE_END,		/* code that was not called: _start, clone3 */
	RULE_START,		/* the first code of a makecontext() context: it has no caller */
	RULE_SIGNAL,		/* returns from a signal handler; sp is the signal's frame */
	RULE_GUESS,		/* no information: treat bp as a frame pointer */
	RULE_FULL,		/* needs more registers, or an expression: see walk__full() */
	RULE_UNCALLED,		/* no information, and no call precedes the address: RULE_START if
				 * bp is 0 */
	RULE_BAD,		/* not code */
};

enum bp_how {			/* where the caller's bp is */
	BP_SAME,
	BP_CFA,			/* in memory, at CFA + bp_off */
	BP_BP,			/* in memory, at bp + bp_off */
};

/*
 * Everything that a walk needs to know about a return address, in one word:
 *
 *	63      40 39     22 21  20 19  16 15   0
 *	 cfa_off    bp_off   bp_how  kind   next
 *
 * Offsets are in words. @next is the index of the entry of the last caller. With RA_BY_RULE, the
 * return address is at CFA + bp_off if bp_how is BP_SAME; otherwise, it is FRAME_RA_OFF bytes after
 * the caller's saved bp.
 */
typedef uint64_t rule_t;

static inline enum kind rule__kind(rule_t rule)
{
	return rule >> 16 & 15;
}

static inline enum bp_how rule__bp_how(rule_t rule)
{
	return rule >> 20 & 3;
}

static inline int64_t rule__cfa_off(rule_t rule)
{
	return ((int64_t)rule >> 40) * 8;
}

static inline int64_t rule__bp_off(rule_t rule)
{
	return ((int64_t)(rule << 24) >> 46) * 8;
}

/* Return: the offset of the return address from the CFA. */
static inline int64_t rule__ra_off(rule_t rule)
{
	if (!RA_BY_RULE)
		return -8;
	return rule__bp_off(rule) + (rule__bp_how(rule) == BP_SAME ? 0 : FRAME_RA_OFF);
}

/**
 * rule__describe - find the rule of an address
 * @ip: a return address, or the address of an interrupted instruction if @exact
 * @row: filled in if the kind is RULE_FULL or RULE_GUESS
 *
 * Return: RULE_END or a kind listed after it. Before reading code, asks Linux whether it can be
 * read.
 */
enum kind rule__describe(uint64_t ip, bool exact, struct cfi_row *row);

/*
 * Whether a call instruction ends at @ip, so that @ip may be a return address. Any value is
 * allowed.
 */
bool rule__follows_call(uint64_t ip);

/* Return: a rule packed into one word; RULE_FULL if it does not fit. */
rule_t rule__pack(enum kind kind, const struct cfi_row *row);

#endif /* XPU_PRELOAD_RULE_H */
