/* SPDX-License-Identifier: MIT */
/*
 * generation.h - tells whether the process's code has changed
 *
 * The dynamic loader counts the objects that it has mapped. Facts about code stay valid while the
 * count is unchanged: another object can only be at an unloaded object's address if it was loaded
 * since. The count is read directly, since dl_iterate_phdr() would take the loader's lock. The
 * counter has no name; generation__find() finds its address.
 */
#ifndef XPU_PRELOAD_GENERATION_H
#define XPU_PRELOAD_GENERATION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

extern const volatile uint64_t *generation__nr_loads;
/* The loader's counter for its first namespace, which also counts unloads. NULL if unknown. */
extern const volatile uint32_t *generation__nr_loaded;

/* Finds the counter; takes the loader's locks. Return: whether generation() may be called. */
bool generation__find(void);

/* Return: a number that differs after every change of the process's code. */
static inline uint64_t generation(void)
{
	return 2 * *generation__nr_loads -
	       (generation__nr_loaded ? *generation__nr_loaded : 0);
}

/*
 * The newest generation that a launch has met. Points into the shared memory where xpuload wants
 * the process's mappings.
 */
extern _Atomic(uint64_t *) generation__met;

/*
 * How often a thread has found no table for code: a program may also map code itself. It counts as
 * a change in the newest generation that a launch has met.
 */
extern atomic_uint_fast64_t generation__nr_other;

/*
 * Note that there is new code: a thread finds that the code has changed since its last launch, or
 * finds no table for code. Safe in signal handlers.
 */
void generation__meet(uint64_t now);
void generation__meet_other(void);

#endif /* XPU_PRELOAD_GENERATION_H */
