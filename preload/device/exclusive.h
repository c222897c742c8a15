/* SPDX-License-Identifier: MIT */
/*
 * exclusive.h - one process at a time samples a GPU
 *
 * A GPU samples program counters for one process, or its own counters for one. CUPTI tells that only of the
 * latter: with cuptiPCSamplingEnable() in a second process it succeeds, and no work and no callback is
 * reported there any more (13.0, H100).
 */
#ifndef XPU_PRELOAD_EXCLUSIVE_H
#define XPU_PRELOAD_EXCLUSIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cupti_lib.h"

/*
 * Takes a GPU, CUDA's @device, until the process ends; again is allowed. Return: NULL, or who has it, for a
 * message.
 */
const char *exclusive__take(const struct cupti *c, uint32_t device);

#endif /* XPU_PRELOAD_EXCLUSIVE_H */
