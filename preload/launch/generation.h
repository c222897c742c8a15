/* SPDX-License-Identifier: MIT */
/*
 * generation.h - tells whether the process's code has changed
 *
 * The dynamic loader counts the objects that it has mapped. Facts about code stay valid while the
 * count is unchanged: if another object is at the address of an unloaded object, a load was counted
 * meanwhile. The count is read directly, since dl_iterate_phdr() would take the loader's lock. The
 * counter has no name; generation__find() finds its address.
 */
#ifndef XPU_PRELOAD_GENERATION_H
#define XPU_PRELOAD_GENERATION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

extern const volatile uint64_t *generation__nr_loads;
/* The loader's counter for its first namespace, which also counts unloads. NULL: not found. */
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
 * Return: how many times code was unloaded: other code may be at its addresses now. The number is
 * too low while another thread loads code. If unloads are not counted, each load counts as one.
 */
static inline uint64_t generation__nr_unloads(void)
{
	uint64_t loads = generation__nr_loads ? *generation__nr_loads : 0;
	uint64_t loaded = generation__nr_loaded ? *generation__nr_loaded : 0;

	return loads > loaded ? loads - loaded : 0;
}

/*
 * Points to the highest number of unloads that a launch has seen. If xpuload wants the process's
 * mappings, this number is in the shared memory.
 */
extern _Atomic(uint64_t *) generation__met;

/*
 * How often a thread has found code without an unwind table, which the program may have mapped
 * itself.
 */
extern atomic_uint_fast64_t generation__nr_other;

/* Called where a thread finds that the code has changed. Safe in signal handlers. */
void generation__meet(void);

#endif /* XPU_PRELOAD_GENERATION_H */
