/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * kernel_names.h - finds the kernel that a call path launches, if a frame names the kernel
 *
 * For each kernel the compiler makes a host function, its stub, which calls cudaLaunchKernel. The
 * name of the stub is __device_stub__Z4k_upPfi with nvcc, and __device_stub__k_up with HIP. If the
 * stub is inlined, only the function with the kernel's own name remains. In recordings, the names
 * of kernels and frames may or may not be mangled, and may or may not have parameters.
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

/* The ids of the forms of a name; 0: the name does not have the form. */
struct kernel_name {
	uint32_t base;			/* the form "k" of void ns::k<float>(float*) */
	uint32_t full;			/* the form ns::k<float>(float*) */
};

struct kernel_names {
	/*
	 * Maps the hash of a form to the form's id. With a million names, only one of 30 million
	 * recordings has two names with the same 64-bit hash.
	 */
	struct idmap forms;
	struct idmap texts;		/* maps the hash of a kernel's name in the file to the
					 * kernel's number */
	ARRAY(struct kernel_name) kernels, paths;
	ARRAY(uint8_t) flags;		/* by form id */
	uint64_t nr_stubs, nr_known;	/* number of paths with a kernel's name, and with the name
					 * of a known kernel */
	int err;
};

/*
 * Return: the number of the kernel with that name, starting at 0; equal names have equal numbers.
 */
uint32_t kernel_names__add_kernel(struct kernel_names *n, struct span name);

/* Adds a call path: frames separated by ';', root first, without the called CUDA function. */
void kernel_names__add_path(struct kernel_names *n, struct span path);

/*
 * Chooses the forms to compare. Return: 0, or -ENOMEM if memory was short in this or an earlier
 * call.
 */
int kernel_names__settle(struct kernel_names *n);

/*
 * Return: a number for the name of the kernel, or of the kernel that the path launches; 0 if no
 * form of the name is known. A path launches only kernels with the same number; if either number is
 * 0, the path may launch the kernel.
 */
uint32_t kernel_names__of_kernel(const struct kernel_names *n, uint32_t kernel);
uint32_t kernel_names__of_path(const struct kernel_names *n, uint32_t path);
void kernel_names__exit(struct kernel_names *n);

#endif /* MERGE_KERNEL_NAMES_H */
