/* SPDX-License-Identifier: MIT */
/* walk_fp.h - the call chain along frame pointers, as the kernel walks it */
#ifndef XPU_PRELOAD_WALK_FP_H
#define XPU_PRELOAD_WALK_FP_H

#include <stdint.h>

/*
 * Puts the return addresses of the calling thread into @frames, innermost first, from the caller's
 * own on. Only memory that is known to be readable is read; once a thread is warm, on its own stack,
 * without a system call. Return: how many there are, @max at most.
 */
uint32_t walk_fp(uint64_t *frames, uint32_t max);

#endif /* XPU_PRELOAD_WALK_FP_H */
