/* SPDX-License-Identifier: MIT */
/* kernel_names.h - names of kernels, each stored once and never freed */
#ifndef XPU_PRELOAD_OPENCL_KERNEL_NAMES_H
#define XPU_PRELOAD_OPENCL_KERNEL_NAMES_H

#include "gpu/opencl/opencl.h"

/*
 * Return: the function name of @kernel, which stays valid. Takes no lock, and allocates memory only
 * for a name that it has not seen before.
 */
const char *kernel_names__of(cl_kernel kernel);

#endif /* XPU_PRELOAD_OPENCL_KERNEL_NAMES_H */
