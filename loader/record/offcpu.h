/* SPDX-License-Identifier: GPL-3.0-or-later */
/* offcpu.h - where threads did not run, and the accounts of their lives */
#ifndef XPU_LOADER_OFFCPU_H
#define XPU_LOADER_OFFCPU_H

#include <stddef.h>
#include <stdint.h>

#include "xpu_record.h"
#include "xpu_time.h"
#include "xpu.h"

struct offcpu;
struct parts;
struct samples;

/* @samples: the caller's, for the stacks. Return: NULL without memory. */
struct offcpu *offcpu__new(const struct parts *parts, struct samples *samples);
void offcpu__free(struct offcpu *o);

/* A stack that threads were blocked with, by the hash that the others call it by. */
void offcpu__take_stack(struct offcpu *o, const struct xpu_ring_off_stack *stack, size_t size);

void offcpu__take_long(struct offcpu *o, const struct xpu_ring_off *off);
void offcpu__take_sum(struct offcpu *o, const struct xpu_off_key *key,
		      const struct xpu_off_sum *sum);
void offcpu__take_account(struct offcpu *o, const struct xpu_ring_account *account);

/* A thread that lives on after @end_ns, where its account is closed, as the kernel would. */
void offcpu__take_living(struct offcpu *o, const struct xpu_thread_state *t, uint64_t end_ns);

#endif /* XPU_LOADER_OFFCPU_H */
