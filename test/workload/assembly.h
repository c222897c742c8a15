/* SPDX-License-Identifier: MIT */
/*
 * assembly.h - processor-specific parts of tests and workloads: assembly, machine code, signals
 *
 * For C and C++. Functions in assembly are strings, each for one __asm__.
 */
#ifndef TEST_ASSEMBLY_H
#define TEST_ASSEMBLY_H

#include <string.h>

#if defined(__x86_64__)

#define ASSEMBLY_BP_NAME	"rbp"

/* 1 if linkers write no unwind information for the PLT. */
#define ASSEMBLY_BARE_STUBS	0

/* Makes a function that the unwinder finds as the caller of generated code. */
#define ASSEMBLY_FRAME

/* Continues after an instruction of ASSEMBLY_TRAPS that has trapped. */
#define ASSEMBLY_SKIP_TRAP(uc)	((uc)->uc_mcontext.gregs[REG_RIP] += 2)

/* traps(): has a trap before each of its instructions. */
#define ASSEMBLY_TRAPS								\
	".text\n"								\
	".type traps, %function\n"						\
	"traps:\n"								\
	"	.cfi_startproc\n"						\
	"	ud2\n"								\
	"	push %rbp\n"							\
	"	.cfi_adjust_cfa_offset 8\n"					\
	"	.cfi_rel_offset %rbp, 0\n"					\
	"	ud2\n"								\
	"	xor %ebp, %ebp\n"						\
	"	ud2\n"								\
	"	pop %rbp\n"							\
	"	.cfi_adjust_cfa_offset -8\n"					\
	"	.cfi_restore %rbp\n"						\
	"	ud2\n"								\
	"	ret\n"								\
	"	.cfi_endproc\n"							\
	".size traps, . - traps\n"

/*
 * cfa_in_rbx(f): code whose CFA is in a register that seldom holds the CFA in other code. An
 * unwinder that tracks only the stack pointer and the frame pointer cannot unwind through it.
 */
#define ASSEMBLY_CFA_IN_RBX							\
	".text\n"								\
	".type cfa_in_rbx, %function\n"						\
	"cfa_in_rbx:\n"								\
	"	.cfi_startproc\n"						\
	"	push %rbx\n"							\
	"	.cfi_def_cfa_offset 16\n"					\
	"	.cfi_offset %rbx, -16\n"					\
	"	mov %rsp, %rbx\n"						\
	"	.cfi_def_cfa_register %rbx\n"					\
	"	sub $64, %rsp\n"						\
	"	and $-64, %rsp\n"						\
	"	call *%rdi\n"							\
	"	mov %rbx, %rsp\n"						\
	"	.cfi_def_cfa_register %rsp\n"					\
	"	pop %rbx\n"							\
	"	.cfi_def_cfa_offset 8\n"					\
	"	.cfi_restore %rbx\n"						\
	"	ret\n"								\
	"	.cfi_endproc\n"							\
	".size cfa_in_rbx, . - cfa_in_rbx\n"

/*
 * lie(f, bp): calls f() with @bp as the frame pointer. The unwind tables of lie() claim that its
 * frame is at @bp.
 */
#define ASSEMBLY_LIE								\
	".text\n"								\
	"lie:\n"								\
	"	.cfi_startproc\n"						\
	"	pushq %rbp\n"							\
	"	movq %rsi, %rbp\n"						\
	"	.cfi_def_cfa rbp, 16\n"						\
	"	.cfi_offset rbp, -16\n"						\
	"	call *%rdi\n"							\
	"	popq %rbp\n"							\
	"	.cfi_def_cfa rsp, 8\n"						\
	"	ret\n"								\
	"	.cfi_endproc\n"

/*
 * run_there(top, arg): calls run_here(arg) on another stack, where run_there() is the outermost
 * frame.
 */
#define ASSEMBLY_RUN_THERE							\
	".text\n"								\
	"run_there:\n"								\
	"	.cfi_startproc\n"						\
	"	.cfi_undefined rip\n"						\
	"	pushq %rbx\n"							\
	"	movq %rsp, %rbx\n"						\
	"	movq %rdi, %rsp\n"						\
	"	movl %esi, %edi\n"						\
	"	call run_here\n"						\
	"	movq %rbx, %rsp\n"						\
	"	popq %rbx\n"							\
	"	ret\n"								\
	"	.cfi_endproc\n"

/*
 * The code of a function f(g), as a JIT compiler makes it: with a frame pointer, and with more
 * instructions after the call of g().
 */
static const unsigned char code_framed[] = {
	0x55,				/* push %rbp */
	0x48, 0x89, 0xe5,		/* mov %rsp, %rbp */
	0x53,				/* push %rbx */
	0x48, 0x83, 0xec, 0x28,		/* sub $40, %rsp */
	0xff, 0xd7,			/* call *%rdi */
	0x31, 0xc0,			/* xor %eax, %eax */
	0x48, 0x83, 0xc4, 0x28,		/* add $40, %rsp */
	0x5b,				/* pop %rbx */
	0x5d,				/* pop %rbp */
	0xc3,				/* ret */
};

