/* SPDX-License-Identifier: MIT */
/*
 * aarch64.h - the shim's view of aarch64; x86_64.h says what each definition is for
 *
 * Source: Procedure Call Standard and DWARF for the Arm 64-bit Architecture; for the signal frame,
 * Linux, arch/arm64/include/uapi/asm/sigcontext.h and arch/arm64/kernel/signal.c.
 */
#ifndef XPU_PRELOAD_AARCH64_H
#define XPU_PRELOAD_AARCH64_H

#ifdef __ASSEMBLER__

#define PROBE_NOP	nop

#else

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>

/* ---- memory ---------------------------------------------------------------------------------- */

#define USER_MAX	(1ull << 48)

static inline void arch__count(atomic_uint_fast64_t *nr)
{
	atomic_fetch_add_explicit(nr, 1, memory_order_release);
}

static inline uint64_t arch__load(uint64_t addr)
{
	uint64_t value;

	asm volatile("ldr %0, [%1]" : "=r"(value) : "r"(addr));
	return value;
}

static inline uint8_t arch__load_byte(uint64_t addr)
{
	uint32_t value;

	asm volatile("ldrb %w0, [%1]" : "=r"(value) : "r"(addr));
	return value;
}

static inline uint64_t arch__load_word(uint64_t addr, uint64_t nr)
{
	uint64_t value;

	asm volatile("ldr %0, [%1, %2, lsl #3]" : "=r"(value) : "r"(addr), "r"(nr));
	return value;
}

static inline long arch__try_sigset(uint64_t set, long bytes)
{
	register long x0 asm("x0") = -1, x2 asm("x2") = 0, x3 asm("x3") = bytes;
	register long x8 asm("x8") = SYS_rt_sigprocmask;
	register uint64_t x1 asm("x1") = set;

	asm volatile("svc #0"
		     : "+r"(x0) : "r"(x1), "r"(x2), "r"(x3), "r"(x8) : "memory");
	return x0;
}

/* ---- the tick counter ------------------------------------------------------------------------ */

static inline uint64_t arch__ticks(void)
{
	uint64_t ticks;

	asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks;
}

/*
 * Return: how many ticks the counter makes while a counter at 3 GHz makes @ticks. The counter runs
 * at 1 GHz on new processors, and at 25 to 100 MHz on older processors.
 */
static inline uint64_t arch__ticks_at_3ghz(uint64_t ticks)
{
	uint64_t rate;

	asm volatile("mrs %0, cntfrq_el0" : "=r"(rate));
	return (rate >> 10) * ticks / (3000000000ull >> 10) + 1;
}

/* Whether the counter is steady: the architecture requires it. */
static inline bool arch__is_steady(void)
{
	return true;
}

#define ARCH_CLOCKS	"arch_sys_counter\n"

/* ---- unwinding ------------------------------------------------------------------------------- */

enum cfi_reg {
	CFI_X19	= 19,
	CFI_BP	= 29,
	CFI_RA	= 30,
	CFI_SP	= 31,
	CFI_IP	= 32,
	CFI_NR_REGS
};

#define CFI_RA_IN_REGISTER	true

struct context {
	uint64_t x19[10];	/* x19 to x28 */
	uint64_t bp, ra, sp, ip;
};

#define CONTEXT_TAKE(c)						\
	asm volatile("adr x9, 1f\n"				\
		     "1:	stp x19, x20, [%0]\n\t"		\
		     "stp x21, x22, [%0, #16]\n\t"		\
		     "stp x23, x24, [%0, #32]\n\t"		\
		     "stp x25, x26, [%0, #48]\n\t"		\
		     "stp x27, x28, [%0, #64]\n\t"		\
		     "stp x29, x30, [%0, #80]\n\t"		\
		     "mov x10, sp\n\t"				\
		     "stp x10, x9, [%0, #96]"			\
		     : : "r"(c) : "x9", "x10", "memory")

static inline void context__registers(const struct context *c, uint64_t *regs)
{
	unsigned int i;

	for (i = 0; i < 10; i++)
		regs[CFI_X19 + i] = c->x19[i];
	regs[CFI_BP] = c->bp;
	regs[CFI_RA] = c->ra;
	regs[CFI_SP] = c->sp;
	regs[CFI_IP] = c->ip;
}

/*
 * The frame begins with a siginfo_t of 128 bytes, then struct ucontext, which has a struct
 * sigcontext at offset 176. The sigcontext begins with an 8-byte address; the registers follow it.
 */
#define SIGNAL_GREG(i)	(128 + 176 + 8 + 8 * (i))
#define SIGNAL_BP	SIGNAL_GREG(CFI_BP)
#define SIGNAL_SP	SIGNAL_GREG(CFI_SP)
#define SIGNAL_IP	SIGNAL_GREG(CFI_IP)

static inline uint64_t arch__signal_reg(unsigned int reg)
{
	return SIGNAL_GREG(reg);
}

/*
 * Return: the address without a signature, which a return address may have in the bits above user
 * space. The mask works on every processor.
 */
static inline uint64_t arch__strip(uint64_t ra)
{
	return ra & (USER_MAX - 1);
}

#define FRAME_RA_OFF	8

/*
 * A function may save its return address anywhere, most often next to the saved frame pointer, and
 * may sign it.
 */
struct return_word {
	uint64_t at, value;
};

#define RA_BY_RULE	true

/* Whether @op is DW_CFA_AARCH64_negate_ra_state_with_pc or DW_CFA_AARCH64_negate_ra_state. */
static inline bool arch__is_ra_state(uint8_t op)
{
	return op == 0x2c || op == 0x2d;
}

static inline void return_word__set(struct return_word *w, uint64_t at, uint64_t value)
{
	*w = (struct return_word){ at, value };
}

static inline uint64_t return_word__at(const struct return_word *w, uint64_t cfa)
{
	(void)cfa;
	return w->at;
}

static inline uint64_t return_word__value(const struct return_word *w, uint64_t ip)
{
	(void)ip;
	return w->value;
}

#endif /* __ASSEMBLER__ */
#endif /* XPU_PRELOAD_AARCH64_H */
