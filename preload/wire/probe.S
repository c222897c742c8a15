/* SPDX-License-Identifier: MIT */
/*
 * The probe sites and their semaphores. They are out of line, so that the caller's red zone is not
 * in the way when the kernel turns the nop into a call, and 16-byte aligned, so that the five bytes
 * sit in one cache line and can be patched at once.
 *
 *   void xpu_launch(const struct xpu_slot *slot)
 *   void xpu_batch(const void *records, size_t bytes)
 *   void xpu_log(const struct xpu_log *log, uint64_t end)
 *   void xpu_path(const struct xpu_slot *slot)
 *
 *   void xpu_range(const void *record, size_t bytes)
 *
 * and the same five again, xpu_live_*, for processes that xpuload did not start (see xpu_slot.h).
 * xpu_early is xpu_batch for processes that may still fork children that use CUDA. Its site is a
 * plain nop: Linux 6.18 turns a nop5 that is hit into a call to a page that children do not
 * inherit. xpu_hello, xpu_live_api, xpu_live_stalls and xpu_live_memory are never called: only
 * their semaphores are used.
 *
 *   void xpu_live_init(unsigned long heard)
 *
 * The nop after the ret of a site is never run either. A breakpoint on that nop makes the kernel
 * raise the site's semaphore in that process; a breakpoint on the site itself raises none (see
 * xpu_slot.h).
 *
 * The arguments stay where the calling convention puts them, in the first two registers, where the
 * BPF programs read them.
 */
#include "arch/this_arch.h"

.macro PROBE_SITE name, plain=0
	.section .text.probes, "ax"
	.balign	16
	.globl	\name
	.protected \name
	.type	\name, %function
\name:
	.cfi_startproc
	.if \plain
	nop
	.else
	PROBE_NOP
	.endif
	ret
	.cfi_endproc
	.size	\name, . - \name
	.globl	\name\()_switch
	.protected \name\()_switch
	.type	\name\()_switch, %function
\name\()_switch:
	nop
	.size	\name\()_switch, . - \name\()_switch

	.section .probes, "aw"
	.balign	2
	.globl	\name\()_semaphore
	.protected \name\()_semaphore
	.type	\name\()_semaphore, %object
\name\()_semaphore:
	.2byte	0
	.size	\name\()_semaphore, 2
.endm

PROBE_SITE xpu_launch
PROBE_SITE xpu_batch
PROBE_SITE xpu_log
PROBE_SITE xpu_path
PROBE_SITE xpu_range
PROBE_SITE xpu_live_launch
PROBE_SITE xpu_live_batch
PROBE_SITE xpu_live_log
PROBE_SITE xpu_live_path
PROBE_SITE xpu_live_range
PROBE_SITE xpu_early, 1
PROBE_SITE xpu_hello
PROBE_SITE xpu_live_api
PROBE_SITE xpu_live_stalls
PROBE_SITE xpu_live_memory
PROBE_SITE xpu_live_init, 1

	.section .note.GNU-stack, ""
