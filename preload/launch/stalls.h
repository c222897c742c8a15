/* SPDX-License-Identifier: MIT */
/*
 * stalls.h - functions of gpu/cupti/stalls.c for CUPTI's callbacks; without --stalls they do nothing
 */
#ifndef XPU_PRELOAD_LAUNCH_STALLS_H
#define XPU_PRELOAD_LAUNCH_STALLS_H

#include <stddef.h>
#include <stdint.h>

#include <cuda.h>

void stalls__add_context(CUcontext context);
void stalls__remove_context(CUcontext context);

/* Takes the source lines of a loaded module, if its file has any. */
void stalls__add_module(const void *file, size_t bytes);

/*
 * While kernels run one at a time: sets the only launch that the next samples can belong to; 0:
 * unknown. CUPTI itself attributes samples to the latest launch of any thread.
 */
void stalls__set_launch(uint32_t correlation_id);

/*
 * Reads the available samples of all contexts. Waits at most a second for another thread that does
 * so.
 */
void stalls__drain(void);

/*
 * Reads for the last time: also waits, normally 60 ms, for samples that CUPTI has not fetched yet.
 */
void stalls__drain_all(void);

/*
 * Reads the samples before a module is unloaded. The time until the next reading counts as possibly
 * incomplete.
 */
void stalls__end_module(void);

#endif /* XPU_PRELOAD_LAUNCH_STALLS_H */
