/* SPDX-License-Identifier: GPL-3.0-or-later */
/* arch.h - everything in xpuload that depends on the processor */
#ifndef LOADER_ARCH_H
#define LOADER_ARCH_H

#include <asm/perf_regs.h>
#include <elf.h>
#include <linux/audit.h>

#if defined(__x86_64__)

#define ARCH_ELF	EM_X86_64
#define ARCH_AUDIT	AUDIT_ARCH_X86_64

/* Linux's numbers of the registers, in the order of XPU_REG_*. */
#define ARCH_PERF_REGS							\
	PERF_REG_X86_AX, PERF_REG_X86_DX, PERF_REG_X86_CX, PERF_REG_X86_BX,	\
	PERF_REG_X86_SI, PERF_REG_X86_DI, PERF_REG_X86_BP, PERF_REG_X86_SP,	\
	PERF_REG_X86_R8, PERF_REG_X86_R9, PERF_REG_X86_R10, PERF_REG_X86_R11,	\
	PERF_REG_X86_R12, PERF_REG_X86_R13, PERF_REG_X86_R14, PERF_REG_X86_R15,	\
	PERF_REG_X86_IP

#elif defined(__aarch64__)

#define ARCH_ELF	EM_AARCH64
#define ARCH_AUDIT	AUDIT_ARCH_AARCH64

#define ARCH_PERF_REGS							\
	PERF_REG_ARM64_X19, PERF_REG_ARM64_X20, PERF_REG_ARM64_X21,		\
	PERF_REG_ARM64_X22, PERF_REG_ARM64_X23, PERF_REG_ARM64_X24,		\
	PERF_REG_ARM64_X29, PERF_REG_ARM64_SP, PERF_REG_ARM64_X25,		\
	PERF_REG_ARM64_X26, PERF_REG_ARM64_X27, PERF_REG_ARM64_X28,		\
	PERF_REG_ARM64_LR, PERF_REG_ARM64_X15, PERF_REG_ARM64_X16,		\
	PERF_REG_ARM64_X17, PERF_REG_ARM64_PC

#else
# error "the recorder is for x86-64 and aarch64 only"
#endif

#endif /* LOADER_ARCH_H */
