/* SPDX-License-Identifier: MIT */
/* probe.h - the probe sites of probe.S; bpf/xpu_slot.h explains them */
#ifndef XPU_PROBE_H
#define XPU_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xpu_slot.h"

#define PROBE_ABI __attribute__((visibility("protected")))

PROBE_ABI void xpu_launch(const struct xpu_slot *slot);
PROBE_ABI void xpu_batch(const void *records, size_t bytes);
PROBE_ABI void xpu_log(const struct xpu_log *log, uint64_t end);
PROBE_ABI void xpu_path(const struct xpu_slot *slot);
PROBE_ABI void xpu_range(const void *record, size_t bytes);
PROBE_ABI void xpu_early(const void *records, size_t bytes);
PROBE_ABI void xpu_live_launch(const struct xpu_slot *slot);
PROBE_ABI void xpu_live_batch(const void *records, size_t bytes);
PROBE_ABI void xpu_live_log(const struct xpu_log *log, uint64_t end);
PROBE_ABI void xpu_live_path(const struct xpu_slot *slot);
PROBE_ABI void xpu_live_range(const void *record, size_t bytes);
PROBE_ABI void xpu_live_init(unsigned long heard);

/* Whether a listener is attached: 0 or 1, written by the kernel. */
extern PROBE_ABI volatile unsigned short xpu_launch_semaphore, xpu_batch_semaphore;
extern PROBE_ABI volatile unsigned short xpu_live_launch_semaphore, xpu_live_batch_semaphore;
extern PROBE_ABI volatile unsigned short xpu_hello_semaphore, xpu_live_api_semaphore;
extern PROBE_ABI volatile unsigned short xpu_range_semaphore, xpu_live_range_semaphore;

/* Which set of sites this process uses; set once, when the shim is loaded. */
extern bool probe__live;

static inline unsigned short probe__read(const volatile unsigned short *semaphore)
{
	return __atomic_load_n(semaphore, __ATOMIC_RELAXED);
}

static inline bool probe__launch_attached(void)
{
	return probe__read(probe__live ? &xpu_live_launch_semaphore : &xpu_launch_semaphore);
}

static inline void probe__launch(const struct xpu_slot *slot)
{
	if (probe__live)
		xpu_live_launch(slot);
	else
		xpu_launch(slot);
}

static inline void probe__batch(const void *records, size_t bytes)
{
	if (probe__live)
		xpu_live_batch(records, bytes);
	else
		xpu_batch(records, bytes);
}

/* Sends the entries of @log before number @end. */
static inline void probe__log(const struct xpu_log *log, uint64_t end)
{
	if (probe__live)
		xpu_live_log(log, end);
	else
		xpu_log(log, end);
}

static inline void probe__path(const struct xpu_slot *slot)
{
	if (probe__live)
		xpu_live_path(slot);
	else
		xpu_path(slot);
}

/* Whether somebody listens to NVTX ranges. */
static inline bool probe__ranges_wanted(void)
{
	return probe__read(probe__live ? &xpu_live_range_semaphore : &xpu_range_semaphore);
}

static inline void probe__range(const void *record, size_t bytes)
{
	if (probe__live)
		xpu_live_range(record, bytes);
	else
		xpu_range(record, bytes);
}

/* Whether somebody listens to launches and to their device work. */
static inline bool probe__is_heard(void)
{
	return probe__launch_attached() &&
		probe__read(probe__live ? &xpu_live_batch_semaphore : &xpu_batch_semaphore);
}

/* Tells whoever has attached to a program's tree that this program has called CUDA. */
static inline void probe__init(void)
{
	if (probe__live)
		xpu_live_init(probe__is_heard());
}

/* Whether a listener asks for the calls of CUDA's API, in a process that xpuload did not start. */
static inline bool probe__live_api(void)
{
	return probe__read(&xpu_live_api_semaphore);
}

/* Whether a listener has come that may not have got the definitions. */
static inline bool probe__hello(void)
{
	return probe__read(&xpu_hello_semaphore);
}

#endif /* XPU_PROBE_H */