/*
 * Code as in Python's perf trampoline: it has no frame pointer, and returns right after the call.
 */
static const unsigned char code_trampoline[] = {
	0xf3, 0x0f, 0x1e, 0xfa,		/* endbr64 */
	0x48, 0x83, 0xec, 0x08,		/* sub $8, %rsp */
	0xff, 0xd7,			/* call *%rdi */
	0x48, 0x83, 0xc4, 0x08,		/* add $8, %rsp */
	0xc3,				/* ret */
};

/* f(g): calls g() with a frame pointer whose value is at ASSEMBLY_WILD_BP. */
static const unsigned char code_wild[] = {
	0x55,					/* push %rbp */
	0x48, 0xbd, 0, 0, 0, 0, 0, 0, 0, 0,	/* mov $rbp, %rbp */
	0xff, 0xd7,				/* call *%rdi */
	0x31, 0xc0,				/* xor %eax, %eax */
	0x5d, 0xc3,				/* pop %rbp; ret */
};
#define ASSEMBLY_WILD_BP	3

/*
 * f(g): calls g() as Go calls C: with the caller's frame pointer, on the stack whose address is at
 * ASSEMBLY_SWITCH_TO.
 */
static const unsigned char code_switch[] = {
	0x55, 0x48, 0x89, 0xe5,			/* push %rbp; mov %rsp, %rbp */
	0x53, 0x48, 0x89, 0xe3,			/* push %rbx; mov %rsp, %rbx */
	0x48, 0xbc, 0, 0, 0, 0, 0, 0, 0, 0,	/* mov $stack, %rsp */
	0xff, 0xd7,				/* call *%rdi */
	0x48, 0x89, 0xdc,			/* mov %rbx, %rsp */
	0x5b, 0x5d, 0xc3,			/* pop %rbx; pop %rbp; ret */
};
#define ASSEMBLY_SWITCH_TO	10

/* f(g): calls g() from a frame of one of seven sizes; g() returns to ASSEMBLY_STUB_RETURN. */
#define ASSEMBLY_STUB_BYTES	16
#define ASSEMBLY_STUB_RETURN	6
static inline void code_stub(unsigned char *at, unsigned int size)
{
	static const unsigned char bytes[ASSEMBLY_STUB_BYTES] = {
		0x48, 0x83, 0xec, 0,			/* sub $size, %rsp */
		0xff, 0xd7,				/* call *%rdi */
		0x48, 0x83, 0xc4, 0, 0xc3,		/* add $size, %rsp; ret */
	};

	memcpy(at, bytes, sizeof(bytes));
	at[3] = at[9] = 8 + size % 7 * 16;
}

#elif defined(__aarch64__)

#define ASSEMBLY_BP_NAME	"x29"

#define ASSEMBLY_BARE_STUBS	1

/* Without unwind information, only frame pointers lead to the caller's frame. */
#define ASSEMBLY_FRAME	__attribute__((optimize("no-omit-frame-pointer")))

#define ASSEMBLY_SKIP_TRAP(uc)	((uc)->uc_mcontext.pc += 4)

#define ASSEMBLY_TRAPS								\
	".text\n"								\
	".type traps, %function\n"						\
	"traps:\n"								\
	"	.cfi_startproc\n"						\
	"	udf #0\n"							\
	"	stp x29, x30, [sp, #-16]!\n"					\
	"	.cfi_adjust_cfa_offset 16\n"					\
	"	.cfi_rel_offset x29, 0\n"					\
	"	.cfi_rel_offset x30, 8\n"					\
	"	udf #0\n"							\
	"	mov x29, #0\n"							\
	"	udf #0\n"							\
	"	ldp x29, x30, [sp], #16\n"					\
	"	.cfi_adjust_cfa_offset -16\n"					\
	"	.cfi_restore x29\n"						\
	"	.cfi_restore x30\n"						\
	"	udf #0\n"							\
	"	ret\n"								\
	"	.cfi_endproc\n"							\
	".size traps, . - traps\n"

#define ASSEMBLY_CFA_IN_RBX							\
	".text\n"								\
	".type cfa_in_rbx, %function\n"						\
	"cfa_in_rbx:\n"								\
	"	.cfi_startproc\n"						\
	"	stp x19, x30, [sp, #-16]!\n"					\
	"	.cfi_def_cfa_offset 16\n"					\
	"	.cfi_offset x19, -16\n"						\
	"	.cfi_offset x30, -8\n"						\
	"	mov x19, sp\n"							\
	"	.cfi_def_cfa_register x19\n"					\
	"	sub x9, sp, #64\n"						\
	"	and sp, x9, #-64\n"						\
	"	blr x0\n"							\
	"	mov sp, x19\n"							\
	"	.cfi_def_cfa_register sp\n"					\
	"	ldp x19, x30, [sp], #16\n"					\
	"	.cfi_def_cfa_offset 0\n"					\
	"	.cfi_restore x19\n"						\
	"	.cfi_restore x30\n"						\
	"	ret\n"								\
	"	.cfi_endproc\n"							\
	".size cfa_in_rbx, . - cfa_in_rbx\n"

