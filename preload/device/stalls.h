/* SPDX-License-Identifier: MIT */
/*
 * stalls.h - CUPTI's PC sampling: where in a kernel its warps were, and why they stood still
 *
 * The continuous mode beside kernel activity: samples know their function, and no launch; or one kernel
 * at a time. Sampling begins when a context is made, or found, and is left on until the process ends:
 * cuptiPCSamplingDisable() does not come back while other threads launch (CUPTI 13.0). While nobody
 * listens samples are read all the same, and forgotten: memory that is full stays so.
 */
#ifndef XPU_PRELOAD_STALLS_H
#define XPU_PRELOAD_STALLS_H

#include <stdbool.h>

#include "base/cupti_lib.h"

/* Called when the shim has CUPTI. @how: as in XPU_STALLS_ENV. What is missing is said. */
void stalls__start(const struct cupti *c, const char *how);

/* Adds the primary contexts that there are already. */
void stalls__find_contexts(void);

/* Whether a context is sampled: its samples must be read before a module is unloaded. */
bool stalls__are_on(void);

/* Whether kernels run one at a time: samples are read behind each launch, and not in between. */
bool stalls__are_exact(void);

/* Whether somebody wants what is read. */
void stalls__listen(bool on);

/* CUPTI is another one's now, so that unloads go unreported: samples are never read again. */
void stalls__give_up(void);

/* Sends names and totals again, for a new listener. */
void stalls__repeat_definitions(void);

#endif /* XPU_PRELOAD_STALLS_H */
