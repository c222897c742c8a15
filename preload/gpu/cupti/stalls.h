/* SPDX-License-Identifier: MIT */
/*
 * stalls.h - CUPTI's PC sampling: where in a kernel its warps were, and why they were stalled
 *
 * There are two modes. In continuous mode, samples are taken during kernel activity, and name their
 * function but no launch. In exact mode, kernels run one at a time, and samples name their launch.
 * Sampling begins when a context is made or found, and stays on until the process ends:
 * cuptiPCSamplingDisable() does not return while other threads launch (CUPTI 13.0). While nobody
 * listens, samples are still read, but dropped: once CUPTI's memory is full, it stays full.
 */
#ifndef XPU_PRELOAD_STALLS_H
#define XPU_PRELOAD_STALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cuda.h>

#include "gpu/cupti/cupti_lib.h"

/*
 * Prepares for sampling, when the shim has CUPTI. @how: the value of XPU_STALLS_ENV. Reports
 * functions that CUPTI lacks.
 */
void stalls__start(const struct cupti *c, const char *how);

/* Adds the primary contexts that already exist. */
void stalls__find_contexts(void);

/* Whether a context is sampled: its samples must be read before a module is unloaded. */
bool stalls__are_on(void);

/*
 * Whether kernels run one at a time: samples are then read after each launch, and at no other time.
 */
bool stalls__are_exact(void);

/* While @on, samples are sent; otherwise they are only read and dropped. */
void stalls__listen(bool on);

/*
 * Stops reading samples for good, because another subscriber has CUPTI, and the shim no longer
 * learns of module unloads.
 */
void stalls__give_up(void);

/* Sends names and totals again, for a new listener. */
void stalls__repeat_definitions(void);

/* ---- for CUPTI's callbacks; without --stalls they do nothing ---- */

void stalls__add_context(CUcontext context);
void stalls__remove_context(CUcontext context);

/* Records the source lines of a loaded module, if its file has any. */
void stalls__add_module(const void *file, size_t bytes);

/*
 * While kernels run one at a time, sets the only launch that the next samples can belong to; 0:
 * unknown. CUPTI itself attributes samples to the latest launch of any thread.
 */
void stalls__set_launch(uint32_t correlation_id);

/*
 * Reads the available samples of all contexts. Waits at most a second for another thread that is
 * reading them.
 */
void stalls__drain(void);

/*
 * Reads samples for the last time, including samples that CUPTI has not fetched yet. This normally
 * takes 60 ms.
 */
void stalls__drain_all(void);

/*
 * Reads the samples before a module is unloaded. Samples until the next reading count as possibly
 * incomplete.
 */
void stalls__end_module(void);

#endif /* XPU_PRELOAD_STALLS_H */
