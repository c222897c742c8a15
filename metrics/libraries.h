/* SPDX-License-Identifier: MIT */
/*
 * libraries.h - finds and opens CUDA's driver, CUPTI and NVML at run time, since they may be
 * missing
 */
#ifndef METRICS_LIBRARIES_H
#define METRICS_LIBRARIES_H

#include <stdbool.h>
#include <stddef.h>

struct function {
	void *fn;			/* the address of the pointer that is set */
	const char *name;
	bool optional;
};

/* Looks up the functions. Return: NULL, or the name of a function that the library lacks. */
const char *library__functions(void *library, const struct function *functions, size_t nr);

/* Return: the library of that name, found like any shared library, or NULL. */
void *library__open(const char *name);

/*
 * Looks for CUPTI in the same places as the shim: XPUSHIM_CUPTI, the dynamic loader's path,
 * CUDA_HOME, CUDA_PATH and the usual prefixes. @major: the major version of CUDA to try first.
 * Return: NULL if no CUPTI was found.
 */
void *library__open_cupti(int major);

#endif /* METRICS_LIBRARIES_H */
