/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * own_sampler.h - CPU samples of the user's own processes, for users who may not use BPF
 *
 * Linux copies registers and the top of the stack, or follows frame pointers, as for perf record.
 * The samples have no Python frames and, without privileges, no kernel frames.
 */
#ifndef XPU_LOADER_OWN_SAMPLER_H
#define XPU_LOADER_OWN_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "xpu_record.h"

struct own_sampler;

/**
 * own_sampler__open - after the next exec of a process, sample it and its descendants
 * @period_ns: time between two samples on a CPU
 * @stack_bytes: bytes of the stack to copy, fewer if they do not fit; 0: follow frame pointers
 *
 * Return: 0 or a negative errno.
 */
int own_sampler__open(pid_t pid, uint64_t period_ns, uint32_t stack_bytes,
		      struct own_sampler **sp);
void own_sampler__close(struct own_sampler *s);

/* Return: a descriptor that polls readable when a ring is half full; owned by @s. */
int own_sampler__fd(const struct own_sampler *s);

/* Takes a sample of process @pid, and must set the sample's proc_id. */
typedef void (*own_sample_fn)(void *ctx, pid_t pid, struct xpu_ring_sample *sample, size_t size);

/* Passes the samples before @until_ns to @fn. */
void own_sampler__drain(struct own_sampler *s, uint64_t until_ns, own_sample_fn fn, void *ctx);

/*
 * Return: how many samples were taken, including lost ones. The second function returns how many
 * were lost.
 */
uint64_t own_sampler__nr_taken(const struct own_sampler *s);
uint64_t own_sampler__nr_lost(const struct own_sampler *s);

#endif /* XPU_LOADER_OWN_SAMPLER_H */
