/* SPDX-License-Identifier: MIT */
/*
 * this_arch.h - everything in the shim that depends on the processor
 *
 * Another processor needs a header in this folder, with the same definitions as x86_64.h, and a
 * file launch/code_ARCH.c. x86_64.h says what each definition is for.
 */
#ifndef XPU_PRELOAD_THIS_ARCH_H
#define XPU_PRELOAD_THIS_ARCH_H

#if defined(__x86_64__)
# include "arch/x86_64.h"
#elif defined(__aarch64__)
# include "arch/aarch64.h"
#else
# error "the shim is for x86-64 and aarch64 only"
#endif

#endif /* XPU_PRELOAD_THIS_ARCH_H */
