/* SPDX-License-Identifier: MIT */
/* cubin.h - the line table of a module's code, as NVIDIA's compilers write it into the ELF file */
#ifndef XPU_PRELOAD_CUBIN_H
#define XPU_PRELOAD_CUBIN_H

#include <stddef.h>

#include "xpu_record.h"

/*
 * Return: the parts of the file that give source lines, for the caller to free(); NULL if the file
 * has none or is damaged, or if memory is short. *@bytes: set to their size
 */
struct xpu_cubin_lines *cubin__lines(const void *file, size_t file_bytes, size_t *bytes);

#endif /* XPU_PRELOAD_CUBIN_H */
