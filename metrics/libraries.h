/* SPDX-License-Identifier: MIT */
/* libraries.h - CUDA's driver, CUPTI and NVML, which may be missing: found and opened at run time */
#ifndef METRICS_LIBRARIES_H
#define METRICS_LIBRARIES_H

#include <stdbool.h>
#include <stddef.h>

struct function {
	void *fn;			/* address of the pointer to it */
	const char *name;
	bool optional;
};

/* Looks the functions up. Return: NULL, or the name of one that the library lacks. */
const char *library__functions(void *library, const struct function *functions, size_t nr);

/* Return: the library of that name, by the dynamic loader's rules, or NULL. */
void *library__open(const char *name);

/*
 * Looks for CUPTI as the shim does: XPUSHIM_CUPTI, the dynamic loader's path, CUDA_HOME, CUDA_PATH and the
 * usual prefixes. @major: CUDA's, tried first. Return: NULL if there is none.
 */
void *library__open_cupti(int major);

#endif /* METRICS_LIBRARIES_H */
