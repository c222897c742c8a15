/* SPDX-License-Identifier: GPL-3.0-or-later */
/* offcpu.h - the time in which threads did not run, and the accounts of all their time */
#ifndef XPU_LOADER_OFFCPU_H
#define XPU_LOADER_OFFCPU_H

#include <stddef.h>
#include <stdint.h>

#include "xpu_record.h"
#include "xpu_time.h"
#include "xpu.h"

struct offcpu;
struct recorder_parts;
struct samples;

/*
 * Makes the collector of off-CPU time. @samples: receives the stacks; owned by the caller. Return:
 * NULL if memory runs out.
 */
struct offcpu *offcpu__new(const struct recorder_parts *parts, struct samples *samples);
void offcpu__free(struct offcpu *o);

/* Takes a stack of a blocked thread, with the hash by which sums refer to it. */
void offcpu__take_stack(struct offcpu *o, const struct xpu_ring_off_stack *stack, size_t size);

void offcpu__take_sum(struct offcpu *o, const struct xpu_ring_off *off);
void offcpu__take_account(struct offcpu *o, const struct xpu_ring_account *account);

/* Closes the account of a living thread at @end_ns, as the BPF programs would. */
void offcpu__take_living(struct offcpu *o, const struct xpu_thread_state *t, uint64_t end_ns);

#endif /* XPU_LOADER_OFFCPU_H */
