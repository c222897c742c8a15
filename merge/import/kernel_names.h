/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * kernel_names.h - which kernel a call path launches, as far as its frames tell
 *
 * For a kernel the compiler makes a host function, its stub, which calls cudaLaunchKernel: nvcc's
 * __device_stub__Z4k_upPfi, HIP's __device_stub__k_up. Where the stub is inlined, the function with
 * the kernel's own name remains. Recordings have kernels and frames mangled or not, with parameters
 * or without.
 *
 *	kernel_names__add_kernel(&names, kernel);	all kernels first,
 *	kernel_names__add_path(&names, path);		then all call paths
 *	kernel_names__settle(&names);
 *	kernel_names__of_kernel(&names, i) == kernel_names__of_path(&names, k)
 */
#ifndef MERGE_KERNEL_NAMES_H
#define MERGE_KERNEL_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "import/span.h"
#include "util.h"

/* Ids of a name's forms, 0: it does not have that form. */
struct kernel_name {
	uint32_t base;			/* "k" of void ns::k<float>(float*) */
	uint32_t full;			/* ns::k<float>(float*) */
};

struct kernel_names {
	/*
	 * Hashes of forms, and their ids. Two of a million names have the same 64-bit hash once in
	 * 30 million recordings.
	 */
	struct idmap forms;
	struct idmap texts;		/* hash of a kernel's name as it was told: which one it is */
	ARRAY(struct kernel_name) kernels, paths;
	ARRAY(uint8_t) flags;		/* by id of a form */
	uint64_t nr_stubs, nr_known;	/* paths that name a kernel, one that there is */
	int err;
};

/* Return: the number of the kernel with that name, from 0 on; equal names have one number. */
uint32_t kernel_names__add_kernel(struct kernel_names *n, struct span name);

/* @path: frames with ';' between them, root first, without the function that was called. */
void kernel_names__add_path(struct kernel_names *n, struct span path);

/* Decides which forms are compared. Return: 0 or -ENOMEM, of anything so far. */
int kernel_names__settle(struct kernel_names *n);

/*
 * Return: what stands for the kernel's name, 0 if that is not known. A path can only launch a kernel
 * for which the same number stands, or 0.
 */
uint32_t kernel_names__of_kernel(const struct kernel_names *n, uint32_t kernel);
uint32_t kernel_names__of_path(const struct kernel_names *n, uint32_t path);
void kernel_names__exit(struct kernel_names *n);

#endif /* MERGE_KERNEL_NAMES_H */
