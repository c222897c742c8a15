/* SPDX-License-Identifier: MIT */
/*
 * generation.h - whether the process's code is what it was
 *
 * The dynamic loader counts the objects it has mapped, for dl_iterate_phdr(), which would take its
 * lock. What was found out about code is good as long as the count is: another object can only be
 * where one was unloaded if it was loaded since. The counter has no name; generation__find() finds
 * out where it is.
 */
#ifndef XPU_PRELOAD_GENERATION_H
#define XPU_PRELOAD_GENERATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

extern const volatile uint64_t *generation__nr_loads;
/* In the first namespace: unloading counts, too. NULL if it is not known. */
extern const volatile uint32_t *generation__nr_loaded;

/* Takes the loader's locks. Return: whether the other one may be called. */
bool generation__find(void);

/* Another one is another. */
static inline uint64_t generation(void)
{
	return 2 * *generation__nr_loads -
	       (generation__nr_loaded ? *generation__nr_loaded : 0);
}

#endif /* XPU_PRELOAD_GENERATION_H */
