/* SPDX-License-Identifier: MIT */
/*
 * turns.h - lets only one launch run at a time, if kernels must run one at a time
 *
 * Launches take turns, since CUPTI attributes samples to the launch that began last on any thread.
 */
#ifndef XPU_PRELOAD_CUPTI_TURNS_H
#define XPU_PRELOAD_CUPTI_TURNS_H

#include <stdint.h>

/* Initializes this module, before its other functions are called. */
void turns__init(void);

/* Called when the calling thread begins and ends the launch @id. Launches may be nested. */
void turns__enter(uint32_t id);
void turns__leave(void);

#endif /* XPU_PRELOAD_CUPTI_TURNS_H */