#define ASSEMBLY_LIE								\
	".text\n"								\
	"lie:\n"								\
	"	.cfi_startproc\n"						\
	"	stp x29, x30, [sp, #-16]!\n"					\
	"	mov x29, x1\n"							\
	"	.cfi_def_cfa x29, 16\n"						\
	"	.cfi_offset x29, -16\n"						\
	"	.cfi_offset x30, -8\n"						\
	"	blr x0\n"							\
	"	ldp x29, x30, [sp], #16\n"					\
	"	.cfi_def_cfa sp, 0\n"						\
	"	.cfi_restore x29\n"						\
	"	.cfi_restore x30\n"						\
	"	ret\n"								\
	"	.cfi_endproc\n"

#define ASSEMBLY_RUN_THERE							\
	".text\n"								\
	"run_there:\n"								\
	"	.cfi_startproc\n"						\
	"	.cfi_undefined x30\n"						\
	"	stp x19, x30, [sp, #-16]!\n"					\
	"	mov x19, sp\n"							\
	"	mov sp, x0\n"							\
	"	mov w0, w1\n"							\
	"	bl run_here\n"							\
	"	mov sp, x19\n"							\
	"	ldp x19, x30, [sp], #16\n"					\
	"	ret\n"								\
	"	.cfi_endproc\n"

/*
 * with_value(f, depth, value): calls f(depth) with @value in the frame pointer register, where
 * compilers other than GCC may keep any value.
 */
#define ASSEMBLY_WITH_VALUE							\
	".text\n"								\
	"with_value:\n"								\
	"	.cfi_startproc\n"						\
	"	stp x29, x30, [sp, #-16]!\n"					\
	"	.cfi_def_cfa_offset 16\n"					\
	"	.cfi_offset x29, -16\n"						\
	"	.cfi_offset x30, -8\n"						\
	"	mov x29, x2\n"							\
	"	mov x9, x0\n"							\
	"	mov w0, w1\n"							\
	"	blr x9\n"							\
	"	ldp x29, x30, [sp], #16\n"					\
	"	.cfi_def_cfa_offset 0\n"					\
	"	.cfi_restore x29\n"						\
	"	.cfi_restore x30\n"						\
	"	ret\n"								\
	"	.cfi_endproc\n"

static const unsigned int code_framed[] = {
	0xa9bd7bfd,			/* stp x29, x30, [sp, #-48]! */
	0x910003fd,			/* mov x29, sp */
	0xf9000bf3,			/* str x19, [sp, #16] */
	0xd63f0000,			/* blr x0 */
	0xf9400bf3,			/* ldr x19, [sp, #16] */
	0xa8c37bfd,			/* ldp x29, x30, [sp], #48 */
	0xd65f03c0,			/* ret */
};

static const unsigned int code_trampoline[] = {
	0xa9bf7bfd,			/* stp x29, x30, [sp, #-16]! */
	0x910003fd,			/* mov x29, sp */
	0xd63f0000,			/* blr x0 */
	0xa8c17bfd,			/* ldp x29, x30, [sp], #16 */
	0xd65f03c0,			/* ret */
};

static const unsigned int code_wild[] = {
	0xa9bf7bfd,			/* stp x29, x30, [sp, #-16]! */
	0x5800009d,			/* ldr x29, the value */
	0xd63f0000,			/* blr x0 */
	0xa8c17bfd,			/* ldp x29, x30, [sp], #16 */
	0xd65f03c0,			/* ret */
	0, 0,
};
#define ASSEMBLY_WILD_BP	20

static const unsigned int code_switch[] = {
	0xa9be7bfd,			/* stp x29, x30, [sp, #-32]! */
	0x910003fd,			/* mov x29, sp */
	0xf9000bf3,			/* str x19, [sp, #16] */
	0x910003f3,			/* mov x19, sp */
	0x580000e9,			/* ldr x9, the stack */
	0x9100013f,			/* mov sp, x9 */
	0xd63f0000,			/* blr x0 */
	0x9100027f,			/* mov sp, x19 */
	0xf9400bf3,			/* ldr x19, [sp, #16] */
	0xa8c27bfd,			/* ldp x29, x30, [sp], #32 */
	0xd65f03c0,			/* ret */
	0, 0,
};
#define ASSEMBLY_SWITCH_TO	44

#define ASSEMBLY_STUB_BYTES	32
#define ASSEMBLY_STUB_RETURN	12
static inline void code_stub(unsigned char *at, unsigned int size)
{
	const unsigned int words = 2 + size % 7 * 2, insns[] = {
		0xa9807bfd | (128 - words) << 15,	/* stp x29, x30, [sp, #-size]! */
		0x910003fd,				/* mov x29, sp */
		0xd63f0000,				/* blr x0 */
		0xa8c07bfd | words << 15,		/* ldp x29, x30, [sp], #size */
		0xd65f03c0,				/* ret */
	};

	memcpy(at, insns, sizeof(insns));
}

#endif

#endif /* TEST_ASSEMBLY_H */
