// SPDX-License-Identifier: MIT
#include "unwind.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "xpu_record.h"

static bool enabled;
static unsigned int max_frames = XPU_DEFAULT_FRAMES;
static int message_level;
static char message[256];

static __attribute__((format(printf, 2, 3))) void complain(int level, const char *fmt, ...)
{
	va_list args;

	message_level = level;
	va_start(args, fmt);
	vsnprintf(message, sizeof(message), fmt, args);
	va_end(args);
}

const char *unwind__message(int *level)
{
	*level = message_level;
	return message[0] ? message : NULL;
}

#ifndef __x86_64__

static const char *unavailable(void)
{
	return "the shim unwinds on x86-64 only";
}

size_t unwinder__bytes(void)
{
	return 0;
}

bool unwinder__chain(struct unwinder *u, unsigned int level, struct xpu_slot *slot,
		     const struct unwind_trace *trace)
{
	(void)u;
	(void)level;
	(void)trace;
	slot->nr_frames = 0;
	slot->flags = 0;
	return false;
}

size_t unwinder__trace_bytes(const struct unwinder *u)
{
	(void)u;
	return 0;
}

uint64_t unwinder__trace_key(const struct unwinder *u)
{
	(void)u;
	return 0;
}

void unwinder__trace(const struct unwinder *u, struct unwind_trace *trace)
{
	(void)u;
	(void)trace;
}

const uint64_t *unwinder__stack(const struct unwinder *u, unsigned int level)
{
	(void)u;
	(void)level;
	return NULL;
}

#else

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cfi.h"
#include "libc.h"

#define PAGE		4096ull
#define STACK_MAX	(256ull << 20)	/* further than this, one stack is not probed through */
#define USER_MAX	(1ull << 47)

