/* SPDX-License-Identifier: MIT */
/*
 * refused.h - reports launches that CUDA refused, and copies of no bytes: no device work follows, so nobody
 * should wait for it
 */
#ifndef XPU_PRELOAD_REFUSED_H
#define XPU_PRELOAD_REFUSED_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Launch @correlation_id returned @result, a CUresult, or XPU_REFUSED_NO_BYTES. On any thread, in signal
 * handlers, too.
 */
void refused__add(uint32_t correlation_id, uint32_t result);

/* Packs the refused launches. Under the activity lock. Return: whether there were any. */
bool refused__drain(void);

#endif /* XPU_PRELOAD_REFUSED_H */
