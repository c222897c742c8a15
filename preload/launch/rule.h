/* SPDX-License-Identifier: MIT */
/*
 * rule.h - how a walk goes on from a return address
 *
 * Found out from the unwind tables (cfi.h), or where there are none from the code itself; then
 * packed into a word that can be remembered. Safe in signal handlers.
 */
#ifndef XPU_PRELOAD_RULE_H
#define XPU_PRELOAD_RULE_H

#include <stdbool.h>
#include <stdint.h>

struct cfi_row;

enum kind {
	RULE_SP,		/* CFA = rsp + cfa_off */
	RULE_BP,		/* CFA = rbp + cfa_off */
	RULE_BP_DEREF,		/* CFA = *(rbp + cfa_off): a function that aligned its stack */
	RULE_END,		/* nobody called this: _start, clone3 */
	RULE_START,		/* nor this, and it was not left by a call: makecontext()'s */
	RULE_SIGNAL,		/* returns from a signal handler; rsp is the struct ucontext */
	RULE_GUESS,		/* no information: a frame pointer, if it looks like one */
	RULE_FULL,		/* needs more registers, or an expression: see walk__full() */
	RULE_UNCALLED,		/* no information, not left by a call: as START if rbp is 0 */
	RULE_BAD,		/* not code */
};

enum bp_how {			/* the caller's rbp */
	BP_SAME,
	BP_CFA,			/* *(CFA + bp_off) */
	BP_BP,			/* *(rbp + bp_off) */
};

/*
 * All that a walk needs to know of a return address, in a word:
 *
 *	63      40 39     22 21  20 19  16 15   0
 *	 cfa_off    bp_off   bp_how  kind   next
 *
 * Offsets are in words of the stack; next is the entry that was the caller's the last time.
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

/**
 * rule__describe - find out
 * @ip: a return address; or with @exact the address of an instruction that was interrupted
 * @row: the rest, with RULE_FULL and RULE_GUESS
 *
 * Return: one of the kinds from RULE_END on. For those that read the code, the kernel is asked
 * whether it can be read.
 */
enum kind rule__describe(uint64_t ip, bool exact, struct cfi_row *row);

/* Whether there is a call before @ip, which may be any value: then it may be a return address. */
bool rule__follows_call(uint64_t ip);

/* The short form of that; of kind RULE_FULL where there is none. */
rule_t rule__pack(enum kind kind, const struct cfi_row *row);

#endif /* XPU_PRELOAD_RULE_H */
