/* SPDX-License-Identifier: MIT */
/* cupti_real.h - CUPTI's own functions, for the shim's functions of the same names */
#ifndef XPU_PRELOAD_CUPTI_REAL_H
#define XPU_PRELOAD_CUPTI_REAL_H

#include <stdatomic.h>

struct cupti_real {
	const char *name;
	_Atomic(void *) fn;		/* NULL: not found yet */
} __attribute__((aligned(16)));

/* Return: CUPTI's own function, which the program meant to call; NULL if CUPTI has none. */
void *cupti__real(struct cupti_real *real);

/* Finds all declared functions. Must be called before the program has callbacks. */
void cupti__find_real(void);

#define CUPTI_IS_MISSING	15	/* CUPTI_ERROR_NOT_INITIALIZED */

/*
 * Declares real_FN, CUPTI's function FN. If CUPTI lacks it, the function that uses this macro
 * fails.
 */
#define CUPTI_REAL(fn, type)							\
	static struct cupti_real found_##fn					\
		__attribute__((section("cupti_real"))) = { #fn, NULL };		\
	__typeof__(type) *real_##fn;						\
										\
	*(void **)&real_##fn = cupti__real(&found_##fn);			\
	if (!real_##fn)								\
		return CUPTI_IS_MISSING

#endif /* XPU_PRELOAD_CUPTI_REAL_H */
