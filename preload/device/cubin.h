/* SPDX-License-Identifier: MIT */
/* cubin.h - the line table of a module's code, as NVIDIA's compilers write it into the ELF file */
#ifndef XPU_PRELOAD_CUBIN_H
#define XPU_PRELOAD_CUBIN_H

#include <stddef.h>

#include "xpu_record.h"

/*
 * Return: the parts of the file that tell source lines, for the caller to free(), of *@bytes; NULL if it has
 * none, if it is damaged, or for want of memory.
 */
struct xpu_cubin_lines *cubin__lines(const void *file, size_t file_bytes, size_t *bytes);

#endif /* XPU_PRELOAD_CUBIN_H */
