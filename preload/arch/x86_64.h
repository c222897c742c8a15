/* SPDX-License-Identifier: MIT */
/*
 * x86_64.h - the shim's view of x86-64
 *
 * Source: System V ABI, AMD64; for the signal frame, Linux, arch/x86/include/uapi/asm/sigcontext.h.
 */
#ifndef XPU_PRELOAD_X86_64_H
#define XPU_PRELOAD_X86_64_H

#ifdef __ASSEMBLER__

/*
 * The first instruction of a probe site; Linux 6.18 and later turn a nop of five bytes into a call.
 */
#define PROBE_NOP	.byte	0x0f, 0x1f, 0x44, 0x00, 0x00

#else

#include <cpuid.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <x86intrin.h>

/* ---- memory ---------------------------------------------------------------------------------- */

#define USER_MAX	(1ull << 47)	/* user space ends here */

/*
 * Adds one to a count that only the calling thread and its signal handlers write. Another thread
 * that sees the new count also sees all writes before it.
 */
static inline void arch__count(atomic_uint_fast64_t *nr)
{
#ifdef __SANITIZE_THREAD__
	atomic_fetch_add_explicit(nr, 1, memory_order_release);
#else
	asm volatile("addq $1, %0" : "+m"(*(volatile uint64_t *)nr) : : "memory", "cc");
#endif
}

/* Reads a word without checks by sanitizers. */
static inline uint64_t arch__load(uint64_t addr)
{
	uint64_t value;

	asm volatile("movq (%1), %0" : "=r"(value) : "r"(addr));
	return value;
}

static inline uint8_t arch__load_byte(uint64_t addr)
{
	uint8_t value;

	asm volatile("movb (%1), %0" : "=q"(value) : "r"(addr));
	return value;
}

/* Reads the word @nr words after @addr. */
static inline uint64_t arch__load_word(uint64_t addr, uint64_t nr)
{
	uint64_t value;

	asm volatile("movq (%1,%2,8), %0" : "=r"(value) : "r"(addr), "r"(nr));
	return value;
}

/*
 * Calls rt_sigprocmask(-1, @set, NULL, @bytes): Linux first reads the set, if it is readable, then
 * refuses the invalid "how". Return: Linux's result, a negative errno; syscall() would set errno.
 */
static inline long arch__try_sigset(uint64_t set, long bytes)
{
	long ret;

	asm volatile("mov %5, %%r10\n\tsyscall"
		     : "=a"(ret)
		     : "a"((long)SYS_rt_sigprocmask), "D"(-1l), "S"(set), "d"(0l), "i"(bytes)
		     : "rcx", "r10", "r11", "memory");
	return ret;
}

/* ---- the tick counter ------------------------------------------------------------------------ */

static inline uint64_t arch__ticks(void)
{
	return __rdtsc();
}

/* Return: roughly the duration of @ticks at 3 GHz, in ticks of the counter. */
static inline uint64_t arch__ticks_at_3ghz(uint64_t ticks)
{
	return ticks;
}

/*
 * Whether the processor says that the counter always runs at one rate, even in sleep states.
 */
static inline bool arch__is_steady(void)
{
	unsigned int eax, ebx, ecx, edx;

	return __get_cpuid(0x80000007, &eax, &ebx, &ecx, &edx) && edx & 1 << 8;
}

/* Linux's clock sources that use this counter. */
#define ARCH_CLOCKS	"tsc\n", "kvm-clock\n", "hyperv_clocksource_tsc_page\n"

/* ---- unwinding ------------------------------------------------------------------------------- */

enum cfi_reg {		/* DWARF's numbers */
	CFI_RBX	= 3,
	CFI_BP	= 6,	/* the frame pointer */
	CFI_SP	= 7,
	CFI_R12	= 12,
	CFI_IP	= 16,	/* the return address has the number of the instruction pointer */
	CFI_NR_REGS,
	CFI_RA	= CFI_IP,
};

/*
 * Whether the return address is still in a register if a function's unwind tables do not mention
 * it.
 */
#define CFI_RA_IN_REGISTER	false

/* The callee-saved registers where a walk begins. */
struct context {
	uint64_t rbx, bp, r12, r13, r14, r15, sp, ip;
};

/* Fills in a struct context. Used in the function at which the walk begins. */
#define CONTEXT_TAKE(c)						\
	asm volatile("leaq 1f(%%rip), %%rax\n"			\
		     "1:	movq %%rax, 56(%0)\n\t"		\
		     "movq %%rbx, (%0)\n\t"			\
		     "movq %%rbp, 8(%0)\n\t"			\
		     "movq %%r12, 16(%0)\n\t"			\
		     "movq %%r13, 24(%0)\n\t"			\
		     "movq %%r14, 32(%0)\n\t"			\
		     "movq %%r15, 40(%0)\n\t"			\
		     "movq %%rsp, 48(%0)"			\
		     : : "r"(c) : "rax", "memory")

static inline void context__registers(const struct context *c, uint64_t *regs)
{
	regs[CFI_RBX] = c->rbx;
	regs[CFI_BP] = c->bp;
	regs[CFI_SP] = c->sp;
	regs[CFI_R12] = c->r12;
	regs[CFI_R12 + 1] = c->r13;
	regs[CFI_R12 + 2] = c->r14;
	regs[CFI_R12 + 3] = c->r15;
	regs[CFI_IP] = c->ip;
}

/*
 * Offsets of the interrupted code's registers in a signal frame's struct ucontext. The stack
 * pointer points to that struct when the signal handler has returned.
 */
#define SIGNAL_GREG(i)	(40 + 8 * (i))
#define SIGNAL_BP	SIGNAL_GREG(10)
#define SIGNAL_SP	SIGNAL_GREG(15)
#define SIGNAL_IP	SIGNAL_GREG(16)

static inline uint64_t arch__signal_reg(unsigned int reg)
{
	/* DWARF's order: rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8 to r15, rip. */
	static const uint8_t gregs[CFI_NR_REGS] = { 13, 12, 14, 11, 9, 8, 10, 15,
						    0, 1, 2, 3, 4, 5, 6, 7, 16 };

	return SIGNAL_GREG(gregs[reg]);
}

/* Return: @ra without a signature, which other processors may add. */
static inline uint64_t arch__strip(uint64_t ra)
{
	return ra;
}

/* Bytes from the saved frame pointer of a function to its return address. */
#define FRAME_RA_OFF	8

/*
 * Where a step of a walk has read the return address. Empty on x86-64: a call pushes the address
 * right below the caller's frame, so neither a walk nor a rule has to remember it.
 */
struct return_word {
};

#define RA_BY_RULE	false

/* Whether an unwind table's instruction only says how return addresses are signed. */
static inline bool arch__is_ra_state(uint8_t op)
{
	(void)op;
	return false;
}

static inline void return_word__set(struct return_word *w, uint64_t at, uint64_t value)
{
	(void)w;
	(void)at;
	(void)value;
}

/*
 * Return: the address of the return address in a frame that ends at @cfa. return_word__value()
 * returns the return address itself; the parameter @ip of that function is the stripped address.
 */
static inline uint64_t return_word__at(const struct return_word *w, uint64_t cfa)
{
	(void)w;
	return cfa - 8;
}

static inline uint64_t return_word__value(const struct return_word *w, uint64_t ip)
{
	(void)w;
	return ip;
}

#endif /* __ASSEMBLER__ */
#endif /* XPU_PRELOAD_X86_64_H */
