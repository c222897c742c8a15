/* SPDX-License-Identifier: MIT */
/*
 * exclusive.h - lets one process at a time sample a GPU
 *
 * A GPU serves one process at a time, with PC samples or with hardware counters. CUPTI does not
 * report a conflict of PC sampling: cuptiPCSamplingEnable() succeeds in a second process, but then
 * neither work nor callbacks are reported in that process any more (13.0, H100).
 */
#ifndef XPU_PRELOAD_EXCLUSIVE_H
#define XPU_PRELOAD_EXCLUSIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "gpu/cupti/cupti_lib.h"

/*
 * Takes a GPU for this process until the process ends; may be called again. @device: CUDA's number
 * of the GPU. Return: NULL if this process has the GPU; otherwise text for a message, which says
 * who has it.
 */
const char *exclusive__take(const struct cupti *c, uint32_t device);

#endif /* XPU_PRELOAD_EXCLUSIVE_H */
