/* SPDX-License-Identifier: MIT */
/*
 * stalls.h - CUPTI's PC sampling: where in a kernel its warps were, and why they stood still
 *
 * The continuous mode beside kernel activity: samples know their function, and no launch. Sampling
 * begins when a context is made and is left on until the process ends: cuptiPCSamplingDisable() does not
 * come back while other threads launch (CUPTI 13.0).
 */
#ifndef XPU_PRELOAD_STALLS_H
#define XPU_PRELOAD_STALLS_H

#include <stdbool.h>

#include "base/cupti_lib.h"

/* Whether the environment asks for it. */
bool stalls__are_wanted(void);

/* Called when the shim has CUPTI. What is missing is said. */
void stalls__start(const struct cupti *c);

/* Sends names and totals again, for a new listener. */
void stalls__repeat_definitions(void);

#endif /* XPU_PRELOAD_STALLS_H */
