/* SPDX-License-Identifier: MIT */
/* walk_fp.h - the call chain along frame pointers, as Linux walks it */
#ifndef XPU_PRELOAD_WALK_FP_H
#define XPU_PRELOAD_WALK_FP_H

#include <stdint.h>

/*
 * Puts the calling thread's return addresses into @frames, innermost first, beginning with the
 * caller's address. Reads only memory that is known to be readable; on the thread's own stack, this
 * takes system calls only if the walk begins deeper than all earlier walks. Return: the number of
 * addresses, at most @max.
 */
uint32_t walk_fp(uint64_t *frames, uint32_t max);

#endif /* XPU_PRELOAD_WALK_FP_H */
