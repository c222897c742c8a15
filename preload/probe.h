/* SPDX-License-Identifier: MIT */
/* probe.h - the probe sites of probe.S; see bpf/xpu_slot.h for what they mean */
#ifndef XPU_PROBE_H
#define XPU_PROBE_H

#include <stdbool.h>
#include <stddef.h>

#include "xpu_slot.h"

#define PROBE_ABI __attribute__((visibility("protected")))

PROBE_ABI void xpu_launch(const struct xpu_slot *slot);
PROBE_ABI void xpu_batch(const void *records, size_t bytes);

/* How many are attached; the kernel writes them. */
extern PROBE_ABI volatile unsigned short xpu_launch_semaphore;
extern PROBE_ABI volatile unsigned short xpu_batch_semaphore;

static inline bool probe__attached(void)
{
	return xpu_launch_semaphore && xpu_batch_semaphore;
}

#endif /* XPU_PROBE_H */
