/* SPDX-License-Identifier: MIT */
/*
 * number.h - reads decimal numbers in text
 *
 * The shim does not call strtoul() and sscanf(): compiled with a newer C library they become
 * __isoc23_strtoul() and __isoc23_sscanf(). An older C library lacks these, so the shim would not
 * load in a container with that library.
 */
#ifndef XPU_PRELOAD_NUMBER_H
#define XPU_PRELOAD_NUMBER_H

#include <stdbool.h>

/**
 * number__read - read the digits at *@s
 * @s: moved past the digits
 * @n: their value; UINT_MAX for any greater value
 *
 * Return: whether there are digits.
 */
static inline bool number__read(const char **s, unsigned int *n)
{
	const char *p = *s;

	for (*n = 0; *p >= '0' && *p <= '9'; p++)
		if (__builtin_mul_overflow(*n, 10u, n) ||
		    __builtin_add_overflow(*n, (unsigned int)(*p - '0'), n))
			*n = ~0u;
	if (p == *s)
		return false;
	*s = p;
	return true;
}

#endif /* XPU_PRELOAD_NUMBER_H */
