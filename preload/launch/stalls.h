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
 * While kernels run one at a time, says of which launch samples can be from now on, by its
 * correlation id; 0: of any. CUPTI tells them the latest launch of any thread.
 */
void stalls__set_launch(uint32_t correlation_id);

/* Reads the samples that there are, of all contexts. Waits a second at most for another thread that does. */
void stalls__drain(void);

/* Likewise, where nothing more is read later: waits for what CUPTI has not fetched yet, 60 ms as a rule. */
void stalls__drain_all(void);

/* Reads the samples before a module is unloaded. Later samples may be missing: they count as missing. */
void stalls__end_module(void);

#endif /* XPU_PRELOAD_LAUNCH_STALLS_H */