enum kind {
	RULE_SP,		/* CFA = rsp + cfa_off */
	RULE_BP,		/* CFA = rbp + cfa_off */
	RULE_BP_DEREF,		/* CFA = *(rbp + cfa_off): a function that aligned its stack */
	RULE_END,		/* nobody called this: _start, clone3 */
	RULE_START,		/* nor this, and it was not left by a call: makecontext()'s */
	RULE_SIGNAL,		/* returns from a signal handler; rsp is the struct ucontext */
	RULE_GUESS,		/* no information: a frame pointer, if it looks like one */
	RULE_FULL,		/* needs more registers, or an expression: see walk__full() */
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

#define CFA_BITS	24
#define BP_BITS		18

static inline rule_t rule__make(enum kind kind, int64_t cfa_off, enum bp_how bp_how, int64_t bp_off)
{
	return (uint64_t)(cfa_off / 8) << 40 |
	       ((uint64_t)(bp_off / 8) & ((1u << BP_BITS) - 1)) << 22 |
	       (uint64_t)bp_how << 20 | (uint64_t)kind << 16;
}

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

struct entry {
	uint64_t key;		/* the address, plus the generation in the bits above; 0: empty */
	rule_t rule;
};

_Static_assert(sizeof(struct entry) == 16, "four in a cache line");

#define WAYS	4
#define SETS	2048		/* a power of two; 8192 addresses in 128 KB */

_Static_assert(WAYS * SETS <= 1 << 16, "the bits of next");

/* Memory that could be read when it was tried; the stack is in there. */
struct range {
	uint64_t lo, hi;
	bool own;		/* the thread's own stack, which stays as long as the thread */
	bool closed;		/* what is above it cannot be read */
};

#define NR_RANGES	8

struct ranges {
	struct range v[NR_RANGES];
	unsigned int next;	/* to be replaced */
};

/* What led from one frame of a walk to its caller's. */
struct step {
	uint64_t bp;			/* in that frame */
	uint64_t bp_at;			/* where the caller's was read; 0: it is the same */
	uint64_t cfa_at;		/* where the caller's sp was read; 0: it follows from sp or bp */
	uint64_t end;			/* where the return address 0 was read, at the end of a walk */
	bool by_bp;			/* bp said where something is */
	bool unusual;			/* and more than this was looked at */
};

/* A word of the stack that a walk has read. */
struct word {
	uint64_t addr, value;
};

/*
 * A frame of the last walk, seen from the outside: whatever is inside of it, a walk that comes to it
 * goes on as that one did if it comes with the same rsp, the same rip and, should it matter, the
 * same rbp, and if the words that were read from there on are still the same.
 */
struct outer {
	uint64_t bp;
	uint32_t nr_words;		/* of the last walk's, to its end */
	bool bp_matters;
};

#define MAX_WORDS	3		/* in a step */

struct last_walk {
	uint64_t *frames, *stack;	/* as the chain has them; in stack, one more behind the end */
	unsigned int nr;		/* of frames; 0: none to go by */
	unsigned int nr_outer;		/* of the outermost frames: those that can be compared */
	/* The same of where the walk began, in here; nr_words 0: it cannot be compared. */
	uint64_t sp;
	struct outer whole;
};

struct unwinder {
	struct entry rules[SETS * WAYS];
	struct ranges ranges;
	uint64_t generation;
	unsigned int nr_filled;
	struct last_walk last;
	uint64_t *spare[2];		/* frames and stack for the next walk */
	uint64_t *stack;		/* of the last walk at level 0, be it whole or not */
	struct step *steps;		/* of this walk: to its first frame, and from each */
	struct outer *outer;		/* of the last one, outermost first */
	struct word *words;		/* the same */
	uint64_t chains[];		/* see unwinder__start() */
};

struct context {
	uint64_t rbx, rbp, r12, r13, r14, r15, rsp, rip;
};

struct walk {
	struct unwinder *u;
	struct ranges *ranges;
	struct range *range;		/* the one in use ... */
	uint64_t lo, span;		/* ... and 8 bytes are in it from lo to lo + span */
	uint64_t *frames, *stack;
	unsigned int nr, max;
	uint64_t cfa;			/* see walk__unusual() */
	uint64_t generation;		/* as it is in keys */
	bool remember;			/* what is found out; not when a walk was interrupted */
	unsigned int joined;		/* 1 + the frame where it came upon the last walk; 0: it did not */
	unsigned int join;		/* the frame of the last walk there, or to be looked at next */
	uint32_t nr_same;		/* of the last walk's words, from the outside; once it is known */
	bool compared;			/* it is */
	struct entry unkept;		/* or not to be remembered */
};

enum outcome { COMPLETE, CUT, NEEDS_FULL, GOES_ON };

/* ---- what the process's code is -------------------------------------------------------------- */

/*
 * The dynamic loader counts the objects it has mapped, for dl_iterate_phdr(), which would take its
 * lock. Rules are good as long as the count is: another object can only be where one was unloaded
 * if it was loaded since. The counter has no name; find_generation() finds out where it is.
 */
static const volatile uint64_t *nr_loads;
static const volatile uint32_t *nr_loaded;	/* in the first namespace: unloading counts, too */

static uint64_t generation(void)
{
	return 2 * *nr_loads - (nr_loaded ? *nr_loaded : 0);
}

struct counts {
	uint64_t loads, loaded;
};

static int get_counts(struct dl_phdr_info *info, size_t size, void *data)
{
	struct counts *c = data;

	if (size < offsetof(struct dl_phdr_info, dlpi_subs) + sizeof(info->dlpi_subs))
		return -1;
	c->loads = info->dlpi_adds;
	c->loaded = info->dlpi_adds - info->dlpi_subs;
	return 1;
}

#define MAX_GLOBAL	16384

/* The loader's variables with so many objects loaded; returns whether nothing changed meanwhile. */
static bool take_picture(const uint64_t *global, size_t nr, uint64_t *picture, struct counts *c)
{
	struct counts before;
	size_t i;

	if (dl_iterate_phdr(get_counts, &before) != 1)
		return false;
	for (i = 0; i < nr; i++)
		picture[i] = ((const volatile uint64_t *)global)[i];
	/* Another thread may load something, too. */
	return dl_iterate_phdr(get_counts, c) == 1 && c->loads == before.loads &&
	       c->loaded == before.loaded;
}

/* Loads @name and looks which of the loader's variables count that. */
static bool try_generation(const uint64_t *global, size_t nr, const char *name)
{
	static uint64_t pictures[3][MAX_GLOBAL / sizeof(uint64_t)];
	struct counts c[3];
	size_t i, nr_found = 0, nr_loaded_found = 0;
	bool good[3];
	void *handle;

	handle = dlopen(name, RTLD_NOW | RTLD_NOLOAD);
	if (handle) {
		dlclose(handle);
		return false;		/* loading it would not load it */
	}
	good[0] = take_picture(global, nr, pictures[0], &c[0]);
	handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		return false;
	good[1] = take_picture(global, nr, pictures[1], &c[1]);
	dlclose(handle);
	good[2] = take_picture(global, nr, pictures[2], &c[2]);
	if (!good[0] || !good[1] || !good[2] || c[1].loads == c[0].loads ||
	    c[2].loads != c[1].loads || c[2].loaded == c[1].loaded)
		return false;

	for (i = 0; i < nr; i++) {
		if (pictures[0][i] == c[0].loads && pictures[1][i] == c[1].loads &&
		    pictures[2][i] == c[2].loads) {
			nr_loads = &global[i];
			nr_found++;
		}
		if ((uint32_t)pictures[0][i] == c[0].loaded &&
		    (uint32_t)pictures[1][i] == c[1].loaded &&
		    (uint32_t)pictures[2][i] == c[2].loaded) {
			nr_loaded = (const volatile uint32_t *)&global[i];
			nr_loaded_found++;
		}
	}
	if (nr_loaded_found != 1)
		nr_loaded = NULL;
	return nr_found == 1;
}

static bool find_generation(void)
{
	/* Small parts of the C library that hardly anything loads. */
	static const char *const names[] = {
		"libanl.so.1", "libBrokenLocale.so.1", "libutil.so.1", "libthread_db.so.1",
		"libnss_compat.so.2", "librt.so.1",
	};
	const uint64_t *global = dlsym(RTLD_DEFAULT, "_rtld_global");
	const ElfW(Sym) *symbol = NULL;
	bool found = false;
	Dl_info info;
	size_t i, nr;

	if (!global || !dladdr1(global, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol)
		return false;
	nr = symbol->st_size / sizeof(*global);
	if (nr > MAX_GLOBAL / sizeof(*global))
		return false;
	for (i = 0; i < sizeof(names) / sizeof(names[0]) && !found; i++)
		found = try_generation(global, nr, names[i]);
	dlerror();			/* not for the application to see */
	return found;
}

static const char *unavailable(void)
{
	if (!cfi__available())
		return "that needs glibc 2.35 or later";
	return find_generation() ? NULL : "this C library is not known";
}

/* ---- what can be read ------------------------------------------------------------------------ */

/* Whether the page of @addr can: the kernel looks at a signal set there, then refuses the "how". */
static bool readable(uint64_t addr)
{
	long ret;

	addr &= ~(PAGE - 1);
	if (addr >= USER_MAX)
		return false;
	/* Not through syscall(): that sets errno. */
	asm volatile("mov %5, %%r10\n\tsyscall"
		     : "=a"(ret)
		     : "a"((long)SYS_rt_sigprocmask), "D"(-1l), "S"(addr), "d"(0l),
		       "i"(_NSIG / 8)
		     : "rcx", "r10", "r11", "memory");
	return ret != -EFAULT;
}

static bool readable_span(uint64_t from, uint64_t to)
{
	for (from &= ~(PAGE - 1); from < to; from += PAGE)
		if (!readable(from))
			return false;
	return true;
}

/* Reads what is known to be readable, whoever's it is; not for sanitizers to look at. */
static inline uint64_t load(uint64_t addr)
{
	uint64_t value;

	asm volatile("movq (%1), %0" : "=r"(value) : "r"(addr));
	return value;
}

static void walk__use(struct walk *w, struct range *r)
{
	w->range = r;
	w->lo = r->lo;
	w->span = r->hi - 8 - r->lo;
}

/*
 * Where the stack that @sp is on may end, if it is the thread's own; 0 if it is not. The C library
 * keeps what it knows of a thread at the top of its stack, and a page that cannot be read below it.
 */
static uint64_t own_stack_end(uint64_t sp)
{
	uint64_t end = getpid() == gettid() ? (uintptr_t)__libc_stack_end :
					      (uintptr_t)__builtin_thread_pointer();

	if (end - sp >= STACK_MAX || !readable_span(sp, end))
		return 0;
	return (end + PAGE) & ~(PAGE - 1);
}

/* The range that holds 8 bytes at @addr; NULL if none is known to. */
static struct range *ranges__find(struct ranges *rs, uint64_t addr)
{
	size_t i;

	for (i = 0; i < NR_RANGES; i++)
		if (addr >= rs->v[i].lo && addr + 8 <= rs->v[i].hi)
			return &rs->v[i];
	return NULL;
}

/* The same, new or made larger downwards; NULL if they cannot be read. */
static struct range *ranges__add(struct ranges *rs, uint64_t addr)
{
	struct range *r;
	uint64_t end;
	size_t i;

	if (addr >= USER_MAX - 8 || !readable_span(addr, addr + 8))
		return NULL;
	for (i = 0; i < NR_RANGES; i++) {
		r = &rs->v[i];
		if (addr < r->lo && r->lo - addr < STACK_MAX && readable_span(addr, r->lo)) {
			r->lo = addr & ~(PAGE - 1);
			return r;
		}
	}
	end = own_stack_end(addr);
	r = &rs->v[rs->next++ % NR_RANGES];
	r->lo = addr & ~(PAGE - 1);
	r->hi = end ? end : (addr + 8 + PAGE - 1) & ~(PAGE - 1);
	r->own = end;
	r->closed = false;
	return r;
}

/* Makes 8 bytes at @addr, further up the stack in use, readable. */
static __attribute__((noinline, cold)) bool walk__extend(struct walk *w, uint64_t addr)
{
	struct range *r = w->range;

	if (r->closed || addr < r->lo || addr - r->lo > STACK_MAX)
		return false;
	while (addr + 8 > r->hi) {
		if (!readable(r->hi)) {
			r->closed = r->own;
			return false;
		}
		r->hi += PAGE;
	}
	walk__use(w, r);
	return true;
}

/* The same on any stack: the first frame's, and where a signal or a call switched stacks. */
static __attribute__((noinline)) bool walk__enter(struct walk *w, uint64_t addr)
{
	struct range *r = ranges__find(w->ranges, addr);

	if (!r)
		r = ranges__add(w->ranges, addr);
	if (r)
		walk__use(w, r);
	return r;
}

static __attribute__((noinline, cold)) bool walk__reach(struct walk *w, uint64_t addr)
{
	return (!ranges__find(w->ranges, addr) && walk__extend(w, addr)) || walk__enter(w, addr);
}

static inline bool walk__has(const struct walk *w, uint64_t addr)
{
	return __builtin_expect(addr - w->lo <= w->span, 1);
}

static inline bool walk__read(struct walk *w, uint64_t addr, uint64_t *value)
{
	if (!walk__has(w, addr) && !walk__reach(w, addr))
		return false;
	*value = load(addr);
	return true;
}

static bool read_for_eval(void *ctx, uint64_t addr, uint64_t *value)
{
	return walk__read(ctx, addr, value);
}

/* For a frame pointer that is only taken for one: upwards, and tried if it might be gone. */
static bool walk__is_frame_pointer(struct walk *w, uint64_t sp, uint64_t bp)
{
	if (bp < sp || bp % 8)
		return false;
	if (!walk__has(w, bp + 8) && !walk__extend(w, bp + 8))
		return false;
	return w->range->own || readable_span(bp, bp + 16);
}

/* ---- rules ----------------------------------------------------------------------------------- */

#define BEFORE	8
#define AFTER	40

/* The code around @ip, as far as it can be read, zero elsewhere. */
static bool get_code(uint64_t ip, uint8_t *code)
{
	uint64_t page = ip & ~(PAGE - 1), from = ip - BEFORE, to = ip + AFTER;

	memset(code, 0, BEFORE + AFTER);
	if (ip < PAGE || ip >= USER_MAX || !readable(ip))
		return false;
	if (from < page && !readable(from))
		from = page;
	if (to > page + PAGE && !readable(to))
		to = page + PAGE;
	for (; from < to; from++)
		asm volatile("movb (%1), %0" : "=q"(code[from - ip + BEFORE]) : "r"(from));
	return true;
}

/* What every C library's signal return is: mov $15, %rax; syscall. */
static bool is_signal_return(const uint8_t *at)
{
	static const uint8_t insns[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };

	return !memcmp(at, insns, sizeof(insns));
}

/* Whether a call ends where @at begins: only there do return addresses point. */
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
 * Code that returns right after its call says where its frame is: add, pop and ret, as in Python's
 * perf trampolines. The row for it, if that is what @at is.
 */
static bool read_epilogue(const uint8_t *at, const uint8_t *end, struct cfi_row *row)
{
	int64_t off = 0, reg_off[CFI_NR_REGS];
	uint32_t seen = 0;
	int32_t imm;
	uint8_t reg;
	int i;
	/* The machine's numbers of the registers that a callee saves, in DWARF's. */
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

/* How to unwind code without information, from what it is; @ip is a return address or exact. */
static enum kind look_at_code(uint64_t ip, bool exact, struct cfi_row *row)
{
	uint8_t code[BEFORE + AFTER];

	memset(row, 0, sizeof(*row));
	if (!get_code(ip, code))
		return RULE_BAD;
	if (is_signal_return(code + BEFORE))
		return RULE_SIGNAL;
	if (!exact) {
		/* Not called, but put there to be returned to, as makecontext() does. */
		if (!follows_call(code + BEFORE))
			return !cfi__find(ip, row) && row->start == ip ? RULE_START : RULE_BAD;
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

/* Return: one of the kinds from RULE_END on; with _FULL and _GUESS, @row says the rest. */
static enum kind describe(uint64_t ip, bool exact, struct cfi_row *row)
{
	uint8_t code[BEFORE + AFTER];

	if (cfi__find(ip - !exact, row))
		return look_at_code(ip, exact, row);
	/* Behind a function that never returns from its last call, or at the start of the next. */
	if (ip == row->end && !exact && get_code(ip, code) && !follows_call(code + BEFORE) &&
	    !is_signal_return(code + BEFORE))
		return look_at_code(ip, exact, row);
	if (row->signal && get_code(ip, code) && is_signal_return(code + BEFORE))
		return RULE_SIGNAL;
	return row->regs[CFI_RIP].how == CFI_UNDEFINED ? RULE_END : RULE_FULL;
}

static bool fits(int64_t v, unsigned int bits)
{
	return v >= -(1ll << (bits - 1)) && v < 1ll << (bits - 1);
}

/* The short form of what describe() said; RULE_FULL where there is none. */
static rule_t make_rule(enum kind kind, const struct cfi_row *row)
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

static struct entry *unwinder__set(struct unwinder *u, uint64_t pc)
{
	return &u->rules[(pc * 0x9e3779b97f4a7c15ull >> 53) * WAYS];
}

_Static_assert(SETS == 1 << (64 - 53), "the hash's shift");

/* A rule not met before. */
static __attribute__((noinline, cold)) struct entry *walk__learn(struct walk *w, uint64_t ip,
								 bool exact, uint64_t key)
{
	struct entry *e = unwinder__set(w->u, ip - !exact);
	struct cfi_row row;
	rule_t rule = make_rule(describe(ip, exact, &row), &row);
	unsigned int i;

	if (!w->remember || ip < 2 * PAGE || ip >= USER_MAX) {
		w->unkept.key = 0;
		w->unkept.rule = rule;
		return &w->unkept;
	}
	for (i = 0; i < WAYS && (e[i].key && e[i].key >> 48 == w->generation >> 48); i++)
		;
	if (i == WAYS)
		i = w->u->nr_filled++ % WAYS;
	/* A signal handler that launches reads them: an entry is whole or it is empty. */
	e[i].key = 0;
	atomic_signal_fence(memory_order_seq_cst);
	e[i].rule = rule;
	atomic_signal_fence(memory_order_seq_cst);
	e[i].key = key;
	return &e[i];
}

static struct entry *walk__find(struct walk *w, uint64_t ip, bool exact)
{
	uint64_t pc = ip - !exact, key = pc + w->generation;
	struct entry *e = unwinder__set(w->u, pc);
	unsigned int i;

	if (__builtin_expect(pc - PAGE < USER_MAX - PAGE, 1))
		for (i = 0; i < WAYS; i++)
			if (e[i].key == key)
				return &e[i];
	return walk__learn(w, ip, exact, key);
}

/* ---- walking --------------------------------------------------------------------------------- */

/* Where the interrupted registers are in the struct ucontext; the kernel's ABI. */
#define UC_GREG(i)	(40 + 8 * (i))
#define UC_RBP		UC_GREG(10)
#define UC_RSP		UC_GREG(15)
#define UC_RIP		UC_GREG(16)

static inline bool walk__push(struct walk *w, uint64_t ip, uint64_t sp)
{
	if (w->nr == w->max)
		return false;
	w->stack[w->nr] = sp;
	w->frames[w->nr++] = ip;
	return true;
}

/* The last address is of an instruction to come, not of one behind a call. */
static void walk__not_a_return(struct walk *w)
{
	if (w->nr)
		w->frames[w->nr - 1]++;
}

/* What a rule other than the usual ones says: whether it goes on, and at what w->cfa. */
static __attribute__((noinline)) enum outcome walk__unusual(struct walk *w, rule_t rule,
							    uint64_t sp, uint64_t bp)
{
	switch (rule__kind(rule)) {
	case RULE_BP_DEREF:
		return walk__read(w, bp + rule__cfa_off(rule), &w->cfa) ? GOES_ON : CUT;
	case RULE_GUESS:
		if (!bp)
			return COMPLETE;	/* the ABI's mark of the outermost frame */
		w->cfa = bp + rule__cfa_off(rule);
		return walk__is_frame_pointer(w, sp, bp) ? GOES_ON : CUT;
	case RULE_START:
		walk__not_a_return(w);
		return COMPLETE;
	case RULE_FULL:
		return NEEDS_FULL;
	default:
		w->nr -= !!w->nr;
		return CUT;
	}
}

/* How many of @nr words, from the outside, are as they were. */
static uint32_t nr_same_words(const struct word *w, uint32_t nr)
{
	uint32_t i = 0;

	for (; i + 4 <= nr; i += 4)
		if ((load(w[i].addr) ^ w[i].value) | (load(w[i + 1].addr) ^ w[i + 1].value) |
		    (load(w[i + 2].addr) ^ w[i + 2].value) | (load(w[i + 3].addr) ^ w[i + 3].value))
			break;
	for (; i < nr && load(w[i].addr) == w[i].value; i++)
		;
	return i;
}

/*
 * Whether the walk, at a frame it has just pushed, goes on as the last one did. Launches that follow
 * one another share their outer frames, and comparing words whose addresses are known takes a third
 * of the time of finding out about them one after another.
 *
 * This is exact: what a walk does from a frame on is a function of rip, rsp and rbp there, of the
 * rules, which are the same as long as the generation is, and of the words it reads. All of these are
 * compared, but for rbp where nothing was made of it. The words are between this frame and the end
 * of the range in use, so they can be read if that is the thread's own stack; of a coroutine's, what is
 * further up may have gone. They are compared once, from the outside: frames inside of the first one that
 * differs are found anew.
 */
static inline bool walk__joins(struct walk *w, uint64_t ip, uint64_t sp, uint64_t bp)
{
	const struct unwinder *u = w->u;
	const struct last_walk *last = &u->last;
	const struct outer *o;
	unsigned int place;

	while (last->stack[w->join] < sp)
		w->join++;
	if (last->stack[w->join] != sp || last->frames[w->join] != ip)
		return false;
	place = last->nr - 1 - w->join;
	o = &u->outer[place];
	if (place >= last->nr_outer || (o->bp_matters && o->bp != bp) ||
	    w->nr - 1 + last->nr - w->join > w->max)
		return false;
	if (!w->compared) {
		/* Their addresses rise towards the outside, where the first one is. */
		if (o->nr_words && (!w->range->own || !walk__has(w, u->words[0].addr)))
			return false;
		w->nr_same = nr_same_words(u->words, o->nr_words);
		w->compared = true;
	}
	if (o->nr_words > w->nr_same)
		return false;
	w->joined = w->nr;
	return true;
}

/* The words of a step from the frame at @sp to its caller at @cfa. */
static unsigned int step__words(const struct step *s, uint64_t ip, uint64_t cfa, uint64_t bp,
				bool bp_matters, struct word *words)
{
	unsigned int nr = 0;

	words[nr++] = (struct word){ cfa - 8, ip };
	if (s->bp_at && bp_matters)
		words[nr++] = (struct word){ s->bp_at, bp };
	if (s->cfa_at)
		words[nr++] = (struct word){ s->cfa_at, cfa };
	return nr;
}

/*
 * Notes in @o what is read from a step on, which is the one from @sp to frame @to of the last walk.
 * @outside: the same of that frame; NULL if the walk ended instead
 *
 * Return: whether it can be compared.
 */
static inline bool walk__note_step(struct unwinder *u, const struct step *s, uint64_t sp,
				   unsigned int to, const struct outer *outside, struct outer *o)
{
	const struct last_walk *last = &u->last;
	unsigned int nr = outside ? outside->nr_words : 0, nr_more;
	struct word *words = u->words + nr;

	if (s->unusual)
		return false;
	*o = (struct outer){ .bp = s->bp, .bp_matters = s->by_bp };
	if (s->end) {
		words[0] = (struct word){ s->end, 0 };
		nr++;
	} else if (outside) {
		o->bp_matters |= !s->bp_at && outside->bp_matters;
		nr_more = step__words(s, last->frames[to], last->stack[to], outside->bp,
				      outside->bp_matters, words);
		nr += nr_more;
		while (nr_more--)
			if (words[nr_more].addr < sp ||
			    words[nr_more].addr > last->stack[to] - 8)
				return false;
	}
	o->nr_words = nr;
	return true;
}

/*
 * Notes what the next walk can be compared with: this one's own frames, outside of them the last's.
 * @sp: where it began
 */
static void walk__note(struct walk *w, uint64_t sp)
{
	struct unwinder *u = w->u;
	struct last_walk *last = &u->last;
	unsigned int nr_own = w->nr, shared = 0, place, k;
	struct outer *o;

	last->whole.nr_words = 0;
	if (w->joined) {
		nr_own = w->joined - 1;
		shared = last->nr - w->join;
		if (nr_own != w->join) {
			memmove(last->frames + nr_own, last->frames + w->join,
				shared * sizeof(*last->frames));
			memmove(last->stack + nr_own, last->stack + w->join,
				(shared + 1) * sizeof(*last->stack));
		}
		memcpy(last->frames, w->frames, nr_own * sizeof(*last->frames));
		memcpy(last->stack, w->stack, nr_own * sizeof(*last->stack));
	} else {
		u->spare[0] = last->frames;
		u->spare[1] = last->stack;
		last->frames = w->frames;
		last->stack = w->stack;
		last->stack[nr_own] = UINT64_MAX;
		last->nr_outer = 0;
	}
	last->nr = nr_own + shared;
	last->nr_outer = shared;
	for (k = nr_own; k--;) {
		place = last->nr - 1 - k;
		o = &u->outer[place];
		if (!walk__note_step(u, &u->steps[k + 1], last->stack[k], k + 1,
				     place ? o - 1 : NULL, o))
			return;
		last->nr_outer = place + 1;
	}
	last->sp = sp;
	if (!last->nr ||
	    !walk__note_step(u, u->steps, sp, 0, &u->outer[last->nr - 1], &last->whole))
		last->whole.nr_words = 0;
}

/*
 * Along the stack by rules alone; rsp, rbp and rip are all that it follows.
 *
 * Most callers are those of the last time. An entry says where its caller's was, so that the rule
 * can be fetched while the return address, which must confirm it, is still on its way.
 */
static inline __attribute__((always_inline)) enum outcome walk__fast(struct walk *w,
								     const struct context *c,
								     bool note)
{
	uint64_t ip = c->rip, sp = c->rsp, bp = c->rbp, cfa, slot, generation_bits = w->generation;
	struct entry *const rules = w->u->rules, *e, *next;
	struct step *s = NULL;
	enum outcome outcome;
	rule_t rule;

	if (!walk__enter(w, sp))
		return CUT;
	e = walk__find(w, ip, true);
	for (;;) {
		rule = e->rule;
		if (note) {
			s = &w->u->steps[w->nr];
			*s = (struct step){ .bp = bp };
		}
		switch (rule__kind(rule)) {
		case RULE_SP:
			cfa = sp + rule__cfa_off(rule);
			break;
		case RULE_BP:
			cfa = bp + rule__cfa_off(rule);
			if (note)
				s->by_bp = true;
			break;
		case RULE_END:
			return COMPLETE;
		case RULE_SIGNAL:
			if (note)
				s->unusual = true;
			walk__not_a_return(w);
			slot = sp;
			if (!walk__read(w, slot + UC_RIP, &ip) ||
			    !walk__read(w, slot + UC_RBP, &bp) ||
			    !walk__read(w, slot + UC_RSP, &sp) || !walk__enter(w, sp) ||
			    !walk__push(w, ip + 1, sp))
				return CUT;
			e = walk__find(w, ip, true);
			continue;
		default:
			if (note) {
				s->by_bp = true;
				s->cfa_at = bp + rule__cfa_off(rule);
				s->unusual = rule__kind(rule) != RULE_BP_DEREF;
			}
			outcome = walk__unusual(w, rule, sp, bp);
			if (outcome != GOES_ON)
				return outcome;
			cfa = w->cfa;
		}
		if (!walk__read(w, cfa - 8, &ip))
			return CUT;
		/* Callers are further up, unless the stack was switched. */
		if (__builtin_expect(cfa <= sp, 0)) {
			if (walk__has(w, sp))
				return CUT;
			if (note)
				s->unusual = true;
		}
		if (rule__bp_how(rule) != BP_SAME) {
			slot = (rule__bp_how(rule) == BP_CFA ? cfa : bp) + rule__bp_off(rule);
			if (!walk__read(w, slot, &bp))
				return CUT;
			if (note) {
				s->bp_at = slot;
				s->by_bp |= rule__bp_how(rule) == BP_BP;
			}
		}
		sp = cfa;

		next = &rules[(uint16_t)rule];
		if (next->key != ip - 1 + generation_bits) {
			if (!ip) {
				if (note)
					s->end = cfa - 8;
				return COMPLETE;
			}
			next = walk__find(w, ip, false);
			if (w->remember && next != &w->unkept)
				e->rule = (e->rule & ~0xffffull) | (next - rules);
		}
		e = next;
		if (!walk__push(w, ip, sp))
			return CUT;
		if (note && walk__joins(w, ip, sp, bp))
			return COMPLETE;
	}
}

static void unwinder__forget(struct unwinder *u)
{
	u->last.nr = u->last.nr_outer = u->last.whole.nr_words = 0;
	u->last.stack[0] = UINT64_MAX;
}

/* Level 0: with the last walk in mind, and in mind for the next one. */
static enum outcome walk__again(struct walk *w, const struct context *c)
{
	struct unwinder *u = w->u;
	enum outcome outcome;

	w->frames = u->spare[0];
	w->stack = u->spare[1];
	w->join = 0;
	outcome = walk__fast(w, c, true);
	if (outcome != COMPLETE) {
		unwinder__forget(u);
		return outcome;
	}
	walk__note(w, c->rsp);
	w->frames = u->last.frames;
	w->stack = u->last.stack;
	w->nr = u->last.nr;
	return COMPLETE;
}

static __attribute__((noinline)) enum outcome walk__nested(struct walk *w, const struct context *c)
{
	return walk__fast(w, c, false);
}

/* The caller's registers by a whole row. */
static bool walk__apply(struct walk *w, const struct cfi_row *row, uint64_t *regs)
{
	uint64_t old[CFI_NR_REGS], cfa, slot;
	const struct cfi_rule *rule;
	size_t i;

	memcpy(old, regs, sizeof(old));
	if (!row->cfa_expr)
		cfa = old[row->cfa_reg] + row->cfa_off;
	else if (!cfi__eval(row->cfa_expr, old, NULL, read_for_eval, w, &cfa))
		return false;
	regs[CFI_RSP] = cfa;
	for (i = 0; i < CFI_NR_REGS; i++) {
		rule = &row->regs[i];
		switch (rule->how) {
		case CFI_SAME:
		case CFI_UNDEFINED:
			break;
		case CFI_OFFSET:
			if (!walk__read(w, cfa + rule->v, &regs[i]))
				return false;
			break;
		case CFI_VAL_OFFSET:
			regs[i] = cfa + rule->v;
			break;
		case CFI_REGISTER:
			if ((uint64_t)rule->v >= CFI_NR_REGS)
				return false;
			regs[i] = old[rule->v];
			break;
		case CFI_EXPR:
			if (!cfi__eval(rule->v, old, &cfa, read_for_eval, w, &slot) ||
			    !walk__read(w, slot, &regs[i]))
				return false;
			break;
		case CFI_VAL_EXPR:
			if (!cfi__eval(rule->v, old, &cfa, read_for_eval, w, &regs[i]))
				return false;
			break;
		}
	}
	return true;
}

/* All registers of the code that a signal interrupted. */
static bool walk__apply_signal(struct walk *w, uint64_t *regs)
{
	/* DWARF's order: rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8 to r15, rip. */
	static const uint8_t gregs[CFI_NR_REGS] = { 13, 12, 14, 11, 9, 8, 10, 15,
						    0, 1, 2, 3, 4, 5, 6, 7, 16 };
	uint64_t uc = regs[CFI_RSP];
	size_t i;

	for (i = 0; i < CFI_NR_REGS; i++)
		if (!walk__read(w, uc + UC_GREG(gregs[i]), &regs[i]))
			return false;
	return walk__enter(w, regs[CFI_RSP]);
}

/* The same walk with every register that a row may use, and nothing remembered: rarely needed. */
static __attribute__((noinline, cold)) enum outcome walk__full(struct walk *w,
							       const struct context *c)
{
	uint64_t regs[CFI_NR_REGS] = { 0 }, sp;
	bool exact = true, signal;
	struct cfi_row row;
	enum kind kind;

	regs[CFI_RBX] = c->rbx;
	regs[CFI_RBP] = c->rbp;
	regs[CFI_RSP] = c->rsp;
	regs[CFI_R12] = c->r12;
	regs[CFI_R12 + 1] = c->r13;
	regs[CFI_R12 + 2] = c->r14;
	regs[CFI_R12 + 3] = c->r15;
	regs[CFI_RIP] = c->rip;
	w->nr = 0;
	if (!walk__enter(w, c->rsp))
		return CUT;
	for (;;) {
		kind = describe(regs[CFI_RIP], exact, &row);
		if (kind == RULE_START)
			walk__not_a_return(w);
		if (kind == RULE_END || kind == RULE_START)
			return COMPLETE;
		if (kind == RULE_BAD) {
			w->nr -= !!w->nr;
			return CUT;
		}
		if (kind == RULE_GUESS) {
			if (!regs[CFI_RBP])
				return COMPLETE;
			if (!walk__is_frame_pointer(w, regs[CFI_RSP], regs[CFI_RBP]))
				return CUT;
		}
		sp = regs[CFI_RSP];
		signal = kind == RULE_SIGNAL || row.signal;
		if (signal)
			walk__not_a_return(w);
		if (kind == RULE_SIGNAL) {
			if (!walk__apply_signal(w, regs))
				return CUT;
		} else {
			if (!walk__apply(w, &row, regs))
				return CUT;
			/* Not up, but not down: vfork() keeps its return address in a register. */
			if (!signal && regs[CFI_RSP] < sp && walk__has(w, sp))
				return CUT;
		}
		if (!regs[CFI_RIP])
			return COMPLETE;
		exact = signal;
		if (!walk__push(w, regs[CFI_RIP] + signal, regs[CFI_RSP]))
			return CUT;
	}
}

/* ---- outside --------------------------------------------------------------------------------- */

/* Room for one chain: one frame is the caller's own, and one is behind the end. */
static size_t chain_frames(void)
{
	return (max_frames + 2 + 7) & ~7u;
}

/* Frames and stacks for UNWIND_LEVELS walks and for the last one. */
#define NR_CHAINS	(2 * (UNWIND_LEVELS + 1))

size_t unwinder__bytes(void)
{
	struct unwinder *u;

	if (!enabled)
		return 0;
	return sizeof(*u) + chain_frames() * (NR_CHAINS * sizeof(u->chains[0]) +
					      sizeof(*u->steps) + sizeof(*u->outer) +
					      MAX_WORDS * sizeof(*u->words));
}

static uint64_t *unwinder__frames(const struct unwinder *u, unsigned int level)
{
	return (uint64_t *)u->chains + 2 * level * chain_frames();
}

/* The first walk of a thread. */
static __attribute__((noinline, cold)) void unwinder__start(struct unwinder *u)
{
	u->spare[0] = unwinder__frames(u, 0);
	u->spare[1] = u->spare[0] + chain_frames();
	u->last.stack = unwinder__frames(u, UNWIND_LEVELS) + chain_frames();
	u->last.stack[0] = UINT64_MAX;
	u->steps = (struct step *)unwinder__frames(u, UNWIND_LEVELS + 1);
	u->outer = (struct outer *)(u->steps + chain_frames());
	u->words = (struct word *)(u->outer + chain_frames());
	/* Last: a signal handler may interrupt this. */
	u->last.frames = unwinder__frames(u, UNWIND_LEVELS);
}

/* Rules carry the low 16 bits of their generation; when the others change, all rules go. */
static __attribute__((noinline, cold)) void unwinder__renew(struct unwinder *u, uint64_t now)
{
	if (now >> 16 != u->generation >> 16)
		memset(u->rules, 0, sizeof(u->rules));
	unwinder__forget(u);
	u->generation = now;
}

size_t unwinder__trace_bytes(const struct unwinder *u)
{
	unsigned int nr = u->last.whole.nr_words;

	return nr ? sizeof(struct unwind_trace) + (nr + (nr + 1) / 2) * sizeof(uint64_t) : 0;
}

uint64_t unwinder__trace_key(const struct unwinder *u)
{
	return u->last.sp;
}

void unwinder__trace(const struct unwinder *u, struct unwind_trace *trace)
{
	const struct last_walk *last = &u->last;
	unsigned int nr = last->whole.nr_words, i;
	uint32_t *at = (uint32_t *)(trace->words + nr);

	*trace = (struct unwind_trace){
		.generation = u->generation,
		.sp = last->sp,
		.bp = last->whole.bp,
		.top = u->words[0].addr + 8,
		.nr = nr,
		.bp_matters = last->whole.bp_matters,
	};
	for (i = 0; i < nr; i++) {
		trace->words[i] = u->words[nr - 1 - i].value;
		at[i] = u->words[nr - 1 - i].addr - last->sp;
	}
}

/*
 * Whether a walk that begins with @c would be the one of @trace: see walk__joins(). All its words are
 * between there and the end of one range. If that is not the thread's own stack, some of it may have gone:
 * then a word is read when the one inside of it has led there, as a walk does.
 */
static inline bool trace__holds(const struct unwind_trace *trace, struct unwinder *u,
				const struct context *c)
{
	const uint64_t *v = trace->words;
	const uint32_t *at = (const uint32_t *)(v + trace->nr);
	uint64_t sp = c->rsp;
	const struct range *r;
	unsigned int i = 0;

	if (trace->sp != sp || (trace->bp_matters && trace->bp != c->rbp) ||
	    trace->generation != generation())
		return false;
	r = ranges__find(&u->ranges, sp);
	if (!r || trace->top > r->hi)
		return false;
	if (__builtin_expect(!r->own, 0))
		goto one_by_one;
	for (; i + 4 <= trace->nr; i += 4)
		if ((load(sp + at[i]) ^ v[i]) | (load(sp + at[i + 1]) ^ v[i + 1]) |
		    (load(sp + at[i + 2]) ^ v[i + 2]) | (load(sp + at[i + 3]) ^ v[i + 3]))
			return false;
one_by_one:
	for (; i < trace->nr; i++)
		if (load(sp + at[i]) != v[i])
			return false;
	return true;
}

/* The chain is another one, or nothing is known of it. */
static __attribute__((noinline)) void unwinder__walk(struct unwinder *u, unsigned int level,
						     struct xpu_slot *slot,
						     const struct context *c)
{
	struct walk w = { .u = u, .ranges = &u->ranges, .max = max_frames + 1 };
	struct ranges no_ranges;
	enum outcome outcome;
	uint64_t now;

	if (__builtin_expect(!level && !u->last.frames, 0))
		unwinder__start(u);
	w.frames = unwinder__frames(u, level);
	w.stack = w.frames + chain_frames();
	w.remember = !level;
	now = generation();
	if (__builtin_expect(now != u->generation, 0)) {
		if (level)
			return;
		unwinder__renew(u, now);
	}
	w.generation = now << 48;
	if (level) {
		memset(&no_ranges, 0, sizeof(no_ranges));
		w.ranges = &no_ranges;
	}
	outcome = level ? walk__nested(&w, c) : walk__again(&w, c);
	if (outcome == NEEDS_FULL)
		outcome = walk__full(&w, c);
	if (!level)
		u->stack = w.stack;
	if (w.nr < 2)
		return;
	slot->frames = (uintptr_t)(w.frames + 1);	/* without the caller's own */
	slot->nr_frames = w.nr - 1;
	if (outcome == CUT)
		slot->flags = XPU_CHAIN_TRUNCATED;
}

__attribute__((noinline)) bool unwinder__chain(struct unwinder *u, unsigned int level,
					       struct xpu_slot *slot,
					       const struct unwind_trace *trace)
{
	struct context c;

	slot->nr_frames = 0;
	slot->flags = 0;
	if (level >= UNWIND_LEVELS)
		return false;

	asm volatile("leaq 1f(%%rip), %%rax\n"
		     "1:	movq %%rax, 56(%0)\n\t"
		     "movq %%rbx, (%0)\n\t"
		     "movq %%rbp, 8(%0)\n\t"
		     "movq %%r12, 16(%0)\n\t"
		     "movq %%r13, 24(%0)\n\t"
		     "movq %%r14, 32(%0)\n\t"
		     "movq %%r15, 40(%0)\n\t"
		     "movq %%rsp, 48(%0)"
		     : : "r"(&c) : "rax", "memory");

	if (trace && trace__holds(trace, u, &c))
		return true;
	unwinder__walk(u, level, slot, &c);
	asm volatile("" : : "r"(&c) : "memory");	/* no tail call: the frame stays */
	return false;
}

const uint64_t *unwinder__stack(const struct unwinder *u, unsigned int level)
{
	if (!level)
		return u->stack + 1;
	return level < UNWIND_LEVELS ? unwinder__frames(u, level) + chain_frames() + 1 : NULL;
}

#endif

void unwind__init(void)
{
	const char *mode = options__get(XPU_CALL_GRAPH_ENV), *why;
	const char *frames = options__get(XPU_MAX_FRAMES_ENV);
	unsigned long n = frames ? strtoul(frames, NULL, 10) : 0;
	static bool done;

	if (done)
		return;
	done = true;
	if (n)
		max_frames = n < XPU_MAX_FRAMES ? n : XPU_MAX_FRAMES;
	if (mode && !strcmp(mode, "fp"))
		return;
	why = unavailable();
	enabled = !why;
	if (why && mode && !strcmp(mode, "dwarf"))
		complain(XPU_MESSAGE_WARNING, "--call-graph dwarf cannot be had: %s; call chains "
			 "follow frame pointers", why);
	else if (why)
		complain(XPU_MESSAGE_INFO, "call chains follow frame pointers (--call-graph fp): "
			 "for dwarf, %s", why);
}
