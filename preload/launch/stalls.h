/* SPDX-License-Identifier: MIT */
/* stalls.h - tells device/stalls.c, in CUPTI's callbacks, of contexts; without --stalls it does nothing */
#ifndef XPU_PRELOAD_LAUNCH_STALLS_H
#define XPU_PRELOAD_LAUNCH_STALLS_H

#include <stddef.h>
#include <stdint.h>

#include <cuda.h>

void stalls__add_context(CUcontext context);
void stalls__remove_context(CUcontext context);

/* A module's file, which has its source lines, perhaps. */
void stalls__add_module(const void *file, size_t bytes);

/*
 * Reads the samples that there are, of all contexts. Waits a second at most for another thread that does.
 * @launch: the correlation id of the latest launch that samples can be of, if kernels run one at a time
 * and no other one can be running; else 0.
 */
void stalls__drain(uint32_t launch);

#endif /* XPU_PRELOAD_LAUNCH_STALLS_H */
